// Every format and layout of cuBLASLt gives the right result on every kind of data.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "bench/gemm/product.hpp"
#include "bench/gemm/search.hpp"
#include "harness/cuda/device.hpp"

namespace peakline::bench {
namespace {

constexpr std::array kFormats = {"fp64",    "fp32",      "tf32",           "bf16",
                                 "fp16",    "fp8",       "fp8_e5m2",       "fp8_accurate",
                                 "fp8_row", "fp8_block", "fp8_block_both", "int8"};
// Dimensions differ, so that swapping any two shows.
constexpr GemmShape kShape{.m = 384, .n = 256, .k = 1152};

class GemmTest : public testing::Test {
 protected:
  GemmTest() : bench_(benchmark_, point_, options_, cache_, session_) {}

  std::shared_ptr<const GemmOperands> operands(const GemmFormat& format,
                                               kernels::Distribution distribution) {
    GemmOperands::Counts counts;
    counts.include(kShape);
    return std::make_shared<const GemmOperands>(format.types, counts, 7, distribution);
  }

  Benchmark benchmark_{.id = "gemm.test", .what = {}, .work = {}, .points = {}};
  Point point_;
  RunOptions options_;
  WorkerCache cache_;
  CudaSession session_{nullptr, options_};
  CudaBench bench_;
};

TEST_F(GemmTest, EveryFormatAndLayoutIsRight) {
  const DeviceFacts device = cuda::device_facts();
  const bool fp8 = device.compute_major * 10 + device.compute_minor >= 89;
  for (const char* name : kFormats) {
    const GemmFormat& format = gemm_format(name);
    const auto data = operands(format, kernels::Distribution::kNormal);
    for (const Layout layout : {Layout::kNN, Layout::kNT, Layout::kTN, Layout::kTT}) {
      const Product product(bench_, format, kShape, data, layout);
      const auto algorithms = product.gemm().algorithms(4);
      const auto usable = devices_of(format);
      const bool tn = layout == Layout::kTN;
      const bool expected = usable ? usable(device) && tn : format.types.scaled ? fp8 && tn : true;
      EXPECT_TRUE(!algorithms.empty() || !expected) << name << ' ' << to_string(layout);
      for (const GemmAlgorithm& algorithm : algorithms)
        EXPECT_EQ(product.find_mismatch(bench_, algorithm), "")
            << name << ' ' << to_string(layout) << ' ' << algorithm.describe();
    }
  }
}

// Scales of blocks next to the right ones: all that differs is which scale an element gets.
TEST_F(GemmTest, ScalesOfOtherBlocksAreFound) {
  for (const char* name : {"fp8_row", "fp8_block", "fp8_block_both"}) {
    const GemmFormat& format = gemm_format(name);
    if (!devices_of(format)(cuda::device_facts())) GTEST_SKIP() << "FP32 scales need Hopper";
    const auto data = operands(format, kernels::Distribution::kNormal);
    const Product product(bench_, format, kShape, data);
    const auto algorithms = product.gemm().algorithms(1);
    ASSERT_FALSE(algorithms.empty()) << name;
    constexpr std::size_t kAlignment = 16;
    for (const bool of_x : {true, false}) {
      const Gemm::Operands shifted{.x = data->x().data(),
                                   .w = data->w().data(),
                                   .y = data->y().data(),
                                   .x_scales = data->x_scales().data() + (of_x ? kAlignment : 0),
                                   .w_scales = data->w_scales().data() + (of_x ? 0 : kAlignment)};
      bench_.launch_once(
          [&](cudaStream_t stream) { product.gemm().launch(algorithms.front(), shifted, stream); });
      EXPECT_NE(product.find_mismatch(bench_.seed()), "") << name << ' ' << of_x;
    }
  }
}

TEST_F(GemmTest, EveryKindOfDataIsRight) {
  using kernels::Distribution;
  for (const Distribution distribution : {Distribution::kZeros, Distribution::kHalfZeros}) {
    const GemmFormat& format = gemm_format("bf16");
    const Product product(bench_, format, kShape, operands(format, distribution));
    const GemmAlgorithm algorithm = product.best_algorithm(bench_, 4, 0.05);
    EXPECT_EQ(product.find_mismatch(bench_, algorithm), "") << static_cast<int>(distribution);
  }
}

TEST(SoakFormat, IsTheWidestThatTheDeviceHas) {
  DeviceFacts device;
  device.compute_major = 7;
  device.compute_minor = 5;
  EXPECT_STREQ(soak_format(device).name, "fp16");
  device.compute_major = 8;
  EXPECT_STREQ(soak_format(device).name, "bf16");
}

TEST_F(GemmTest, NeighboursRunAndAreRight) {
  const GemmFormat& format = gemm_format("bf16");
  const Product product(bench_, format, kShape, operands(format, kernels::Distribution::kNormal));
  const auto algorithms = product.gemm().algorithms(1);
  ASSERT_FALSE(algorithms.empty());
  for (const GemmAlgorithm& neighbour : product.gemm().neighbours(algorithms.front()))
    EXPECT_EQ(product.find_mismatch(bench_, neighbour), "") << neighbour.describe();
}

TEST_F(GemmTest, TilesThatFillUpClustersCount) {
  const GemmFormat& format = gemm_format("bf16");
  const Product product(bench_, format, kShape, operands(format, kernels::Distribution::kNormal));
  const auto parts = [](std::int64_t whole, std::int64_t part) {
    return (whole + part - 1) / part;
  };
  for (const GemmAlgorithm& algorithm : product.gemm().algorithms(8)) {
    const auto tile = algorithm.tile();
    if (!tile || !algorithm.tiles(kShape)) continue;  // nullopt if K is split
    const std::int64_t own = parts(kShape.m, tile->first) * parts(kShape.n, tile->second);
    EXPECT_GE(algorithm.tiles(kShape).value(), own) << algorithm.describe();
    // Four clusters along each side leave none partial, whatever their size up to 4 x 4.
    const GemmShape whole{.m = 16 * tile->first, .n = 16 * tile->second, .k = kShape.k};
    EXPECT_EQ(algorithm.tiles(whole), 256) << algorithm.describe();
  }
}

// 132 is 12 x 11: all tiles of each wave are busy. 142 is 2 x 71, too oblong.
TEST(FullWaves, SidesFillTheSms) {
  const std::vector<Sides> h200 = full_wave_sides(132);
  EXPECT_EQ(h200, (std::vector<Sides>{{2816, 3072},
                                      {3072, 2816},
                                      {1536, 5632},
                                      {5632, 1536},
                                      {3072, 5632},
                                      {5632, 3072},
                                      {2816, 6144},
                                      {6144, 2816}}));
  for (const std::int64_t sms : {1, 16, 40, 108, 114, 128, 142, 148, 170}) {
    const std::vector<Sides> all = full_wave_sides(sms);
    ASSERT_FALSE(all.empty()) << sms;
    for (const auto& [m, n] : all) {
      const std::int64_t tiles = m / 128 * (n / 256);
      EXPECT_EQ(m / 128 % 2, 0) << sms;
      EXPECT_LE(std::max(m, n), 4 * std::min(m, n)) << sms;
      const std::int64_t waves = (tiles + sms - 1) / sms;
      EXPECT_TRUE(waves == 2 || waves == 4) << sms << ' ' << m << 'x' << n;
      EXPECT_GE(static_cast<double>(tiles), 0.9 * static_cast<double>(waves * sms)) << sms;
    }
  }
}

}  // namespace
}  // namespace peakline::bench
