// Times in proportion to the work, and rates within limits: dead code and miscounts would show.

#include <algorithm>

#include "harness/benchmark/cuda_bench.hpp"
#include "harness/cuda/device.hpp"
#include "harness/cuda/sampler.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/statistics/statistics.hpp"
#include "kernels/divergence.cuh"
#include "kernels/fma.cuh"
#include "kernels/stream.cuh"
#include "tests/gpu/support.cuh"

namespace peakline {
namespace {

using cuda::DeviceBuffer;

double time_of(cuda::Sampler& sampler, const cuda::Launch& launch) {
  sampler.warm_up_for(launch, 0.05);
  return median(sampler.time_batches(launch, 1, 11).launch_s);
}

template <class T>
class Fma {
 public:
  explicit Fma(unsigned sms) : blocks_(sms * 8) {}
  cuda::Launch launch(int trips) const {
    return [this, trips](cudaStream_t stream) {
      kernels::fma_chains<T><<<blocks_, 256, 0, stream>>>(start_.data(), T(-0.99), T(1.37),
                                                          scale_.data(), out_.data(), trips);
    };
  }
  double flops(int trips) const {
    return 2.0 * blocks_ * 256 * kernels::kFmaChains * kernels::kFmaUnroll * trips;
  }

 private:
  unsigned blocks_;
  DeviceBuffer<T> start_ = on_device(std::vector<T>(32, T(1)));
  DeviceBuffer<T> scale_ = on_device(std::vector<T>(kernels::kFmaChains, T(1)));
  DeviceBuffer<T> out_{std::size_t{1} << 20};
};

template <class T>
void check_fma_rate(const char* resource) {
  const DeviceFacts device = cuda::device_facts();
  cuda::Sampler sampler(bench::read_sm_clocks);
  const Fma<T> fma(static_cast<unsigned>(*device.sm_count));
  const double launch_s = time_of(sampler, fma.launch(100));
  // Devices may run one step above the stated maximum.
  const auto clock_hz = sampler.time_batches(fma.launch(100), 100, 1).sm_clock_hz;
  const auto peak =
      theoretical_flops(device, resource, std::max(clock_hz.value_or(0), *device.sm_clock_max_hz));
  if (!peak) GTEST_SKIP() << "no theoretical peak known for this device";
  const double share = fma.flops(100) / launch_s / *peak;
  EXPECT_LT(share, 1.005) << "above the physical limit";
  EXPECT_GT(share, 0.95) << "operands or the loop cost issue slots";
}

TEST(Limits, Fp32Fma) { check_fma_rate<float>("cuda_core.fp32"); }
TEST(Limits, Fp64Fma) { check_fma_rate<double>("cuda_core.fp64"); }

TEST(Limits, ReadingTwiceTheMemoryTakesTwiceTheTime) {
  const DeviceFacts device = cuda::device_facts();
  const auto peak = theoretical_memory_bandwidth(device);
  const DeviceBuffer<uint4> data((std::size_t{1} << 30) / sizeof(uint4));
  constexpr unsigned kOfBlock = 512;
  constexpr int kUnroll = 4;
  const DeviceBuffer<std::uint32_t> partials(
      kernels::stream_blocks(data.size(), kOfBlock, kUnroll));
  cuda::Sampler sampler;
  const auto launch = [&](std::size_t count) {
    return [&, count](cudaStream_t stream) {
      kernels::stream_read<uint4, kUnroll>
          <<<kernels::stream_blocks(count, kOfBlock, kUnroll), kOfBlock, 0, stream>>>(
              data.data(), count, partials.data());
    };
  };
  const double half_s = time_of(sampler, launch(data.size() / 2));
  const double whole_s = time_of(sampler, launch(data.size()));
  EXPECT_NEAR(whole_s / half_s, 2.0, 0.15);
  ASSERT_TRUE(peak);
  const double share = static_cast<double>(data.size() * sizeof(uint4)) / whole_s / *peak;
  EXPECT_LT(share, 1.005);
  EXPECT_GT(share, 0.5);
}

TEST(Limits, PathsInsideAWarpTakeTurnsAndPathsOfWarpsDoNot) {
  const DeviceFacts device = cuda::device_facts();
  const auto start = on_device(std::vector<float>(32, 1.0f));
  const auto blocks = static_cast<unsigned>(*device.sm_count) * 4;
  const DeviceBuffer<float> out(static_cast<std::size_t>(blocks) * 256);
  cuda::Sampler sampler;
  const auto seconds = [&](int group, int paths) {
    return time_of(sampler, [&](cudaStream_t stream) {
      kernels::divergence<<<blocks, 256, 0, stream>>>(start.data(), -0.99f, 1.37f, 8192, group,
                                                      paths, out.data());
    });
  };
  const double one_s = seconds(1, 1);
  EXPECT_NEAR(seconds(1, 2) / one_s, 2, 0.2);
  EXPECT_GT(seconds(1, 32) / one_s, 29);
  EXPECT_LT(seconds(1, 32) / one_s, 35);
  EXPECT_LT(seconds(32, 32) / one_s, 1.3);
}

}  // namespace
}  // namespace peakline
