// The matrix products that the benchmarks measure: every format and layout that cuBLASLt has here
// gives the right result, on every kind of data.

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "bench/gemm/product.hpp"
#include "harness/cuda/device.hpp"

namespace peakline::bench {
namespace {

constexpr std::array kFormats = {"fp64", "fp32",     "tf32",         "bf16", "fp16",
                                 "fp8",  "fp8_e5m2", "fp8_accurate", "int8"};
// Sides that differ, so that none can be taken for another.
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
      const bool expected = !format.types.scaled || (fp8 && layout == Layout::kTN);
      EXPECT_TRUE(!algorithms.empty() || !expected) << name << ' ' << to_string(layout);
      for (const GemmAlgorithm& algorithm : algorithms)
        EXPECT_EQ(product.find_mismatch(bench_, algorithm), "")
            << name << ' ' << to_string(layout) << ' ' << algorithm.describe();
    }
  }
}

TEST_F(GemmTest, EveryKindOfDataIsRight) {
  using kernels::Distribution;
  for (const Distribution distribution :
       {Distribution::kUniform, Distribution::kConstant, Distribution::kZeros,
        Distribution::kLowBitsCleared, Distribution::kHalfZeros}) {
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

}  // namespace
}  // namespace peakline::bench
