// The verifying soak finds a single wrong bit in a result, an operand, memory, shared memory or a
// copy within one pass, and reports nothing on a healthy device.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "bench/catalog.hpp"
#include "bench/soak/links.hpp"
#include "bench/soak/memory.hpp"
#include "bench/soak/products.hpp"
#include "bench/soak/tile.hpp"
#include "harness/conclude/limits.hpp"

namespace peakline::bench {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint32_t kBit = 1u << 19;

void flip(void* word, std::uint32_t bits, cudaStream_t stream = nullptr) {
  std::uint32_t value = 0;
  PEAKLINE_CUDA(cudaStreamSynchronize(stream));
  PEAKLINE_CUDA(cudaMemcpy(&value, word, sizeof(value), cudaMemcpyDeviceToHost));
  value ^= bits;
  PEAKLINE_CUDA(cudaMemcpy(word, &value, sizeof(value), cudaMemcpyHostToDevice));
}

class SoakTest : public testing::Test {
 protected:
  SoakTest() : bench_(benchmark_, point_, options_, cache_, session_) {}

  std::string fact(const char* name) { return text_param(bench_.record().launch, name).value(); }
  std::int64_t differing() { return *int_param(bench_.record().launch, "differing_words"); }

  Benchmark benchmark_{.id = "soak.test", .what = {}, .work = {}, .points = {}};
  Point point_;
  RunOptions options_ = [] {
    RunOptions options;
    options.profile = true;  // searches try one candidate
    return options;
  }();
  WorkerCache cache_;
  CudaSession session_{nullptr, options_};
  CudaBench bench_;
};

TEST_F(SoakTest, ProductsOfAHealthyDeviceAreRight) {
  for (const char* name : {"fp64", "tf32", "bf16", "fp16", "fp8", "int8"}) {
    const VerifiedProduct product(bench_, gemm_format(name));
    for (int i = 0; i < 10; ++i) bench_.launch_once(product.launch());
    product.report(bench_);
    EXPECT_EQ(differing(), 0) << name << ": " << fact("first_difference");
    EXPECT_EQ(bench_.record().verified, true) << name;
  }
}

TEST_F(SoakTest, AFlippedBitOfAResultIsFound) {
  for (const char* name : {"fp64", "tf32", "bf16", "fp8", "int8"}) {
    const VerifiedProduct product(bench_, gemm_format(name));
    const auto words = reinterpret_cast<std::uint32_t*>(product.product().operands().y().data());
    bench_.launch_once(
        product.launch([&](cudaStream_t stream) { flip(words + 12345, kBit, stream); }));
    product.report(bench_);
    EXPECT_EQ(differing(), 1) << name;
    EXPECT_EQ(bench_.record().verified, false) << name;
    EXPECT_EQ(fact("differing_bits"), "0x00080000") << name;
    EXPECT_THAT(fact("first_difference"), HasSubstr("row ")) << name;
    EXPECT_THAT(fact("sm"), HasSubstr("no single SM is to blame")) << name;
  }
}

TEST_F(SoakTest, AFlippedBitOfAnOperandIsFound) {
  const VerifiedProduct product(bench_, gemm_format("bf16"));
  constexpr std::uint32_t kExponent = 1u << 13;
  flip(product.product().operands().x().data(), kExponent);
  bench_.launch_once(product.launch());
  product.report(bench_);
  EXPECT_GT(differing(), product.product().shape().n / 4);  // most of a row of the result
}

TEST_F(SoakTest, AFirstResultThatIsWrongIsFoundWithItsPlace) {
  // The highest exponent bit of an odd element, in the upper half of the word.
  constexpr std::size_t kElement = 5;
  const VerifiedProduct product(bench_, gemm_format("bf16"), [&](const Numbers& y) {
    flip(y.data() + (kElement - 1) * bytes_of(y.type()), 1u << 30);
  });
  bench_.launch_once(product.launch());
  product.report(bench_);
  EXPECT_EQ(differing(), 1);
  EXPECT_EQ(bench_.record().verified, false);
  EXPECT_THAT(fact("first_difference"), HasSubstr("first result, row 0, column 5"));
  EXPECT_THAT(fact("first_difference"), HasSubstr(" instead of "));
  EXPECT_EQ(find_param(bench_.record().launch, "differing_bits"), nullptr);  // of two roundings
  EXPECT_THAT(fact("sm"), HasSubstr("no single SM is to blame"));
}

// A tile that a product omits: memory still holds its previous content.
TEST_F(SoakTest, AResultThatIsNotWrittenIsFound) {
  for (const char* name : {"fp64", "bf16", "int8"}) {
    const VerifiedProduct product(bench_, gemm_format(name));
    std::byte* const tile = product.product().operands().y().data() + 4096;
    constexpr std::size_t kBytes = 1024;
    const cuda::DeviceBuffer<std::byte> before(kBytes);
    bench_.launch_once(product.launch());
    PEAKLINE_CUDA(cudaMemcpy(before.data(), tile, kBytes, cudaMemcpyDeviceToDevice));
    PEAKLINE_CUDA(cudaDeviceSynchronize());
    bench_.launch_once(product.launch([&](cudaStream_t stream) {
      PEAKLINE_CUDA(cudaMemcpyAsync(tile, before.data(), kBytes, cudaMemcpyDeviceToDevice, stream));
    }));
    product.report(bench_);
    EXPECT_GT(differing(), 250) << name;  // few words happen to be right
    EXPECT_LE(differing(), 256) << name;
  }
}

TEST_F(SoakTest, TheMomentOfADifferenceCountsFromTheLoad) {
  const VerifiedProduct product(bench_, gemm_format("bf16"));
  const auto words = reinterpret_cast<std::uint32_t*>(product.product().operands().y().data());
  const auto broken =
      product.launch([&](cudaStream_t stream) { flip(words + 12345, kBit, stream); });
  bench_.launch_once(broken);
  product.report(bench_);
  EXPECT_EQ(fact("first_seen"), "before the load");

  const VerifiedProduct later(bench_, gemm_format("bf16"));
  const auto later_words = reinterpret_cast<std::uint32_t*>(later.product().operands().y().data());
  later.differences().count_from_load(bench_);
  const CudaBench::Launch healthy = later.launch();
  std::this_thread::sleep_for(std::chrono::seconds(1));  // not part of the load's time
  int calls = 0;
  bench_.measure_calls(later.work(), [&] {
    if (calls++ == 1)
      bench_.launch_once(
          later.launch([&](cudaStream_t stream) { flip(later_words + 12345, kBit, stream); }));
    else
      bench_.launch_once(healthy);
  });
  later.report(bench_);
  EXPECT_EQ(differing(), 1);
  EXPECT_EQ(fact("first_seen"), "0.0 s after the start of the load");
}

TEST_F(SoakTest, AFlippedBitOfMemoryIsFound) {
  for (const unsigned rounds : {1u, 7u}) {
    const PatternedMemory memory(bench_, std::size_t{64} << 20, rounds);
    for (int i = 0; i < 30; ++i) bench_.launch_once(memory.launch());
    memory.report(bench_, "memory");
    EXPECT_EQ(differing(), 0) << fact("first_difference");
    flip(memory.words() + 4321, kBit);
    bench_.launch_once(memory.launch());
    memory.report(bench_, "memory");
    EXPECT_EQ(differing(), 1);
    EXPECT_THAT(fact("first_difference"), HasSubstr("byte 0x4384 of memory"));
    EXPECT_EQ(fact("differing_bits"), "0x00080000");
    bench_.launch_once(memory.launch());  // the wrong word has been overwritten
    EXPECT_EQ(memory.differences().read().count, 1u);
  }
}

TEST_F(SoakTest, AFlippedBitOfSharedMemoryIsFound) {
  const PatternedSharedMemory healthy(bench_);
  bench_.launch_once(healthy.launch());
  EXPECT_EQ(healthy.differences().read().count, 0u);
  const PatternedSharedMemory broken(bench_, kBit);
  bench_.launch_once(broken.launch());
  broken.report(bench_);
  EXPECT_EQ(differing(), 1);
  EXPECT_THAT(fact("sm"), HasSubstr("SM "));
}

TEST_F(SoakTest, AFlippedBitOfACopyIsFoundWithItsDirection) {
  RoundTrip healthy(bench_);
  for (int i = 0; i < 3; ++i) healthy.once(bench_);
  EXPECT_EQ(healthy.differences().read().count, 0u);
  RoundTrip broken(bench_);
  broken.once(bench_, [](std::uint32_t* words) { words[777] ^= kBit; });
  broken.once(bench_);
  broken.report(bench_);
  EXPECT_EQ(differing(), 1);
  EXPECT_THAT(fact("first_difference"), HasSubstr("on the way to the host"));
}

TEST_F(SoakTest, ACopyThatDoesNotArriveIsFound) {
  RoundTrip trip(bench_);
  std::vector<std::uint32_t> before(1024);
  trip.once(bench_, [&](std::uint32_t* words) {
    std::copy_n(words + 4096, before.size(), before.begin());
  });
  EXPECT_EQ(trip.differences().read().count, 0u);
  // The host's memory still holds its previous content.
  trip.once(bench_, [&](std::uint32_t* words) { std::ranges::copy(before, words + 4096); });
  trip.report(bench_);
  EXPECT_EQ(differing(), std::ssize(before));
  EXPECT_THAT(fact("first_difference"), HasSubstr("on the way to the host"));
}

TEST_F(SoakTest, AnSmThatIsOddInTheFirstResultAloneIsFound) {
  const TileFormat* const format = find_holding_tile_format("fp16", bench_.device());
  if (format == nullptr) GTEST_SKIP() << "no mma.sync";
  constexpr std::int64_t kDepth = 512;
  Numbers x(format->operands, kernels::kCheckedRows * kDepth);
  Numbers w(format->operands, kernels::kCheckedColumns * kDepth);
  x.fill(kernels::Distribution::kNormal, 3);
  w.fill(kernels::Distribution::kNormal, 4);
  const TileOnEachSm tile(bench_, *format, x, w, kDepth, 1);
  bench_.launch_once(tile.launch(5));
  EXPECT_EQ(tile.differences().read().count, 0u);
  EXPECT_EQ(tile.read().count, 1u);
  EXPECT_THAT(tile.odd_sms(), SizeIs(1));
  EXPECT_EQ(tile.compared_words(), 6.0 * format->words * 32 * bench_.sm_count());
}

TEST_F(SoakTest, AllSmsComputeTheSameTile) {
  for (const char* name : {"fp64", "tf32", "bf16", "fp16", "fp8", "int8"}) {
    const TileFormat* const format = find_holding_tile_format(name, bench_.device());
    if (format == nullptr) continue;
    constexpr std::int64_t kDepth = 512;
    Numbers x(format->operands, kernels::kCheckedRows * kDepth);
    Numbers w(format->operands, kernels::kCheckedColumns * kDepth);
    x.fill(kernels::Distribution::kNormal, 3);
    w.fill(kernels::Distribution::kNormal, 4);
    const TileOnEachSm tile(bench_, *format, x, w, kDepth);
    bench_.launch_once(tile.launch(5));
    EXPECT_THAT(tile.odd_sms(), IsEmpty()) << name;
    EXPECT_EQ(tile.differences().read().count, 0u) << name;
    // Words that no SM computes: all SMs differ, and the log keeps the first differences.
    flip(tile.expected().data() + 7, kBit);
    bench_.launch_once(tile.launch(1));
    EXPECT_EQ(tile.differences().read().count, 32u * bench_.sm_count()) << name;
    EXPECT_FALSE(tile.odd_sms().empty()) << name;
  }
}

TEST(Soak, EveryPointOfAHealthyDeviceIsRight) {
  constexpr double kSeconds = 4;
  Registry registry;
  register_all(registry, {.soak_s = kSeconds, .verified_soak_s = kSeconds});
  RunOptions options;
  options.soak_s = kSeconds;
  options.verified_soak = true;
  WorkerCache cache;
  CudaSession session{nullptr, options};
  for (const Benchmark& benchmark : registry.benchmarks()) {
    if (!benchmark.id.starts_with("soak.") || benchmark.id == "soak.pairs") continue;
    for (const Point& point : benchmark.points) {
      const std::string name = point_name(benchmark.id, point.params);
      const Entry entry = registry.find(name);
      CudaBench bench(*entry.benchmark, *entry.point, options, cache, session);
      try {
        std::get<std::function<void(CudaBench&)>> (*entry.run)(bench);
      } catch (const Skipped& skipped) {
        EXPECT_THAT(skipped.what(), HasSubstr("has no")) << name;
        continue;
      }
      const Measurement& m = bench.record();
      EXPECT_EQ(m.verified, true) << name << ": "
                                  << text_param(m.launch, "first_difference").value_or("");
      EXPECT_GT(*int_param(m.launch, "compared_words"), 1e6) << name;
      EXPECT_GT(*m.value, 0) << name;
      EXPECT_FALSE(implausible(m, session.facts, registry.benchmarks())) << name;
    }
  }
}

}  // namespace
}  // namespace peakline::bench
