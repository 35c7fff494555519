// Copies to shared memory and over the host link, and allocations: the shapes of their curves.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "harness/cuda/device.hpp"
#include "kernels/copy.cuh"
#include "tests/gpu/points.hpp"
#include "tests/gpu/support.cuh"

namespace peakline {
namespace {

using cuda::DeviceBuffer;

// Tiles go to the warps in turn, cyclically.
template <class Way>
void check_tiles() {
  constexpr unsigned kBlocks = 2, kWarps = 2, kTiles = 12, kCount = 29, kWords = Way::kBytes / 4;
  const auto host = random_words(std::size_t{kTiles} * kWords, 17);
  const DeviceBuffer<std::uint32_t> of_warp(kBlocks * kWarps);
  const auto data = on_device(host);
  using Slots = kernels::copy::Slots<Way::kBytes, Way::kTilesUnderWay>;
  const std::size_t shared = kWarps * Slots::kBytesOfWarp;
  PEAKLINE_CUDA(cudaFuncSetAttribute(kernels::copy::copy_tiles<Way>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shared)));
  kernels::copy::copy_tiles<Way><<<kBlocks, 32 * kWarps, shared>>>(
      CUtensorMap{}, reinterpret_cast<const std::byte*>(data.data()), kTiles, kCount,
      of_warp.data());
  const auto found = of_warp.to_host();
  for (unsigned warp = 0; warp < found.size(); ++warp) {
    std::uint32_t expected = 0;
    for (unsigned tile = warp; tile < kCount; tile += kBlocks * kWarps)
      for (unsigned w = 0; w < kWords; ++w)
        expected += host[std::size_t{tile % kTiles} * kWords + w];
    EXPECT_EQ(found[warp], expected) << Way::kBytes << ' ' << warp;
  }
}

TEST(CopyTiles, EachWarpReadsTheTilesThatAreItsTurn) {
  check_tiles<kernels::copy::Plain<512>>();
  check_tiles<kernels::copy::Plain<2048>>();
  const int major = cuda::device_facts().compute_major;
  if (major >= 8) check_tiles<kernels::copy::CpAsync<2048>>();
  if (major >= 9) {
    check_tiles<kernels::copy::Bulk<128>>();
    check_tiles<kernels::copy::Bulk<2048>>();
  }
}

TEST(CopyTiles, ATwoDimensionalTileBeginsWhereItsRowsDo) {
  using Way = kernels::copy::Tensor2d<2048>;  // 16 rows
  EXPECT_EQ(kernels::copy::tile_offset<Way>(1), 128u);
  EXPECT_EQ(kernels::copy::tile_offset<Way>(32), 16u * 4096);
  EXPECT_EQ(kernels::copy::tile_offset<Way>(33), 16u * 4096 + 128);
}

class CopyCurves : public Points {
 protected:
  double value(const std::string& name) {
    const Measurement m = measured(name).value();
    EXPECT_EQ(m.verified, true) << name;
    return m.value.value();
  }
  double copied(const std::string& from, const std::string& way, int tile) {
    return value("copy." + from + "/way:" + way + "/tile:" + std::to_string(tile));
  }
};

TEST_F(CopyCurves, LargeTilesReachTheMemorysBandwidthByEveryWay) {
  if (session_.facts.compute_major < 9) GTEST_SKIP() << "no bulk copies";
  const double best = copied("hbm", "bulk", 8192);
  for (const char* way : {"plain", "cp_async", "tensor_2d"})
    EXPECT_GT(copied("hbm", way, 2048), 0.8 * best) << way;
  // A copy issued by one lane is not worth it for a single line.
  EXPECT_LT(copied("hbm", "bulk", 128), 0.8 * best);
  EXPECT_GT(copied("l2", "bulk", 8192), best);
}

TEST_F(CopyCurves, ALargerCopyTakesLonger) {
  if (session_.facts.compute_major < 9) GTEST_SKIP() << "no bulk copies";
  const double load_s = value("latency.l2/part:near");
  for (const char* way : {"plain", "cp_async", "bulk", "tensor_2d"}) {
    const double small_s = copied("latency", way, 512);
    EXPECT_GT(small_s, load_s) << way;
    EXPECT_LT(small_s, copied("latency", way, 8192)) << way;
  }
}

TEST_F(CopyCurves, PinnedMemoryOfAnyKindIsEquallyFast) {
  const std::string size = "/bytes:67108864";
  const double pinned = value("pcie.h2d.pinned" + size);
  EXPECT_NEAR(value("pcie.h2d.write_combined" + size) / pinned, 1, 0.1);
  const double to_host = value("pcie.d2h.pinned" + size);
  EXPECT_NEAR(value("pcie.d2h.write_combined" + size) / to_host, 1, 0.1);
  EXPECT_GT(value("pcie.bidirectional.write_combined" + size), 1.2 * std::max(pinned, to_host));
  EXPECT_LT(value("pcie.h2d.pageable" + size), pinned);
  EXPECT_GT(value("pcie.h2d.mapped" + size), 0.5 * pinned);
  EXPECT_GT(value("pcie.bidirectional.mapped" + size), 1.2 * value("pcie.h2d.mapped" + size));
  EXPECT_GT(value("pcie.bidirectional.pageable" + size), 0);
}

TEST_F(CopyCurves, ManySmallCopiesTakeLongerThanOneLarge) {
  double before = 0;
  for (const int piece : {4 << 10, 64 << 10, 1 << 20}) {
    const double rate = value("pcie.h2d.pieces/piece:" + std::to_string(piece));
    EXPECT_GT(rate, 1.2 * before) << piece;
    before = rate;
  }
  EXPECT_GT(value("pcie.h2d.pieces/piece:16777216"), 0.9 * before);
}

TEST_F(CopyCurves, PageLockingGrowsWithTheSizeAndAPoolIsQuick) {
  EXPECT_GT(value("allocation.pinned/bytes:67108864"),
            2 * value("allocation.pinned/bytes:16777216"));
  const double malloc_s = value("allocation.malloc/bytes:1073741824");
  EXPECT_LT(value("allocation.pool/bytes:1073741824"), malloc_s / 10);
  EXPECT_GT(value("allocation.free/bytes:1073741824"), 0);
  EXPECT_GT(value("allocation.register/pages:small/bytes:67108864"), 0);
  EXPECT_GT(value("allocation.first_touch/pages:small/bytes:67108864"), 0);
}

}  // namespace
}  // namespace peakline
