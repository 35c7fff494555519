// How fast do the GPUs of a node work together through NCCL?

#include "bench/collectives.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void run_collective(NodeBench& bench, const NcclVariant& variant);

namespace {

constexpr const char* kTopic = "collectives";

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

std::vector<Point> points_of(const NcclVariant& variant, const std::vector<int>& gpus,
                             bool all_sizes = true) {
  const auto ranks = static_cast<std::int64_t>(gpus.size());
  const auto element_bytes = static_cast<std::int64_t>(bytes_of_element(variant));
  std::vector<Point> points;
  for (std::int64_t bytes = kSmallest; bytes <= kLargest; bytes *= kStep) {
    if (!all_sizes && bytes != kSmallest && bytes != kMiddle && bytes != kLargest) continue;
    points.push_back({.params = {{"ranks", ranks}, {"bytes", whole(bytes, ranks, element_bytes)}},
                      .phase = Phase::kNode,
                      .timing = Timing::kCurve,
                      .seconds = 0.025,
                      .gpus = gpus});
  }
  return points;
}

// The largest size is a ceiling; all-reduce alone is part of quick runs, by its ends.
std::vector<Point> leading_points(const NcclVariant& variant, const std::vector<int>& gpus) {
  std::vector<Point> points = points_of(variant, gpus);
  points.back().timing = Timing::kFull;
  points.back().seconds = 0.35;
  for (Point* end : {&points.front(), &points.back()})
    end->quick = variant.collective == Collective::kAllReduce;
  return points;
}

// The first 2, 4, 8 ... GPUs: tensor parallelism often uses a part of a node.
std::vector<Point> subgroup_points(const NcclVariant& variant, const std::vector<int>& gpus) {
  std::vector<Point> points;
  for (std::ptrdiff_t ranks = 2; ranks < std::ssize(gpus); ranks *= 2)
    std::ranges::move(points_of(variant, {gpus.begin(), gpus.begin() + ranks}),
                      std::back_inserter(points));
  return points;
}

bool is_largest(const Measurement& m, const DeviceFacts*) {
  return int_param(m.params, "bytes").value_or(0) >= kLargest;
}

// Operations up to kSmallUpTo are reported by time, from kLargeFrom on by bandwidth.
constexpr double kSmallUpTo = 2 * kMiB, kLargeFrom = 256 * kKiB;
// Size that the headline names beside the smallest and the largest.
constexpr double kSmall = 32 * kKiB;

// Bus bandwidths over "bytes", compared with the rate of nvlink.all_to_all.
CurveRule curve_of(Collective collective) {
  const auto summarize = [collective](const CurveView& curve, Figures& figures) {
    const auto points = sweep(curve, "bytes");
    if (points.size() < 2) return;
    for (const CurvePoint& point : points) {
      const Params by = {{"bytes", std::llround(point.x)}};
      if (point.x <= kSmallUpTo) figures.add("small_time", point.m->summary->median, by);
      if (point.x >= kLargeFrom) figures.add("large_bandwidth", point.value(), by);
    }
    const CurvePoint& largest = points.back();
    const double top = largest.value();
    figures.add("smallest", points.front().m->summary->median);
    const auto half =
        std::ranges::find_if(points, [&](const CurvePoint& p) { return p.value() >= top / 2; });
    if (half->x < largest.x) figures.add("half_rate", half->x);
    figures.add("bus_bandwidth", top);
    const auto ranks = int_param(largest.m->params, "ranks");
    if (!ranks) return;
    figures.add("algorithm_bandwidth",
                algorithm_bandwidth(collective, static_cast<std::size_t>(*ranks), top));
    if (const auto all = curve.ceiling("nvlink.all_to_all", Basis::kMeasured))
      figures.add("share_of_copies", top / (*all / static_cast<double>(*ranks)));
  };
  return {kTopic,
          {{"small_time", "s", {"bytes"}},
           {"large_bandwidth", "B/s", {"bytes"}},
           {"smallest", "s"},
           {"half_rate", "B"},
           {"bus_bandwidth", "B/s"},
           {"algorithm_bandwidth", "B/s"},
           {"share_of_copies", unit::kShare}},
          summarize};
}

std::string collectives_title(const TitleView& view) {
  const Figure* share = view.find({.id = "nccl.all_reduce", .name = "share_of_copies"});
  const Figure& rate = view.figure({.id = "nccl.all_reduce", .name = "bus_bandwidth"});
  const auto size_of = [](const Figure* figure) {
    return static_cast<double>(*int_param(figure->by, "bytes"));
  };
  const auto times = view.all({.id = "nccl.all_reduce", .name = "small_time"});
  const auto rates = view.all({.id = "nccl.all_reduce", .name = "large_bandwidth"});
  std::vector<std::string> parts;
  for (const Figure* time : times)
    if (time == times.front() || size_of(time) == kSmall)
      parts.push_back(
          fmt::format("{} for {}", format_time(time->value), format_size(size_of(time))));
  const double bytes = size_of(rates.back());
  const double of_array =
      view.value({.id = "nccl.all_reduce", .name = "algorithm_bandwidth"});  // bytes per second
  parts.push_back(fmt::format("{} for {}", format_time(bytes / of_array), format_size(bytes)));
  return fmt::format("An all-reduce by NCCL takes {} ({} of bus bandwidth{})", joined(parts),
                     format_rate(rate.value, rate.unit),
                     share == nullptr ? ""
                                      : fmt::format(", {} of what copies between all GPUs reach",
                                                    format_percent(share->value)));
}

Picture collectives_picture() {
  std::vector<PictureSeries> times, rates;
  for (const Collective collective : kCollectives) {
    const std::string id = "nccl." + std::string(to_string(collective));
    const std::string label(label_of(collective));
    times.push_back({label, {.id = id, .figure = "small_time"}});
    rates.push_back({label, {.id = id, .figure = "large_bandwidth"}});
  }
  const Axis bytes = {
      .label = "bytes of the array", .written = Written::kSize, .scale = Scale::kLog2};
  return {
      .key = "collectives",
      .subject = "Collectives: NCCL over all GPUs of the node",
      .how =
          "Small operations cost a fixed time, whatever they move. Bus bandwidth is what each GPU "
          "has to send over the time, as nccl-tests counts it: hold it against a link's rate.",
      .panels = {{.over = "bytes",
                  .x = bytes,
                  .y = {.label = "µs per operation", .per = 1e-6, .low = 0},
                  .series = std::move(times)},
                 {.over = "bytes",
                  .x = bytes,
                  .y = {.label = "GB/s of bus bandwidth", .per = 1e9, .low = 0},
                  .series = std::move(rates),
                  .marks = {{.label = "links",
                             .resource = "nccl.all_reduce.busbw",
                             .basis = "theoretical"}},
                  .naming = Naming::kEndsWithValue}}};
}

void add(Registry& registry, const NcclVariant& variant, const std::string& suffix,
         std::string_view over, std::vector<Point> points) {
  const std::string name(to_string(variant.collective));
  Benchmark benchmark{
      .id = "nccl." + name + suffix,
      .what = fmt::format("NCCL {} of {}{} over {} of the node, by bytes of the array",
                          label_of(variant.collective), variant.fp32 ? "FP32" : "BF16",
                          variant.in_place ? ", in place" : "", over),
      .work = "bus bytes as nccl-tests counts them: those that each GPU has to send",
      .quantity = Quantity::kByteRate,
      .loads = Loads::kLink,
      .varies_with = VariesWith::kCollectives,
      .limit = collective_limit(),
      .points = std::move(points)};
  if (suffix.empty()) {
    benchmark.ceilings = {{.resource = resource("nccl." + name + ".busbw"), .counts = is_largest}};
    benchmark.curves = {curve_of(variant.collective)};
    if (variant.collective == Collective::kAllReduce)
      benchmark.topics = {{kTopic, collectives_title, collectives_picture()}};
  }
  registry.add(std::move(benchmark),
               on_node([variant](auto& bench) { run_collective(bench, variant); }));
}

}  // namespace

void register_nccl(Registry& registry, const std::vector<int>& gpus) {
  constexpr std::string_view kAll = "all GPUs";
  for (const Collective collective : kCollectives) {
    const NcclVariant plain = {.collective = collective};
    add(registry, plain, "", kAll, leading_points(plain, gpus));
  }
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather,
                                      Collective::kReduceScatter, Collective::kBroadcast}) {
    const NcclVariant in_place = {.collective = collective, .in_place = true};
    add(registry, in_place, ".in_place", kAll, points_of(in_place, gpus, false));
  }
  // nccl-tests' default. Sums of BF16 cost more than those of FP32.
  for (const Collective collective : {Collective::kAllReduce, Collective::kReduceScatter}) {
    const NcclVariant fp32 = {.collective = collective, .fp32 = true};
    add(registry, fp32, ".fp32", kAll, points_of(fp32, gpus, false));
  }
  if (gpus.size() <= 2) return;
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather,
                                      Collective::kReduceScatter, Collective::kAllToAll}) {
    const NcclVariant plain = {.collective = collective};
    add(registry, plain, ".subgroup", "the first GPUs", subgroup_points(plain, gpus));
  }
}

}  // namespace peakline::bench
