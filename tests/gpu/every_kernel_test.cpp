// Every benchmark that times a kernel of ours: its verification catches a kernel that does too
// little or nothing, and the kernel takes twice as long for twice the work. Launches go through the
// wrapper below (the linker's --wrap), which breaks or times them.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bench/catalog.hpp"
#include "harness/benchmark/cuda_bench.hpp"
#include "harness/core/statistics.hpp"
#include "harness/cuda/device.hpp"

namespace peakline {
namespace {

// How much a kernel has to do is one of its arguments.
struct KernelWork {
  std::string_view kernel;  // part of the mangled name
  std::size_t argument;
  bool wide;           // 64 bits
  std::uint64_t step;  // the least that makes a difference
  // What to time it with: launches are short in verifications. 0: as launched, since the data have
  // that size.
  std::uint64_t timed;
  bool block_a_tile = false;  // the grid is in proportion to the work
  // The least whose absence shows, where that is more than a step: of chains whose values settle,
  // and of attempts that need not succeed.
  std::uint64_t least_missing = 0;
};
constexpr std::uint64_t kRooflineTile = 256 * 4;   // vectors that a block takes at a time
constexpr std::uint64_t kInstructionSteps = 1027;  // of a verification
constexpr std::array kWorks = {
    KernelWork{"fma_chains", 5, false, 1, 512},
    KernelWork{"divergence", 3, false, 1, 1024},
    KernelWork{"mma_chains", 3, false, 1, 2048},  // wgmma's too
    KernelWork{"strided_read", 1, true, 1, 0},
    KernelWork{"chase", 2, true, 1, 1 << 16},  // chase_shared too
    KernelWork{"occupancy_read", 1, true, 1, 0},
    KernelWork{"occupancy_fma", 2, false, 1, 512},
    KernelWork{"random_gather", 1, true, 1, 0},
    KernelWork{"copy_tiles", 3, false, 1, 0},
    KernelWork{"copy_walk", 3, true, 1, 1 << 13},
    KernelWork{"roofline_sweep", 1, true, kRooflineTile, 0},
    KernelWork{"stream_read", 1, true, 1, 0, true},
    KernelWork{"stream_write", 1, true, 1, 0, true},
    KernelWork{"stream_copy", 2, true, 1, 0, true},
    KernelWork{"stream_triad", 4, true, 1, 0, true},
    KernelWork{"cached_read", 2, false, 1, 0},
    KernelWork{"cached_write", 3, false, 1, 0},
    KernelWork{"shared_read", 1, false, 1, 0},
    KernelWork{"shared_write", 1, false, 1, 0},
    KernelWork{"shared_conflicts", 2, false, 1, 0},
    KernelWork{"dsmem_read", 1, false, 1, 0},
    KernelWork{"instruction_throughput", 4, false, 1, 4096, false, kInstructionSteps},
    KernelWork{"instruction_latency", 4, false, 1, 1 << 18, false, kInstructionSteps},
    KernelWork{"work_on_batch", 3, false, 1, 1 << 16},
    KernelWork{"sum_arrays", 2, true, 1, 0, true},
    KernelWork{"meetings", 0, true, 1, 1 << 16},
    KernelWork{"CompareAndSwap", 5, false, 1, 8192, false, 2},
    KernelWork{"atomics_", 5, false, 1, 8192},
};
// What prepares and verifies.
constexpr std::array<std::string_view, 4> kHelpers = {"fill_", "touch_", "reference_",
                                                      "read_clocks"};

struct KernelLaunch {
  cudaKernel_t kernel;
  dim3 grid, block;
  void** arguments;
  std::size_t shared;
  cudaStream_t stream;
};

}  // namespace
}  // namespace peakline

extern "C" {
cudaError_t __real___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                      std::size_t shared, cudaStream_t stream);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                      std::size_t shared, cudaStream_t stream);
}

namespace peakline {
namespace {

// What happens to launches of kernels that are measured; nothing while empty.
using Tamper = std::function<cudaError_t(const KernelLaunch&, const KernelWork&)>;
struct Tampering {
  Tamper with;
  int launches = 0;
};
Tampering& tampering() {
  static Tampering instance;
  return instance;
}

cudaError_t launch(const KernelLaunch& l) {
  return __real___cudaLaunchKernel(l.kernel, l.grid, l.block, l.arguments, l.shared, l.stream);
}

std::uint64_t work_of(const KernelLaunch& l, const KernelWork& work) {
  std::uint64_t value = 0;
  std::memcpy(&value, l.arguments[work.argument], work.wide ? 8 : 4);
  return value;
}

cudaError_t launch_with(KernelLaunch l, const KernelWork& work, std::uint64_t value) {
  const std::uint64_t all = work_of(l, work);
  if (work.block_a_tile) l.grid.x = static_cast<unsigned>((l.grid.x * value + all - 1) / all);
  void* const own = std::exchange(l.arguments[work.argument], &value);
  const cudaError_t code = launch(l);
  l.arguments[work.argument] = own;
  return code;
}

double time_of(const std::function<void()>& work, cudaStream_t stream) {
  const cuda::Event start, stop;
  std::vector<double> seconds;
  for (int i = 0; i < 7; ++i) {
    start.record(stream);
    work();
    stop.record(stream);
    stop.synchronize();
    seconds.push_back(cuda::elapsed_s(start, stop));
  }
  return median(seconds);
}

class EveryKernel : public testing::Test {
 protected:
  EveryKernel() { bench::register_all(registry_, {}); }
  ~EveryKernel() override { tampering() = {}; }

  // Runs the points of a benchmark in turn until one is not skipped.
  void run(const Benchmark& benchmark, const bench::RunOptions& options) {
    for (const Point& point : benchmark.points) {
      // Less would take little longer than a launch that does nothing.
      if (int_param(point.params, "bytes").value_or(kEnoughBytes) < kEnoughBytes) continue;
      const bench::Entry entry = registry_.find(point_name(benchmark.id, point.params));
      bench::WorkerCache cache;
      bench::CudaBench bench(*entry.benchmark, *entry.point, options, cache, session_);
      try {
        std::get<std::function<void(bench::CudaBench&)>> (*entry.run)(bench);
        return;
      } catch (const bench::Skipped&) {
      }
    }
  }

  // Calls body for each benchmark that times a kernel of ours, and for each point of those that
  // have a kernel a point.
  void for_each_benchmark(const std::function<void(const Benchmark&)>& body) {
    const auto is_in = [](const auto& areas, const std::string& id) {
      return std::ranges::any_of(areas, [&](auto area) { return id.starts_with(area); });
    };
    for (const Benchmark& benchmark : registry_.benchmarks()) {
      if (!is_in(kAreas, benchmark.id)) continue;
      Benchmark part = benchmark;
      const std::size_t step = is_in(kKernelAPoint, benchmark.id) ? 1 : part.points.size();
      for (std::size_t first = 0; first < benchmark.points.size(); first += step) {
        const auto from = benchmark.points.begin() + static_cast<std::ptrdiff_t>(first);
        part.points.assign(from, from + static_cast<std::ptrdiff_t>(step));
        SCOPED_TRACE(point_name(part.id, part.points.front().params));
        body(part);
      }
    }
  }

  static constexpr std::int64_t kEnoughBytes = std::int64_t{1} << 30;
  static constexpr std::array<std::string_view, 3> kKernelAPoint = {"instruction.", "atomics.",
                                                                    "copy."};
  static constexpr std::array<std::string_view, 20> kAreas = {
      "fma.",    "divergence.",  "mma.",     "roofline.",    "alignment.",
      "hbm.",    "l1.",          "l2.",      "cache.",       "shared.",
      "dsmem.",  "instruction.", "atomics.", "latency.",     "occupancy.",
      "random.", "copy.",        "overlap.", "fusion.chain", "synchronization.block"};
  bench::Registry registry_;
  bench::RunOptions once_ = [] {
    bench::RunOptions options;
    options.profile = true;
    return options;
  }();
  bench::CudaSession session_{nullptr, once_};
};

TEST_F(EveryKernel, ThatDoesTooLittleOrNothingIsCaught) {
  std::set<std::string_view> broken;
  const std::array<Tamper, 2> faults = {
      [](const KernelLaunch&, const KernelWork&) { return cudaSuccess; },
      [](const KernelLaunch& l, const KernelWork& work) {
        return launch_with(l, work, work_of(l, work) - std::max(work.step, work.least_missing));
      },
  };
  for_each_benchmark([&](const Benchmark& benchmark) {
    tampering() = {.with = [](const KernelLaunch& l, const KernelWork&) { return launch(l); }};
    EXPECT_NO_THROW(run(benchmark, once_));
    if (tampering().launches == 0) return;  // memcpy, memset; or the device has no such instruction
    for (const Tamper& fault : faults) {
      tampering() = {.with = [&](const KernelLaunch& l, const KernelWork& work) {
        broken.insert(work.kernel);
        return fault(l, work);
      }};
      EXPECT_THROW(run(benchmark, once_), bench::WrongResult);
    }
  });
  for (const KernelWork& work : kWorks) EXPECT_TRUE(broken.contains(work.kernel)) << work.kernel;
}

TEST_F(EveryKernel, TakesTwiceAsLongForTwiceTheWork) {
  bench::RunOptions options = once_;
  options.verify = false;  // timing repeats launches, which adds to their results
  for_each_benchmark([&](const Benchmark& benchmark) {
    // The kernels are the same, and so many operations on few addresses would take seconds.
    const Params& params = benchmark.points.front().params;
    if (text_param(params, "addresses").value_or("per_thread") != "per_thread") return;
    double whole_s = 0, half_s = 0;
    tampering() = {.with = [&](const KernelLaunch& l, const KernelWork& work) {
      const std::uint64_t all = work.timed != 0 ? work.timed : work_of(l, work);
      const std::uint64_t half = all / 2 / work.step * work.step;
      whole_s = time_of([&] { launch_with(l, work, all); }, l.stream);
      half_s = time_of([&] { launch_with(l, work, half); }, l.stream);
      return launch(l);
    }};
    run(benchmark, options);
    if (tampering().launches == 0) return;
    // A launch takes a few microseconds however little it does.
    EXPECT_NEAR(whole_s / half_s, 2, 0.2) << whole_s * 1e6 << " us, half of it " << half_s * 1e6;
  });
}

// Passes launches of helpers on, and fails for a kernel that this test does not know.
cudaError_t intercepted(const KernelLaunch& l) {
  const char* mangled = nullptr;
  PEAKLINE_CUDA(cudaFuncGetName(&mangled, l.kernel));
  const std::string_view name = mangled;
  const auto is_named = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (!tampering().with || std::ranges::any_of(kHelpers, is_named)) return launch(l);
  const auto work = std::ranges::find_if(kWorks, is_named, &KernelWork::kernel);
  if (work == kWorks.end()) {
    ADD_FAILURE() << "say what the work of this kernel is: " << name;
    return launch(l);
  }
  ++tampering().launches;
  return tampering().with(l, *work);
}

TEST_F(EveryKernel, BlocksOfTheRooflineSweepRunAtOnceWithEqualShares) {
  const DeviceFacts device = cuda::device_facts();
  for (const char* id : {"roofline.sweep.fp32", "roofline.sweep.fp64"}) {
    tampering() = {.with = [&](const KernelLaunch& l, const KernelWork& work) {
      int blocks_per_sm = 0;
      PEAKLINE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks_per_sm, reinterpret_cast<const void*>(l.kernel), static_cast<int>(l.block.x), 0));
      EXPECT_EQ(l.grid.x, static_cast<unsigned>(*device.sm_count) * blocks_per_sm) << id;
      EXPECT_EQ(work_of(l, work) % (l.grid.x * kRooflineTile), 0u) << id;
      return launch(l);
    }};
    run(*find_benchmark(registry_.benchmarks(), id), once_);
    EXPECT_GT(tampering().launches, 0) << id;
  }
}

TEST_F(EveryKernel, TheFetchLimitIsPutBack) {
  const auto limit = [] {
    std::size_t bytes = 0;
    PEAKLINE_CUDA(cudaDeviceGetLimit(&bytes, cudaLimitMaxL2FetchGranularity));
    return bytes;
  };
  const std::size_t before = limit();
  run(*find_benchmark(registry_.benchmarks(), "alignment.granularity"), once_);
  EXPECT_EQ(limit(), before);
}

}  // namespace
}  // namespace peakline

extern "C" cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                                 void** arguments, std::size_t shared,
                                                 cudaStream_t stream) {
  return peakline::intercepted({kernel, grid, block, arguments, shared, stream});
}
