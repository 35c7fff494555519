// Does hot hardware compute, store and move data without an error?

#include "bench/gemm/formats.hpp"
#include "bench/pairs.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void soak_products(CudaBench& bench, const std::string& format);
void soak_pulses(CudaBench& bench);
void soak_sms(CudaBench& bench, const std::string& format);
void soak_memory(CudaBench& bench);
void soak_l2(CudaBench& bench);
void soak_shared(CudaBench& bench);
void soak_host_link(CudaBench& bench);
void soak_pair(NodeBench& bench);

namespace {

// Shares of the time; they add up to 1. Products use most of the device; memory fails most often.
constexpr double kProductsShare = 0.45, kPulsesShare = 0.15, kSmsShare = 0.1, kMemoryShare = 0.15,
                 kL2Share = 0.04, kSharedShare = 0.03, kHostLinkShare = 0.05, kPairsShare = 0.03;
constexpr std::array kFormats = {"fp64", "tf32", "bf16", "fp8", "int8"};
// Pulses per second: how often the voltage follows from rest to full load and back.
constexpr std::array<std::int64_t, 5> kHertz = {1, 3, 10, 30, 100};
// For set-up and the check of the first result.
constexpr double kSetUpSeconds = 1;

Point soaked(double seconds, Params params = {}) {
  return {.params = std::move(params),
          .phase = Phase::kSoak,
          .timing = Timing::kSustained,
          .quick = true,
          .seconds = seconds + kSetUpSeconds,
          .load_s = seconds};
}

}  // namespace

void register_soak(Registry& registry, double seconds, const std::vector<int>& gpus) {
  if (seconds == 0) return;
  const auto add = [&](Benchmark benchmark, Run run) {
    benchmark.varies_with = VariesWith::kSearch;
    benchmark.option = "--verify";
    registry.add(std::move(benchmark), std::move(run));
  };
  const auto of_formats = static_cast<double>(kFormats.size());
  for (const char* name : kFormats) {
    const ProductFormat& format = product_format(name);
    const char* const operations = format.whole_numbers ? "operations" : "FLOP";
    add({.id = std::string("soak.products.") + name,
         .what =
             "Throughput of matrix products (--soak S --verify) of which every word is compared "
             "with the first result's",
         .work = fmt::format("2 x M x N x K {} per product", operations),
         .quantity = quantity_of(format),
         .loads = Loads::kCores,
         .limit = limit_of(format),
         .points = {soaked(kProductsShare * seconds / of_formats)}},
        on_gpu([name = std::string(name)](auto& bench) { soak_products(bench, name); }));
    add({.id = std::string("soak.sms.") + name,
         .what = "Throughput of one tile on every SM by mma.sync, compared with what most SMs get",
         .work = fmt::format("2 x 16 x 8 x K {} per tile, one a warp", operations),
         .quantity = quantity_of(format),
         .loads = Loads::kCores,
         .limit = limit_of(format),
         .points = {soaked(kSmsShare * seconds / of_formats)}},
        on_gpu([name = std::string(name)](auto& bench) { soak_sms(bench, name); }));
  }
  const ProductFormat& pulsed = product_format("bf16");
  std::vector<Point> pulses;
  for (const std::int64_t hertz : kHertz)
    pulses.push_back(
        soaked(kPulsesShare * seconds / static_cast<double>(kHertz.size()), {{"hertz", hertz}}));
  add({.id = "soak.pulses",
       .what = "Throughput of verified products that load the device half of the time, by pulses "
               "per second",
       .work = "2 x M x N x K FLOP per product; the rest between counts as time",
       .quantity = quantity_of(pulsed),
       .loads = Loads::kCores,
       .limit = limit_of(pulsed),
       .points = std::move(pulses)},
      on_gpu([](auto& bench) { soak_pulses(bench); }));
  add({.id = "soak.memory",
       .what = "Bandwidth of moving inversions through all free memory: address, random, stripes, "
               "solid",
       .work = "bytes read, checked, and written anew",
       .quantity = Quantity::kByteRate,
       .limit = device_memory_bandwidth(),
       .points = {soaked(kMemoryShare * seconds)}},
      on_gpu([](auto& bench) { soak_memory(bench); }));
  add({.id = "soak.l2",
       .what = "Bandwidth of moving inversions through half of the L2",
       .work = "bytes read, checked, and written anew",
       .quantity = Quantity::kByteRate,
       .limit = only_bound(on_chip_bandwidth(), "NVIDIA states no bandwidth of the L2"),
       .points = {soaked(kL2Share * seconds)}},
      on_gpu([](auto& bench) { soak_l2(bench); }));
  add({.id = "soak.shared",
       .what = "Bandwidth of random patterns and their inverses through all shared memory",
       .work = "bytes read, checked, and written anew",
       .quantity = Quantity::kByteRate,
       .limit = on_chip_bandwidth(),
       .points = {soaked(kSharedShare * seconds)}},
      on_gpu([](auto& bench) { soak_shared(bench); }));
  add({.id = "soak.host_link",
       .what = "Bandwidth of copies to the host and back, compared with what was sent",
       .work = "bytes over the link, each way counted; one way after the other",
       .quantity = Quantity::kByteRate,
       .loads = Loads::kLink,
       .limit = host_link(1),
       .points = {soaked(kHostLinkShare * seconds)}},
      on_gpu([](auto& bench) { soak_host_link(bench); }));
  Point pair = soaked(kPairsShare * seconds);
  pair.phase = Phase::kNodeLoad;
  add({.id = "soak.pairs",
       .what = "Bandwidth of reads from another GPU, compared with what it holds",
       .work = "bytes over the link, counted once; comparing them counts as time",
       .quantity = Quantity::kByteRate,
       .loads = Loads::kLink,
       .limit = nvlink(1),
       .points = pair_points(gpus, true, pair)},
      on_node([](auto& bench) { soak_pair(bench); }));
}

}  // namespace peakline::bench
