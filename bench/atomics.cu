// What do atomic operations cost, on one address, on a few, and where no two threads share one?

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "harness/benchmark/cuda_data.cuh"
#include "harness/conclude/instruction_curves.hpp"
#include "harness/conclude/limits.hpp"
#include "kernels/atomics.cuh"
#include "kernels/warp.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;
using kernels::AtomicTargets;
using kernels::kAtomicThreads;
using kernels::kWarpLanes;

// Beside which the start and end of a launch are 0.3 %.
constexpr double kLaunchSeconds = 1e-3;
constexpr int kCalibrationTrips = kernels::atomics::kUnroll;
constexpr double kCalibrationSeconds = 2e-3;
// If threads try this many swaps each, as many or more succeed on every address, whoever is first.
constexpr int kVerifiedTrips = 2;
// An L2 works on one sector at a time: warps with an address of their own do not meet there.
constexpr std::uint32_t kSectorBytes = 32;
// A load/store unit takes one instruction of a warp per clock.
constexpr double kMostPerClock = 32;

// Up to which number sums are exact in whatever order they are made.
template <class T>
constexpr std::uint64_t kExactSum = std::uint64_t{1} << 31;
template <>
constexpr std::uint64_t kExactSum<float> = std::uint64_t{1} << 24;
template <>
constexpr std::uint64_t kExactSum<__half2> = std::uint64_t{1} << 11;

template <class T>
T number(int value) {
  if constexpr (std::is_same_v<T, __half2>)
    return __half2half2(__int2half_rn(value));
  else
    return static_cast<T>(value);
}
template <class T>
bool equal(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
AtomicTargets targets_of(const std::string& addresses) {
  if (addresses == "one") return {0, 0};
  if (addresses == "per_lane") return {1, 0};
  if (addresses == "per_warp") return {0, kSectorBytes / sizeof(T)};
  return {1, kWarpLanes};
}

template <class Op>
using Kernel = void (*)(typename Op::Value*, AtomicTargets, typename Op::Value, typename Op::Value,
                        std::uint32_t*, int);

template <class Op>
class AtomicWork {
 public:
  using Value = typename Op::Value;

  AtomicWork(CudaBench& bench, Kernel<Op> kernel, bool shared)
      : bench_(bench), kernel_(kernel), shared_(shared) {}

  unsigned blocks() const { return blocks_; }
  // A sum of halves would soon be too large to change, and a swap then always find what it expects.
  CudaBench::Launch launch(int trips) const {
    return adding(std::is_same_v<Value, __half2> ? -1 : 1, blocks_, trips);
  }

  // Compares every sum with what its threads have added.
  std::string find_mismatch() const {
    const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(
        kExactSum<Value> / (kAtomicThreads * kVerifiedTrips), 1, blocks_));
    PEAKLINE_CUDA(cudaMemsetAsync(data_.data(), 0, data_.size() * sizeof(Value), bench_.stream()));
    poison(succeeded_, bench_.stream());
    bench_.launch_once(adding(1, blocks, kVerifiedTrips));
    const std::size_t threads = std::size_t{blocks} * kAtomicThreads;
    const std::vector<std::uint32_t> succeeded = succeeded_.to_host(0, threads);
    const std::vector<Value> found = data_.to_host(0, threads);
    std::vector<std::uint64_t> sums(threads);
    for (std::size_t thread = 0; thread < threads; ++thread) {
      if (succeeded[thread] > kVerifiedTrips ||
          (Op::kAlwaysSucceeds && succeeded[thread] < kVerifiedTrips))
        return "a thread did not do as many operations as it should";
      sums[target_of(thread)] += succeeded[thread];
    }
    for (std::size_t thread = 0; thread < threads; ++thread)
      if (sums[target_of(thread)] < kVerifiedTrips) return "too few operations succeeded";
    for (std::size_t i = 0; i < threads; ++i)
      if (!equal(found[i], number<Value>(static_cast<int>(sums[i]))))
        return "the sum of element " + std::to_string(i) + " is not " + std::to_string(sums[i]);
    return "";
  }

 private:
  // Adds 1 and `second` in turn.
  CudaBench::Launch adding(int second, unsigned blocks, int trips) const {
    return [this, second, blocks, trips](cudaStream_t stream) {
      kernel_<<<blocks, kAtomicThreads, 0, stream>>>(data_.data(), targets_, number<Value>(1),
                                                     number<Value>(second), succeeded_.data(),
                                                     trips);
    };
  }
  // Returns where a thread's element ends up.
  std::size_t target_of(std::size_t thread) const {
    const std::size_t first = shared_ ? thread / kAtomicThreads * kAtomicThreads : 0;
    return first + targets_.of(static_cast<std::uint32_t>(thread - first));
  }
  static unsigned one_wave(const CudaBench& bench, Kernel<Op> kernel) {
    int blocks = 0;
    PEAKLINE_CUDA(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kAtomicThreads, 0));
    return bench.sm_count() * static_cast<unsigned>(blocks);
  }

  CudaBench& bench_;
  Kernel<Op> kernel_;
  bool shared_;
  AtomicTargets targets_ = targets_of<Value>(bench_.text("addresses"));
  unsigned blocks_ = one_wave(bench_, kernel_);
  DeviceBuffer<Value> data_{std::size_t{blocks_} * kAtomicThreads};
  DeviceBuffer<std::uint32_t> succeeded_{std::size_t{blocks_} * kAtomicThreads};
};

template <class Op>
void measure_atomics(CudaBench& bench, Kernel<Op> kernel, bool shared) {
  const AtomicWork<Op> work(bench, kernel, shared);
  bench.verify([&] { return work.find_mismatch(); });
  const double calibration_s =
      bench.sampler().warm_up_for(work.launch(kCalibrationTrips), kCalibrationSeconds);
  const int trips =
      kCalibrationTrips * std::max(1, static_cast<int>(kLaunchSeconds / calibration_s));
  bench.note("blocks_per_sm", static_cast<std::int64_t>(work.blocks() / bench.sm_count()));
  bench.note("threads", std::int64_t{kAtomicThreads});
  bench.note("trips", std::int64_t{trips});
  bench.measure({.flops = static_cast<double>(work.blocks()) * kAtomicThreads * trips},
                work.launch(trips));
}

struct Op {
  std::string name, scope;
  std::function<void(CudaBench&)> run;
};
template <class T>
Op global(std::string name, std::string scope = "device") {
  return {std::move(name), std::move(scope),
          [](CudaBench& bench) { measure_atomics<T>(bench, kernels::atomics_global<T>, false); }};
}
template <class T>
Op shared(std::string name) {
  return {std::move(name), "",
          [](CudaBench& bench) { measure_atomics<T>(bench, kernels::atomics_shared<T>, true); }};
}

// How far the threads spread; a scope other than the usual one only at both ends.
std::vector<Point> points_of(const std::vector<Op>& ops) {
  std::vector<Point> points;
  for (const Op& op : ops)
    for (const std::string addresses : {"one", "per_lane", "per_warp", "per_thread"}) {
      const bool end = addresses == "one" || addresses == "per_thread";
      if (!op.scope.empty() && op.scope != "device" && !end) continue;
      Point point{.params = {{"op", op.name}, {"addresses", addresses}},
                  .phase = Phase::kDevice,
                  .rule = Rule::kCurve,
                  .quick = false,
                  .seconds = 0.05};
      if (!op.scope.empty()) point.params.emplace_back("scope", op.scope);
      points.push_back(std::move(point));
    }
  return points;
}

void add(Registry& registry, const std::string& space, const char* what, const char* label,
         const std::vector<Op>& ops) {
  registry.add({.id = "atomics." + space,
                .what = what,
                .work = "atomic operations, one a thread and trip, whether a swap succeeds or not",
                .quantity = Quantity::kOpRate,
                .loads = Loads::kMemory,
                .limit = per_clock_per_sm(kMostPerClock),
                .curves = {atomics_curve("atomics", space, label)},
                .points = points_of(ops)},
               [ops](CudaBench& bench) {
                 const std::string scope = bench.find_text("scope").value_or("");
                 std::ranges::find_if(ops, [&](const Op& op) {
                   return op.name == bench.text("op") && op.scope == scope;
                 })->run(bench);
               });
}

}  // namespace

void register_atomics(Registry& registry) {
  using kernels::atomics::Add;
  using kernels::atomics::AddHalvesInGlobal;
  using kernels::atomics::CompareAndSwap;
  using kernels::atomics::Scope;
  add(registry, "global",
      "Rate of atomic operations in global memory, by how many threads share an address",
      "global memory",
      {global<Add<int>>("int32_add"), global<Add<unsigned long long>>("int64_add"),
       global<Add<float>>("fp32_add"), global<Add<double>>("fp64_add"),
       global<AddHalvesInGlobal>("fp16x2_add"), global<CompareAndSwap>("int32_cas"),
       global<Add<int, Scope::kBlock>>("int32_add", "block"),
       global<Add<int, Scope::kSystem>>("int32_add", "system"),
       global<Add<float, Scope::kBlock>>("fp32_add", "block"),
       global<Add<float, Scope::kSystem>>("fp32_add", "system"),
       global<Add<double, Scope::kBlock>>("fp64_add", "block"),
       global<Add<double, Scope::kSystem>>("fp64_add", "system")});
  add(registry, "shared",
      "Rate of atomic operations in shared memory, by how many threads of a block share an address",
      "shared memory",
      {shared<Add<int>>("int32_add"), shared<Add<unsigned long long>>("int64_add"),
       shared<Add<float>>("fp32_add"), shared<Add<double>>("fp64_add"),
       shared<Add<__half2>>("fp16x2_add"), shared<CompareAndSwap>("int32_cas")});
}

}  // namespace peakline::bench
