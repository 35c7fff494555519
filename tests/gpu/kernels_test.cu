// Every kernel against the host's arithmetic, on sizes that fill tiles and sizes that do not.

#include <cuda_fp8.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "harness/benchmark/cuda_data.cuh"
#include "kernels/alignment.cuh"
#include "kernels/blocks.cuh"
#include "kernels/divergence.cuh"
#include "kernels/fill.cuh"
#include "kernels/fma.cuh"
#include "kernels/gemm_reference.cuh"
#include "kernels/reference.cuh"
#include "kernels/roofline.cuh"
#include "kernels/stream.cuh"
#include "tests/gpu/support.cuh"

namespace peakline {
namespace {

using cuda::DeviceBuffer;

std::uint32_t xor_of(const std::vector<std::uint32_t>& words) {
  return std::accumulate(words.begin(), words.end(), 0u, std::bit_xor<>());
}

TEST(Fill, BitsAreTheHosts) {
  constexpr std::size_t kCount = 12345;
  const DeviceBuffer<std::uint32_t> data(kCount);
  kernels::fill_bits<<<7, 96>>>(data.data(), kCount, 42);
  EXPECT_EQ(data.to_host(), random_words(kCount, 42));
}

template <class T>
void expect_normal(double rounding) {
  constexpr std::size_t kCount = 1 << 20;
  const DeviceBuffer<T> data(kCount);
  kernels::fill_normal<<<512, 256>>>(data.data(), kCount, 3);
  double sum = 0, squares = 0, fourth = 0;
  for (const T value : data.to_host()) {
    const double x = static_cast<double>(static_cast<float>(value));
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  // Four standard deviations of each estimate.
  const double root = std::sqrt(static_cast<double>(kCount));
  EXPECT_NEAR(sum / kCount, 0, 4 / root + rounding);
  EXPECT_NEAR(squares / kCount, 1, 4 * std::sqrt(2.0) / root + rounding);
  EXPECT_NEAR(fourth / kCount, 3, 4 * std::sqrt(96.0) / root + 4 * rounding);
}

TEST(Fill, NormalHasTheRightMoments) {
  expect_normal<float>(0);
  expect_normal<double>(0);
  expect_normal<__half>(1e-3);
  expect_normal<__nv_bfloat16>(4e-3);
}

TEST(Reference, XorOfStridedGroups) {
  const auto host = random_words(1000, 1);
  const auto data = on_device(host);
  const auto result = on_device(std::vector<std::uint32_t>{0});
  kernels::reference_xor<<<3, 64>>>(data.data(), 100, 2, 5, result.data());
  std::uint32_t expected = 0;
  for (std::size_t i = 0; i < 100; ++i) expected ^= host[i * 10] ^ host[i * 10 + 1];
  EXPECT_EQ(result.to_host()[0], expected);
}

TEST(Reference, CountsDifferences) {
  auto host = random_words(1000, 2);
  const auto a = on_device(host);
  host[0] ^= 1;
  host[999] ^= 0x80000000u;
  const auto b = on_device(host);
  const auto found = on_device(std::vector<unsigned long long>{0});
  kernels::reference_compare<<<3, 64>>>(a.data(), b.data(), 1000, found.data());
  EXPECT_EQ(found.to_host()[0], 2u);
}

TEST(Reference, TriadAndPatternSeeOneWrongWord) {
  std::vector<float> a(777), b(777), c(777);
  for (std::size_t i = 0; i < a.size(); ++i) {
    b[i] = static_cast<float>(i) * 0.37f;
    c[i] = 1.0f / static_cast<float>(i + 1);
    a[i] = std::fma(0.4f, c[i], b[i]);
  }
  const auto found = on_device(std::vector<unsigned long long>{0});
  const auto db = on_device(b), dc = on_device(c);
  kernels::reference_triad<<<3, 64>>>(on_device(a).data(), db.data(), dc.data(), 0.4f, a.size(),
                                      found.data());
  EXPECT_EQ(found.to_host()[0], 0u);
  a[500] = std::nextafter(a[500], 1e9f);
  kernels::reference_triad<<<3, 64>>>(on_device(a).data(), db.data(), dc.data(), 0.4f, a.size(),
                                      found.data());
  EXPECT_EQ(found.to_host()[0], 1u);

  std::vector<std::uint32_t> pattern(777);
  for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = 5u ^ static_cast<std::uint32_t>(i);
  pattern[776] = 0;
  kernels::reference_pattern<<<3, 64>>>(on_device(pattern).data(), 5, pattern.size(), found.data());
  EXPECT_EQ(found.to_host()[0], 2u);
}

TEST(Reference, ConstantCountsWrongWordsInEqualPairsToo) {
  std::vector<std::uint32_t> words(777, 0xa5a5a5a5u);
  const auto found = on_device(std::vector<unsigned long long>{0});
  kernels::reference_constant<<<3, 64>>>(on_device(words).data(), 0xa5a5a5a5u, words.size(),
                                         found.data());
  EXPECT_EQ(found.to_host()[0], 0u);
  words[100] = words[500] = 7;  // same XOR as two right words
  kernels::reference_constant<<<3, 64>>>(on_device(words).data(), 0xa5a5a5a5u, words.size(),
                                         found.data());
  EXPECT_EQ(found.to_host()[0], 2u);
}

TEST(Poison, ShowsWhereverNothingIsWritten) {
  const DeviceBuffer<float> floats(100);
  const DeviceBuffer<__half2> halves(100);
  const cuda::Stream stream;
  bench::poison(floats, stream.get());
  bench::poison(halves, stream.get());
  stream.synchronize();
  for (const float x : floats.to_host()) ASSERT_TRUE(std::isnan(x));
  for (const __half2& x : halves.to_host()) ASSERT_TRUE(std::isnan(__half2float(__low2half(x))));
}

// One vector, part of a tile, several tiles and a rest; the smallest and the largest block.
constexpr std::size_t kCounts[] = {1, 31, 4096, 100'003};
constexpr unsigned kThreads[] = {32, 256, kernels::kMostStreamThreads};

template <class Vec, int kUnroll>
void check_streams() {
  for (const std::size_t count : kCounts)
    for (const unsigned threads : kThreads) {
      const unsigned blocks = kernels::stream_blocks(count, threads, kUnroll);
      const std::size_t words = count * sizeof(Vec) / 4;
      const auto host = random_words(words, count);
      const auto data = on_device(host);
      const DeviceBuffer<std::uint32_t> partials(blocks);
      const auto* vec = reinterpret_cast<const Vec*>(data.data());

      kernels::stream_read<Vec, kUnroll><<<blocks, threads>>>(vec, count, partials.data());
      EXPECT_EQ(xor_of(partials.to_host()), xor_of(host)) << count << ' ' << threads;

      const DeviceBuffer<std::uint32_t> to(words);
      kernels::stream_copy<Vec, kUnroll>
          <<<blocks, threads>>>(vec, reinterpret_cast<Vec*>(to.data()), count);
      EXPECT_EQ(to.to_host(), host) << count << ' ' << threads;

      kernels::stream_write<Vec, kUnroll>
          <<<blocks, threads>>>(reinterpret_cast<Vec*>(to.data()), count, 77u);
      const auto written = to.to_host();
      for (std::size_t i = 0; i < words; ++i)
        ASSERT_EQ(written[i], 77u ^ static_cast<std::uint32_t>(i)) << count << ' ' << threads;

      std::vector<float> b(words), c(words);
      for (std::size_t i = 0; i < words; ++i) {
        b[i] = static_cast<float>(host[i] % 1000) * 0.001f;
        c[i] = static_cast<float>(host[i] / 1000 % 1000) * 0.01f;
      }
      const auto db = on_device(b), dc = on_device(c);
      const DeviceBuffer<float> a(words);
      kernels::stream_triad<Vec, kUnroll><<<blocks, threads>>>(
          reinterpret_cast<Vec*>(a.data()), reinterpret_cast<const Vec*>(db.data()),
          reinterpret_cast<const Vec*>(dc.data()), 0.4f, count);
      const auto triad = a.to_host();
      for (std::size_t i = 0; i < words; ++i)
        ASSERT_EQ(triad[i], std::fma(0.4f, c[i], b[i])) << count << ' ' << threads;
    }
}

TEST(Stream, EveryWidthAndUnroll) {
  check_streams<std::uint32_t, 1>();
  check_streams<std::uint32_t, 8>();
  check_streams<uint2, 2>();
  check_streams<uint4, 1>();
  check_streams<uint4, 4>();
  check_streams<uint4, 8>();
}

template <class Vec, int kUnroll>
void check_strided_reads() {
  constexpr std::size_t kWords = sizeof(Vec) / sizeof(std::uint32_t);
  const auto host = random_words(1 << 18, 9);
  const auto data = on_device(host);
  for (const std::size_t stride : {1u, 2u, 7u, 64u})
    for (const std::size_t offset : {std::size_t{0}, kWords, 7 * kWords}) {
      const auto result = on_device(std::vector<std::uint32_t>{0});
      const std::size_t count = (host.size() - offset) / kWords / stride;
      kernels::strided_read<Vec, kUnroll><<<37, kernels::kAlignmentThreads>>>(
          reinterpret_cast<const Vec*>(data.data() + offset), count, stride, result.data());
      std::uint32_t expected = 0;
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t w = 0; w < kWords; ++w) expected ^= host[offset + i * stride * kWords + w];
      EXPECT_EQ(result.to_host()[0], expected) << stride << ' ' << offset;
    }
}

TEST(StridedRead, ReadsEveryStrideThElementOnce) {
  check_strided_reads<std::uint32_t, 16>();
  check_strided_reads<uint2, 8>();
  check_strided_reads<uint4, 4>();
}

template <class T, class Fma>
void check_fma(Fma fma, T a, T b) {
  constexpr int kTrips = 5;
  std::vector<T> start, scale;
  for (int i = 0; i < 32; ++i) start.push_back(static_cast<T>(0.5 + i / 64.0));
  for (int c = 0; c < kernels::kFmaChains; ++c) scale.push_back(static_cast<T>(c + 1));
  const DeviceBuffer<T> out(256);
  kernels::fma_chains<T>
      <<<4, 64>>>(on_device(start).data(), a, b, on_device(scale).data(), out.data(), kTrips);
  const auto found = out.to_host();
  for (std::size_t t = 0; t < found.size(); ++t) {
    T expected{};
    for (int c = 0; c < kernels::kFmaChains; ++c) {
      T x = start[t % 32] * scale[static_cast<std::size_t>(c)];
      for (int i = 0; i < kTrips * kernels::kFmaUnroll; ++i) x = fma(x, a, b);
      expected = c == 0 ? x : expected + x;
    }
    ASSERT_EQ(found[t], expected) << t;
  }
}

TEST(FmaChains, AreTheHostsBitForBit) {
  check_fma<float>([](float x, float a, float b) { return std::fma(x, a, b); }, -0.99f, 1.37f);
  check_fma<double>([](double x, double a, double b) { return std::fma(x, a, b); }, -0.99, 1.37);
}

TEST(FmaChains, HalvesAreRoundedOnceAStep) {
  constexpr int kTrips = 2;
  const __half a = __double2half(-0.99), b = __double2half(1.37);
  std::vector<__half2> start, scale;
  for (int i = 0; i < 32; ++i) start.push_back(__half2half2(__double2half(0.5 + i / 64.0)));
  for (int c = 0; c < kernels::kFmaChains; ++c)
    scale.push_back(__half2half2(__double2half(c + 1.0)));
  const DeviceBuffer<__half2> out(64);
  kernels::fma_chains<__half2><<<1, 64>>>(on_device(start).data(), __half2half2(a), __half2half2(b),
                                          on_device(scale).data(), out.data(), kTrips);
  const auto found = out.to_host();
  const auto round = [](double x) { return static_cast<double>(__half2float(__double2half(x))); };
  for (std::size_t t = 0; t < found.size(); ++t) {
    double expected = 0;
    for (int c = 0; c < kernels::kFmaChains; ++c) {
      double x = round(static_cast<double>(__half2float(__low2half(start[t % 32]))) * (c + 1));
      for (int i = 0; i < kTrips * kernels::kFmaUnroll; ++i)
        x = round(x * static_cast<double>(__half2float(a)) + static_cast<double>(__half2float(b)));
      expected = c == 0 ? x : round(expected + x);
    }
    ASSERT_EQ(__half2float(__low2half(found[t])), expected) << t;
    ASSERT_EQ(__half2float(__high2half(found[t])), expected) << t;
  }
}

template <class T>
std::uint32_t bits_of(T x) {
  std::uint32_t words[sizeof(T) / 4];
  std::memcpy(words, &x, sizeof(T));
  return std::accumulate(std::begin(words), std::end(words), 0u, std::bit_xor<>());
}

template <class T>
void check_roofline() {
  constexpr std::size_t kTiles = 3;
  constexpr std::size_t kVectors = kTiles * kernels::kRooflineThreads * kernels::kRooflineUnroll;
  std::vector<T> host(kVectors * 16 / sizeof(T));
  for (std::size_t i = 0; i < host.size(); ++i)
    host[i] = static_cast<T>(0.001 * static_cast<double>(i % 3001));
  const auto data = on_device(host);
  for (const int fmas : {0, 1, 7, 8, 13, 43, 64}) {
    const auto result = on_device(std::vector<std::uint32_t>{0});
    kernels::roofline_sweep<T><<<2, kernels::kRooflineThreads>>>(
        reinterpret_cast<const typename kernels::Vec16<T>::type*>(data.data()), kVectors,
        static_cast<T>(-0.99), static_cast<T>(1.37), fmas, result.data());
    std::uint32_t expected = 0;
    for (T x : host) {
      for (int i = 0; i < fmas; ++i) x = std::fma(x, static_cast<T>(-0.99), static_cast<T>(1.37));
      expected ^= bits_of(x);
    }
    EXPECT_EQ(result.to_host()[0], expected) << fmas;

    const auto reference = [&](std::size_t count) {
      const auto plain = on_device(std::vector<std::uint32_t>{0});
      kernels::reference_fma_xor<<<3, 64>>>(data.data(), count, static_cast<T>(-0.99),
                                            static_cast<T>(1.37), fmas, plain.data());
      return plain.to_host()[0];
    };
    EXPECT_EQ(reference(host.size()), expected) << fmas;
    // Omitting the last element would show.
    EXPECT_NE(reference(host.size() - 1), result.to_host()[0]) << fmas;
  }
}

TEST(RooflineSweep, BitsAreTheHosts) {
  check_roofline<float>();
  check_roofline<double>();
}

TEST(Divergence, EveryPathComputesTheSame) {
  std::vector<float> start(32);
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = 0.1f * static_cast<float>(i);
  const auto data = on_device(start);
  const DeviceBuffer<float> out(512);
  for (const int group : {1, 32})
    for (const int paths : {1, 2, 3, 31, 32}) {
      constexpr int kTrips = 3;
      kernels::divergence<<<2, 256>>>(data.data(), -0.99f, 1.37f, kTrips, group, paths, out.data());
      const auto found = out.to_host();
      for (std::size_t t = 0; t < found.size(); ++t) {
        float sum = 0;
        for (int c = 0; c < kernels::kDivergenceChains; ++c) {
          float x = start[t % 32] + static_cast<float>(c);
          for (int i = 0; i < kTrips * kernels::kDivergenceUnroll; ++i)
            x = std::fma(x, -0.99f, 1.37f);
          sum += x;
        }
        ASSERT_EQ(found[t], sum) << group << ' ' << paths << ' ' << t;
      }
    }
}

TEST(GemmReference, IsTheHostsSum) {
  constexpr std::int64_t kK = 1000, kRows = 5, kColumns = 7;
  std::vector<__nv_bfloat16> x(kK * kRows), w(kK * kColumns);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = __float2bfloat16_rn(static_cast<float>(i % 17) - 8);
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] = __float2bfloat16_rn(static_cast<float>(i % 23) * 0.25f);
  const std::vector<std::int64_t> rows{0, 4, 2}, columns{0, 6, 3};
  const DeviceBuffer<double> found(rows.size());
  // k contiguous in one operand, lines contiguous in the other; then the other way round.
  for (const bool k_first : {true, false}) {
    const kernels::OperandSteps x_steps =
        k_first ? kernels::OperandSteps{kK, 1} : kernels::OperandSteps{1, kRows};
    const kernels::OperandSteps w_steps =
        k_first ? kernels::OperandSteps{1, kColumns} : kernels::OperandSteps{kK, 1};
    kernels::gemm_reference<<<3, kernels::kReferenceThreads>>>(
        on_device(x).data(), x_steps, on_device(w).data(), w_steps, kK, on_device(rows).data(),
        on_device(columns).data(), found.data());
    const auto sums = found.to_host();
    const auto at = [](const std::vector<__nv_bfloat16>& numbers, kernels::OperandSteps steps,
                       std::int64_t line, std::int64_t k) {
      return static_cast<double>(
          __bfloat162float(numbers[static_cast<std::size_t>(line * steps.line + k * steps.k)]));
    };
    for (std::size_t s = 0; s < rows.size(); ++s) {
      double expected = 0;
      for (std::int64_t k = 0; k < kK; ++k)
        expected += at(x, x_steps, rows[s], k) * at(w, w_steps, columns[s], k);
      EXPECT_DOUBLE_EQ(sums[s], expected) << s;
    }
  }
}

TEST(GemmReference, OfBlocksIsTheHostsSum) {
  constexpr std::int64_t kK = 224, kRows = 200, kColumns = 150;
  const auto random_bytes = [](std::size_t count, std::uint32_t below) {
    std::mt19937 random(static_cast<unsigned>(count));
    std::vector<std::uint8_t> bytes(count);
    for (std::uint8_t& byte : bytes)
      byte = static_cast<std::uint8_t>(std::uniform_int_distribution<unsigned>(0, below)(random));
    return bytes;
  };
  for (const kernels::BlockFormat& format : {kernels::kNvfp4, kernels::kMxfp8}) {
    const auto elements = [&](std::int64_t lines) {
      // Half of MXFP8's codes: no NaN.
      return random_bytes(static_cast<std::size_t>(lines * kK) * format.element_bits / 8,
                          format.element_bits == 4 ? 255 : format.element.largest);
    };
    const auto scales = [&](std::int64_t lines) {
      return random_bytes(static_cast<std::size_t>(kernels::scale_bytes(lines, format.blocks(kK))),
                          0x7e);
    };
    const auto x = elements(kRows), w = elements(kColumns);
    const auto x_scales = scales(kRows), w_scales = scales(kColumns);
    const auto x_on = on_device(x), w_on = on_device(w);
    const auto x_scales_on = on_device(x_scales), w_scales_on = on_device(w_scales);
    const std::vector<std::int64_t> rows{0, 199, 33}, columns{0, 149, 128};
    const DeviceBuffer<double> found(rows.size()), found_squares(rows.size());
    kernels::block_gemm_reference<<<3, kernels::kReferenceThreads>>>(
        {x_on.data(), x_scales_on.data(), format, kK},
        {w_on.data(), w_scales_on.data(), format, kK}, on_device(rows).data(),
        on_device(columns).data(), found.data(), found_squares.data());
    const auto sums = found.to_host(), square_sums = found_squares.to_host();
    const kernels::BlockMatrix left{x.data(), x_scales.data(), format, kK};
    const kernels::BlockMatrix right{w.data(), w_scales.data(), format, kK};
    for (std::size_t s = 0; s < rows.size(); ++s) {
      double expected = 0, sizes = 0, squares = 0;
      for (std::int64_t k = 0; k < kK; ++k) {
        const double product = left.at(rows[s], k) * right.at(columns[s], k);
        expected += product;
        sizes += std::abs(product);
        squares += product * product;
      }
      EXPECT_NEAR(sums[s], expected, 1e-12 * sizes) << s;
      EXPECT_NEAR(square_sums[s], squares, 1e-12 * squares) << s;
    }
  }
}

TEST(GemmReference, BlocksAreFilledWithNumbersOfTheFormat) {
  constexpr std::size_t kBytes = 1 << 16;
  const DeviceBuffer<std::uint8_t> data(kBytes);
  for (const kernels::BlockFormat& format : {kernels::kNvfp4, kernels::kMxfp8}) {
    kernels::fill_blocks<<<32, 256>>>(data.data(), kBytes, format, kernels::Distribution::kNormal,
                                      5);
    const auto bytes = data.to_host();
    const std::size_t count = kBytes * 8 / static_cast<std::size_t>(format.element_bits);
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double value =
          decode(format.element, format.code(bytes.data(), static_cast<std::int64_t>(i)));
      sum += value;
      squares += value * value;
    }
    const auto n = static_cast<double>(count);
    EXPECT_NEAR(sum / n, 0, 0.05);
    EXPECT_NEAR(std::sqrt(squares / n), format.deviation(), 0.05 * format.deviation());
    kernels::fill_scales<<<32, 256>>>(data.data(), kBytes, format.scale_type, 6);
    for (const std::uint8_t code : data.to_host()) {
      ASSERT_GE(format.scale(code), 0.5F);
      ASSERT_LE(format.scale(code), 2.0F);
    }
  }
}

TEST(GemmReference, GathersElements) {
  constexpr std::int64_t kColumns = 7;
  std::vector<std::int32_t> y(5 * kColumns);
  std::iota(y.begin(), y.end(), 0);
  const std::vector<std::int64_t> rows{0, 4, 2}, columns{6, 0, 3};
  const DeviceBuffer<double> found(rows.size());
  kernels::gather_elements<<<1, 32>>>(on_device(y).data(), kColumns, on_device(rows).data(),
                                      on_device(columns).data(), rows.size(), found.data());
  EXPECT_EQ(found.to_host(), (std::vector<double>{6, 28, 17}));
}

TEST(Fill, DistributionsAreWhatTheySay) {
  using kernels::Distribution;
  const auto expect = [](Distribution distribution, double mean, double square, double zeros) {
    const DeviceBuffer<__nv_bfloat16> data(1 << 16);
    kernels::fill_numbers<<<64, 256>>>(data.data(), data.size(), distribution, 1.0F, 5);
    const auto count = static_cast<double>(data.size());
    double sum = 0, squares = 0, nulls = 0;
    for (const __nv_bfloat16 number : data.to_host()) {
      const double x = static_cast<float>(number);
      sum += x;
      squares += x * x;
      nulls += x == 0;
    }
    const auto which = static_cast<int>(distribution);
    EXPECT_NEAR(sum / count, mean, 0.02) << which;
    EXPECT_NEAR(squares / count, square, 0.06) << which;
    EXPECT_NEAR(nulls / count, zeros, 0.01) << which;
  };
  expect(Distribution::kNormal, 0, 1, 0);
  expect(Distribution::kZeros, 0, 0, 1);
  expect(Distribution::kHalfZeros, 0, 0.5, 0.5);
}

TEST(Fill, NormalDoublesUseAllTheirBits) {
  const DeviceBuffer<double> data(1024);
  kernels::fill_normal<<<4, 256>>>(data.data(), data.size(), 3);
  int more_than_float = 0;
  for (const double x : data.to_host())
    more_than_float += static_cast<double>(static_cast<float>(x)) != x;
  EXPECT_GT(more_than_float, 1000);
}

}  // namespace
}  // namespace peakline
