// How fast do the GPUs of a node work together through NCCL?

#include "bench/nccl.hpp"

#include "bench/question.hpp"

namespace peakline::bench {

void run_collective(NodeBench& bench, const NcclVariant& variant);

namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int64_t kSmallest = 8, kLargest = kGiB, kStep = 8;
// Variants mostly cost what the operation itself costs: one middle size is enough.
constexpr std::int64_t kMiddle = std::int64_t{2} << 20;
// NCCL's fastest kernels need each rank's part aligned to this; small sizes cannot be.
constexpr std::int64_t kPartAlignment = 16, kAlignedFrom = 4096;

// Rounds up to a size of which each rank has a whole part.
std::int64_t whole(std::int64_t bytes, std::int64_t ranks, std::int64_t element_bytes) {
  const std::int64_t granule = ranks * (bytes < kAlignedFrom ? element_bytes : kPartAlignment);
  return (bytes + granule - 1) / granule * granule;
}

std::vector<Point> points_of(const std::vector<int>& gpus, bool leads, bool quick,
                             std::int64_t element_bytes) {
  const auto ranks = static_cast<std::int64_t>(gpus.size());
  std::vector<Point> points;
  for (std::int64_t bytes = kSmallest; bytes <= kLargest; bytes *= kStep) {
    const bool end = bytes == kSmallest || bytes == kLargest;
    if (!leads && !end && bytes != kMiddle) continue;
    const bool full = leads && bytes == kLargest;
    points.push_back({.params = {{"ranks", ranks}, {"bytes", whole(bytes, ranks, element_bytes)}},
                      .phase = Phase::kNode,
                      .rule = full ? Rule::kFull : Rule::kCurve,
                      .quick = quick && end,
                      .seconds = full ? 0.35 : 0.025,
                      .gpus = gpus});
  }
  return points;
}

bool is_largest(const Measurement& m, const DeviceFacts*) {
  return int_param(m.params, "bytes").value_or(0) >= kLargest;
}

// The plain operation in BF16 leads, and has all sizes.
void add(Registry& registry, const std::vector<int>& gpus, const NcclVariant& variant,
         const std::string& suffix = "") {
  const std::string name(to_string(variant.collective));
  const bool leads = suffix.empty();
  Benchmark benchmark{
      .id = "nccl." + name + suffix,
      .what = "NCCL " + std::string(label_of(variant.collective)) + " of " +
              (variant.fp32 ? "FP32" : "BF16") + (variant.in_place ? ", in place" : "") +
              " over all GPUs, by bytes of the array",
      .work = "bus bytes as nccl-tests counts them: those that each GPU has to send",
      .quantity = Quantity::kByteRate,
      .loads = Loads::kLink,
      .varies_with = VariesWith::kCollectives,
      .limit = collective_limit(),
      .points = points_of(gpus, leads, leads && variant.collective == Collective::kAllReduce,
                          static_cast<std::int64_t>(bytes_of_element(variant)))};
  if (leads) {
    benchmark.ceilings = {{.resource = resource("nccl." + name + ".busbw"), .counts = is_largest}};
    benchmark.curves = {collective_curve(variant.collective)};
    if (variant.collective == Collective::kAllReduce)
      benchmark.topics = {{kCollectivesTopic, collectives_title, collectives_picture()}};
  }
  registry.add(std::move(benchmark),
               on_node([variant](auto& bench) { run_collective(bench, variant); }));
}

}  // namespace

void register_nccl(Registry& registry, const std::vector<int>& gpus) {
  for (const Collective collective : kCollectives) add(registry, gpus, {.collective = collective});
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather,
                                      Collective::kReduceScatter, Collective::kBroadcast})
    add(registry, gpus, {.collective = collective, .in_place = true}, ".in_place");
  add(registry, gpus, {.collective = Collective::kAllReduce, .fp32 = true}, ".fp32");
}

}  // namespace peakline::bench
