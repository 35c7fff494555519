// Our formats and the conversions in NVIDIA's headers agree, on the host.

#include <cuda_fp4.h>
#include <cuda_fp8.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/number_formats.cuh"

namespace peakline::kernels {
namespace {

template <class T>
float value_of(std::uint32_t code) {
  T number;
  number.__x = static_cast<decltype(number.__x)>(code);
  return static_cast<float>(number);
}

void expect_same(float is, float wanted, std::uint32_t code) {
  EXPECT_EQ(std::isnan(is), std::isnan(wanted)) << code;
  if (std::isnan(wanted)) return;
  EXPECT_EQ(is, wanted) << code;
  EXPECT_EQ(std::signbit(is), std::signbit(wanted)) << code;
}

TEST(NumberFormats, EveryCodeIsWhatItIsToNvidia) {
  for (std::uint32_t code = 0; code < 256; ++code) {
    expect_same(decode(kE4m3, code), value_of<__nv_fp8_e4m3>(code), code);
    expect_same(decode(kE5m2, code), value_of<__nv_fp8_e5m2>(code), code);
    expect_same(decode_ue8m0(code), value_of<__nv_fp8_e8m0>(code), code);
    if (code < 16) expect_same(decode(kE2m1, code), value_of<__nv_fp4_e2m1>(code), code);
  }
}

TEST(NumberFormats, NumbersOfAllSizesGetNvidiasCode) {
  constexpr std::uint32_t kStep = 9973;  // a prime, to vary all fraction bits
  constexpr std::uint32_t kInfinity = 0x7f800000;
  for (std::uint32_t bits = 0; bits < kInfinity; bits += kStep) {
    const auto size = std::bit_cast<float>(bits);
    for (const float value : {size, -size}) {
      ASSERT_EQ(encode(kE4m3, value), __nv_fp8_e4m3(value).__x) << value;
      ASSERT_EQ(encode(kE5m2, value), __nv_fp8_e5m2(value).__x) << value;
      ASSERT_EQ(encode(kE2m1, value), __nv_fp4_e2m1(value).__x) << value;
    }
    ASSERT_EQ(encode_ue8m0(size), __nv_cvt_float_to_e8m0(size, __NV_SATFINITE, cudaRoundPosInf))
        << size;
  }
}

}  // namespace
}  // namespace peakline::kernels
