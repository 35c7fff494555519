// Every benchmark that times a kernel of this project: its verification catches a kernel that does
// too little or nothing, and the kernel takes twice as long for twice the work. Launches go through
// the wrapper below (the linker's --wrap), which breaks or times them.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "bench/catalog.hpp"
#include "harness/benchmark/cuda_bench.hpp"
#include "harness/benchmark/device.hpp"
#include "harness/cuda/device.hpp"

namespace peakline {
namespace {

// One of a kernel's arguments is its amount of work.
struct KernelWork {
  std::string_view kernel;  // part of the mangled name
  std::size_t argument;     // kLaunches: the number of launches is the work
  bool wide;                // 64 bits
  std::uint64_t step;       // smallest amount that matters
  // Work of a timed launch, since verifications launch little. 0: as launched.
  std::uint64_t timed;
  bool block_a_tile = false;  // the grid is proportional to the work
  // Smallest omission that shows, if more than a step: chains may settle, and attempts may fail.
  std::uint64_t least_missing = 0;
};
constexpr std::size_t kLaunches = -1;
constexpr std::uint64_t kManyLaunches = 256;
constexpr std::uint64_t kRooflineTile = 256 * 4;   // vectors that a block takes at a time
constexpr std::uint64_t kInstructionSteps = 1027;  // of a verification
constexpr std::array kWorks = {
    KernelWork{"fma_chains", 5, false, 1, 512},
    KernelWork{"divergence", 3, false, 1, 1024},
    KernelWork{"mma_chains", 3, false, 1, 2048},  // also wgmma's
    KernelWork{"strided_read", 1, true, 1, 0},
    KernelWork{"chase", 2, true, 1, 1 << 16},  // also chase_shared
    KernelWork{"occupancy_read", 1, true, 1, 0},
    KernelWork{"occupancy_fma", 2, false, 1, 512},
    KernelWork{"sms_read", 2, false, 1, 0},
    KernelWork{"move_blocks", 3, false, 1, 0},
    KernelWork{"random_gather", 1, true, 1, 0},
    KernelWork{"copy_tiles", 3, false, 1, 0},
    KernelWork{"copy_walk", 3, true, 1, 1 << 13},
    KernelWork{"roofline_sweep", 1, true, kRooflineTile, 0},
    KernelWork{"stream_read", 1, true, 1, 0, true},
    KernelWork{"stream_write", 1, true, 1, 0, true},
    KernelWork{"stream_copy_both", 2, true, 1, 0, true},
    KernelWork{"stream_copy", 2, true, 1, 0, true},
    KernelWork{"stream_triad", 4, true, 1, 0, true},
    KernelWork{"cached_read", 2, false, 1, 0},
    KernelWork{"l2_read", 2, false, 1, 0, true},
    KernelWork{"l2_write", 2, false, 1, 0, true},
    KernelWork{"shared_read", 1, false, 1, 0},
    KernelWork{"shared_write", 1, false, 1, 0},
    KernelWork{"shared_conflicts", 2, false, 1, 0},
    KernelWork{"dsmem_read", 1, false, 1, 0},
    KernelWork{"instruction_throughput", 4, false, 1, 4096, false, kInstructionSteps},
    KernelWork{"instruction_latency", 4, false, 1, 1 << 18, false, kInstructionSteps},
    KernelWork{"work_on_batch", 3, false, 1, 1 << 16},
    KernelWork{"transpose", 2, false, 8, 0, true},
    KernelWork{"update_in_place", 1, true, 1, 0, true},
    KernelWork{"sum_arrays", 2, true, 1, 0, true},
    KernelWork{"meetings", 0, true, 1, 1 << 16},
    KernelWork{"CompareAndSwap", 5, false, 1, 8192, false, 2},
    KernelWork{"atomics_", 5, false, 1, 8192},
    KernelWork{"empty", kLaunches, false, 1, kManyLaunches},
    KernelWork{"signal_after", kLaunches, false, 1, kManyLaunches},
    KernelWork{"count_in_turn", kLaunches, false, 1, kManyLaunches},
};
// Kernels of two GPUs alone. ping and pong wait for each other, so neither runs alone.
constexpr std::array kPartners = {
    KernelWork{"sms_write", 1, false, 1, 0},
    KernelWork{"ping", 3, false, 1, 0},
    KernelWork{"pong", 3, false, 1, 0},
    KernelWork{"one_shot_all_reduce", 1, true, 1, 0},
    KernelWork{"two_shot_all_reduce", 1, true, 1, 0},
};
// Kernels that prepare and verify.
constexpr std::array<std::string_view, 4> kHelpers = {"fill_", "touch_", "reference_",
                                                      "read_clocks"};
// The first line with a part of a kernel's name counts.
constexpr bool every_line_counts() {
  for (std::size_t i = 0; i < kWorks.size(); ++i) {
    const auto hides = [&](std::string_view other) {
      return kWorks[i].kernel.find(other) != std::string_view::npos;
    };
    if (std::ranges::any_of(kHelpers, hides) ||
        std::ranges::any_of(std::span(kWorks).first(i), hides, &KernelWork::kernel))
      return false;
  }
  return true;
}
static_assert(every_line_counts(), "move a kernel's line before the one whose name is part of it");

struct KernelLaunch {
  cudaLaunchConfig_t config;
  const void* kernel;
  void** arguments;
};

}  // namespace
}  // namespace peakline

extern "C" {
cudaError_t __real___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                      std::size_t shared, cudaStream_t stream);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                      std::size_t shared, cudaStream_t stream);
cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** arguments);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** arguments);
}

namespace peakline {
namespace {

// Replaces the launch of a measured kernel; empty: launches normally.
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
  return __real_cudaLaunchKernelExC(&l.config, l.kernel, l.arguments);
}

bool is_captured(const KernelLaunch& l) {
  cudaStreamCaptureStatus status{};
  PEAKLINE_CUDA(cudaStreamIsCapturing(l.config.stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

std::uint64_t work_of(const KernelLaunch& l, const KernelWork& work) {
  if (work.argument == kLaunches) return 1;
  std::uint64_t value = 0;
  std::memcpy(&value, l.arguments[work.argument], work.wide ? 8 : 4);
  return value;
}

cudaError_t launch_with(KernelLaunch l, const KernelWork& work, std::uint64_t value) {
  if (work.argument == kLaunches) {
    cudaError_t code = cudaSuccess;
    for (; value > 0 && code == cudaSuccess; --value) code = launch(l);
    return code;
  }
  const std::uint64_t all = work_of(l, work);
  unsigned& blocks = l.config.gridDim.x;
  if (work.block_a_tile) blocks = static_cast<unsigned>((blocks * value + all - 1) / all);
  void* const own = std::exchange(l.arguments[work.argument], &value);
  const cudaError_t code = launch(l);
  l.arguments[work.argument] = own;
  return code;
}

// Seconds with all of the work and with half of it, the least of several taken in turn: a rising
// clock or cold memory slows both.
struct Times {
  double whole_s = 0, half_s = 0;
};

constexpr double kLinearWithin = 0.2;

Times time_whole_and_half(const KernelLaunch& l, const KernelWork& work) {
  const cuda::Event start, stop;
  const auto seconds_with = [&](std::uint64_t value) {
    start.record(l.config.stream);
    launch_with(l, work, value);
    stop.record(l.config.stream);
    stop.synchronize();
    return cuda::elapsed_s(start, stop);
  };
  const std::uint64_t all = work.timed != 0 ? work.timed : work_of(l, work);
  const std::uint64_t half = all / 2 / work.step * work.step;
  Times least{.whole_s = INFINITY, .half_s = INFINITY};
  // Ten, or more if the kernel's own time varies, as the SMs' copy units do with small tiles.
  for (int i = 0; i < 100; ++i) {
    least.whole_s = std::min(least.whole_s, seconds_with(all));
    least.half_s = std::min(least.half_s, seconds_with(half));
    if (i >= 9 && std::abs(least.whole_s / least.half_s - 2) <= kLinearWithin) break;
  }
  return least;
}

class EveryKernel : public testing::Test {
 protected:
  EveryKernel() { bench::register_all(registry_, {}); }
  ~EveryKernel() override { tampering() = {}; }

  // Runs the points of a benchmark in turn until one is not skipped.
  void run(const Benchmark& benchmark, const bench::RunOptions& options) {
    const auto bytes_of = [](const Point& point) {
      return int_param(point.params, "bytes").value_or(kEnoughBytes);
    };
    const std::int64_t enough = std::min(
        kEnoughBytes, std::ranges::max(benchmark.points | std::views::transform(bytes_of)));
    for (const Point& point : benchmark.points) {
      // Less would take little longer than an empty launch.
      if (bytes_of(point) < enough) continue;
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

  static bool is_in(std::span<const std::string_view> areas, const std::string& id) {
    return std::ranges::any_of(areas, [&](auto area) { return id.starts_with(area); });
  }

  bool is_of_one_gpu(const Benchmark& benchmark) const {
    const Point& point = benchmark.points.front();
    const bench::Entry entry = registry_.find(point_name(benchmark.id, point.params));
    return std::holds_alternative<std::function<void(bench::CudaBench&)>>(*entry.run) &&
           !is_node_point(point);
  }

  // Calls body for each benchmark of one GPU that may time a kernel of this project, and for each
  // point of those with a kernel per point.
  void for_each_benchmark(const std::function<void(const Benchmark&)>& body) {
    for (const Benchmark& benchmark : registry_.benchmarks()) {
      if (!is_of_one_gpu(benchmark) || is_in(kNoKernelOfOurs, benchmark.id)) continue;
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
  static constexpr auto kKernelAPoint = std::to_array<std::string_view>(
      {"instruction.", "atomics.", "copy.", "synchronization.", "fusion.small"});
  // Only kernels of libraries or of the driver, or none.
  static constexpr auto kNoKernelOfOurs =
      std::to_array<std::string_view>({"allocation.", "gemm.", "sms.gemm"});
  // An empty kernel has no result.
  static constexpr auto kNoResult = std::to_array<std::string_view>(
      {"launch.submit", "launch.round_trip", "launch.back_to_back", "launch.empty_kernel"});
  // Takes little longer than its launches. The kernels are those of fusion.chain.
  static constexpr auto kTooShort = std::to_array<std::string_view>({"fusion.small"});
  bench::Registry registry_;
  bench::RunOptions once_ = [] {
    bench::RunOptions options;
    options.profile = true;
    return options;
  }();
  bench::CudaSession session_{nullptr, once_};
};

// Does nothing, or the least less than all that shows.
const std::array<Tamper, 2> kFaults = {
    [](const KernelLaunch&, const KernelWork&) { return cudaSuccess; },
    [](const KernelLaunch& l, const KernelWork& work) {
      // Only the first of several launches does less.
      if (work.argument == kLaunches && tampering().launches > 1) return launch(l);
      return launch_with(l, work, work_of(l, work) - std::max(work.step, work.least_missing));
    },
};

TEST_F(EveryKernel, ThatDoesTooLittleOrNothingIsCaught) {
  std::set<std::string_view> broken;
  for_each_benchmark([&](const Benchmark& benchmark) {
    if (is_in(kNoResult, benchmark.id)) return;
    tampering() = {.with = [](const KernelLaunch& l, const KernelWork&) { return launch(l); }};
    EXPECT_NO_THROW(run(benchmark, once_));
    if (tampering().launches == 0) return;  // memcpy, memset, or a missing instruction
    for (const Tamper& fault : kFaults) {
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
    // Same kernels, and this many operations on few addresses would take seconds.
    const Params& params = benchmark.points.front().params;
    if (text_param(params, "addresses").value_or("per_thread") != "per_thread") return;
    if (is_in(kTooShort, benchmark.id)) return;
    Times times;
    tampering() = {.with = [&](const KernelLaunch& l, const KernelWork& work) {
      if (is_captured(l)) return launch(l);
      times = time_whole_and_half(l, work);
      return launch(l);
    }};
    run(benchmark, options);
    if (times.whole_s == 0) return;
    // A launch takes a few microseconds however little it does.
    EXPECT_NEAR(times.whole_s / times.half_s, 2, kLinearWithin)
        << times.whole_s * 1e6 << " us, half of it " << times.half_s * 1e6;
  });
}

cudaError_t intercepted(const KernelLaunch& l) {
  const char* mangled = nullptr;
  PEAKLINE_CUDA(cudaFuncGetName(&mangled, l.kernel));
  const std::string_view name = mangled;
  const auto is_named = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (!tampering().with || std::ranges::any_of(kHelpers, is_named)) return launch(l);
  for (const auto works : std::to_array<std::span<const KernelWork>>({kWorks, kPartners})) {
    const auto work = std::ranges::find_if(works, is_named, &KernelWork::kernel);
    if (work == works.end()) continue;
    ++tampering().launches;
    return tampering().with(l, *work);
  }
  ADD_FAILURE() << "say what the work of this kernel is: " << name;
  return launch(l);
}

TEST_F(EveryKernel, RooflineBlocksRunAtOnceWithEqualShares) {
  const DeviceFacts device = cuda::device_facts();
  for (const char* id : {"roofline.sweep.fp32", "roofline.sweep.fp64"}) {
    tampering() = {.with = [&](const KernelLaunch& l, const KernelWork& work) {
      int blocks_per_sm = 0;
      PEAKLINE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks_per_sm, l.kernel, static_cast<int>(l.config.blockDim.x), 0));
      const unsigned blocks = l.config.gridDim.x;
      EXPECT_EQ(blocks, static_cast<unsigned>(*device.sm_count) * blocks_per_sm) << id;
      EXPECT_EQ(work_of(l, work) % (blocks * kRooflineTile), 0u) << id;
      return launch(l);
    }};
    run(*find_benchmark(registry_.benchmarks(), id), once_);
    EXPECT_GT(tampering().launches, 0) << id;
  }
}

// Kernels that access another GPU's memory.
class EveryKernelOfANode : public EveryKernel {
 protected:
  void SetUp() override {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < 2) GTEST_SKIP() << "needs two GPUs";
    for (int i = 0; i < gpus; ++i) options_.visible_gpus.push_back(i);
    open();
  }
  void open() { device_ = bench::open_device(std::string(kNodeDevice), options_); }

  Measurement measure(const std::string& id) {
    const Benchmark& benchmark = *find_benchmark(registry_.benchmarks(), id);
    const auto bytes_of = [](const Point& p) {
      return std::min(kEnoughBytes, int_param(p.params, "bytes").value_or(kEnoughBytes));
    };
    const auto point = std::ranges::max_element(benchmark.points, {}, bytes_of);
    return device_->measure(registry_.find(point_name(id, point->params)));
  }

  static constexpr std::array kIds = {"p2p.read.sm",
                                      "p2p.write.sm",
                                      "p2p.bidirectional.sm",
                                      "p2p.latency",
                                      "p2p.visibility",
                                      "sms.link_read",
                                      "sms.link_write",
                                      "collective.one_shot.all_reduce",
                                      "collective.two_shot.all_reduce"};
  bench::RunOptions options_;
  std::unique_ptr<bench::Device> device_;
};

TEST_F(EveryKernelOfANode, ThatDoesTooLittleOrNothingIsCaught) {
  for (const std::string id : kIds) {
    EXPECT_EQ(measure(id).verified, true) << id;
    for (const Tamper& fault : kFaults) {
      tampering() = {.with = fault};
      const Measurement m = measure(id);
      EXPECT_GT(tampering().launches, 0) << id;
      EXPECT_EQ(m.verified, false) << id << ": " << m.reason;
      tampering() = {};
    }
  }
}

TEST_F(EveryKernelOfANode, TakesTwiceAsLongForTwiceTheWork) {
  // Both kernels at once, since they wait for each other; the benchmark divides by its own rounds.
  const double once_s = measure("p2p.visibility").value.value();
  tampering() = {.with = [&](const KernelLaunch& l, const KernelWork& work) {
    return launch_with(l, work, 2 * work_of(l, work));
  }};
  options_.verify = false;
  open();
  EXPECT_NEAR(measure("p2p.visibility").value.value() / once_s, 2, 0.2);
  options_.profile = true;  // timing waits for each launch
  open();
  for (const std::string id :
       {"p2p.read.sm", "p2p.write.sm", "p2p.latency", "sms.link_read", "sms.link_write"}) {
    Times times;
    tampering() = {.with = [&](const KernelLaunch& l, const KernelWork& work) {
      times = time_whole_and_half(l, work);
      return launch(l);
    }};
    measure(id);
    EXPECT_NEAR(times.whole_s / times.half_s, 2, kLinearWithin) << id;
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
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  return peakline::intercepted({config, kernel, arguments});
}
extern "C" cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                                  const void* kernel, void** arguments) {
  return peakline::intercepted({*config, kernel, arguments});
}
