#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bench/atomics_table.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "kernels/atomics.cuh"
#include "kernels/warp.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;
using kernels::AtomicTargets;
using kernels::kAtomicThreads;
using kernels::kWarpLanes;

// Long enough that launch overhead is 0.3 %.
constexpr double kLaunchSeconds = 1e-3;
constexpr int kCalibrationTrips = kernels::atomics::kUnroll;
constexpr double kCalibrationSeconds = 2e-3;
// If each thread tries this many swaps, at least this many succeed on every address, in any order.
constexpr int kVerifiedTrips = 2;
// The L2 works on one sector at a time: atomics on different sectors do not contend.
constexpr std::uint32_t kSectorBytes = 32;

// Largest sum that is exact in any order of additions.
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
  // Halves add 1 and -1 in turn: a growing sum would stop changing, and swaps would always succeed.
  CudaBench::Launch launch(int trips) const {
    return adding(std::is_same_v<Value, __half2> ? -1 : 1, blocks_, trips);
  }

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
  CudaBench::Launch adding(int second, unsigned blocks, int trips) const {
    return [this, second, blocks, trips](cudaStream_t stream) {
      kernel_<<<blocks, kAtomicThreads, 0, stream>>>(data_.data(), targets_, number<Value>(1),
                                                     number<Value>(second), succeeded_.data(),
                                                     trips);
    };
  }
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

struct Rate {
  AtomicOp op;
  void (*measure)(CudaBench&);
};
template <class Op>
constexpr auto global(std::string_view name, std::string_view scope = "device") {
  return Rate{{name, scope}, [](CudaBench& bench) {
                measure_atomics<Op>(bench, kernels::atomics_global<Op>, false);
              }};
}
template <class Op>
constexpr auto shared(std::string_view name) {
  return Rate{{name, ""}, [](CudaBench& bench) {
                measure_atomics<Op>(bench, kernels::atomics_shared<Op>, true);
              }};
}

using kernels::atomics::Add;
using kernels::atomics::AddHalvesInGlobal;
using kernels::atomics::CompareAndSwap;
using kernels::atomics::Scope;
constexpr std::array kGlobal = {global<Add<int>>("int32_add"),
                                global<Add<unsigned long long>>("int64_add"),
                                global<Add<float>>("fp32_add"),
                                global<Add<double>>("fp64_add"),
                                global<AddHalvesInGlobal>("fp16x2_add"),
                                global<CompareAndSwap>("int32_cas"),
                                global<Add<int, Scope::kBlock>>("int32_add", "block"),
                                global<Add<int, Scope::kSystem>>("int32_add", "system"),
                                global<Add<float, Scope::kBlock>>("fp32_add", "block"),
                                global<Add<float, Scope::kSystem>>("fp32_add", "system"),
                                global<Add<double, Scope::kBlock>>("fp64_add", "block"),
                                global<Add<double, Scope::kSystem>>("fp64_add", "system")};
static_assert(std::ranges::equal(kGlobal, kGlobalAtomics, {}, &Rate::op));
constexpr std::array kShared = {
    shared<Add<int>>("int32_add"),      shared<Add<unsigned long long>>("int64_add"),
    shared<Add<float>>("fp32_add"),     shared<Add<double>>("fp64_add"),
    shared<Add<__half2>>("fp16x2_add"), shared<CompareAndSwap>("int32_cas")};
static_assert(std::ranges::equal(kShared, kSharedAtomics, {}, &Rate::op));

template <std::size_t kCount>
void measure_named(CudaBench& bench, const std::array<Rate, kCount>& rates) {
  const std::string name = bench.text("op"), scope = bench.find_text("scope").value_or("");
  std::ranges::find(rates, AtomicOp{name, scope}, &Rate::op)->measure(bench);
}

}  // namespace

void atomics_in_global(CudaBench& bench) { measure_named(bench, kGlobal); }
void atomics_in_shared(CudaBench& bench) { measure_named(bench, kShared); }

}  // namespace peakline::bench
