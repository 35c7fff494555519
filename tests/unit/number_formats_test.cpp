#include "kernels/number_formats.cuh"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <vector>

namespace peakline::kernels {
namespace {

// Values listed by the OCP specifications: E2M1's eight sizes, and the ends of the other ranges.
TEST(NumberFormats, E2m1HasEightSizes) {
  constexpr std::array kSizes = {0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F};
  for (std::uint32_t code = 0; code < 8; ++code) {
    EXPECT_EQ(decode(kE2m1, code), kSizes.at(code)) << code;
    EXPECT_EQ(decode(kE2m1, code | 8), -kSizes.at(code)) << code;
  }
}

TEST(NumberFormats, TheEndsOfTheRangesAreThoseOfTheSpecification) {
  EXPECT_EQ(decode(kE4m3, 0x7e), 448);
  EXPECT_EQ(decode(kE4m3, 0x08), 0x1p-6F);
  EXPECT_EQ(decode(kE4m3, 0x07), 0.875F * 0x1p-6F);
  EXPECT_EQ(decode(kE4m3, 0x01), 0x1p-9F);
  EXPECT_TRUE(std::isnan(decode(kE4m3, 0x7f)));
  EXPECT_TRUE(std::isnan(decode(kE4m3, 0xff)));
  EXPECT_EQ(decode(kE5m2, 0x7b), 57344);
  EXPECT_EQ(decode(kE5m2, 0x04), 0x1p-14F);
  EXPECT_EQ(decode(kE5m2, 0x03), 0.75F * 0x1p-14F);
  EXPECT_EQ(decode(kE5m2, 0x01), 0x1p-16F);
  EXPECT_EQ(decode(kE5m2, 0x7c), INFINITY);
  EXPECT_EQ(decode(kE5m2, 0xfc), -INFINITY);
  for (const std::uint32_t nan : {0x7du, 0x7eu, 0x7fu, 0xffu})
    EXPECT_TRUE(std::isnan(decode(kE5m2, nan))) << nan;
  EXPECT_EQ(decode(ue4m3(), 0x7e), 448);
  EXPECT_TRUE(std::isnan(decode(ue4m3(), 0x7f)));
  EXPECT_EQ(decode_ue8m0(0), 0x1p-127F);
  EXPECT_EQ(decode_ue8m0(127), 1);
  EXPECT_EQ(decode_ue8m0(254), 0x1p127F);
  EXPECT_TRUE(std::isnan(decode_ue8m0(255)));
}

// By the definition, in double.
double by_definition(const Minifloat& f, std::uint32_t code) {
  const auto fraction = static_cast<double>(code % (1u << f.mantissa_bits));
  const auto exponent = static_cast<int>(code >> f.mantissa_bits) % (1 << f.exponent_bits);
  const double part = fraction / std::pow(2.0, f.mantissa_bits);
  const double size = exponent == 0 ? std::pow(2.0, 1 - f.bias) * part
                                    : std::pow(2.0, exponent - f.bias) * (1 + part);
  return f.has_sign && (code >> (f.exponent_bits + f.mantissa_bits)) % 2 == 1 ? -size : size;
}

class EveryCode : public ::testing::TestWithParam<Minifloat> {
 protected:
  // Codes of finite numbers.
  static std::vector<std::uint32_t> codes() {
    const Minifloat& f = GetParam();
    std::vector<std::uint32_t> all;
    for (std::uint32_t size = 0; size <= f.largest; ++size) {
      all.push_back(size);
      if (f.has_sign) all.push_back(size | f.sign_bit());
    }
    return all;
  }
};

TEST_P(EveryCode, DecodesToItsNumberAndBack) {
  std::set<double> distinct;
  for (const std::uint32_t code : codes()) {
    const float value = decode(GetParam(), code);
    EXPECT_EQ(value, by_definition(GetParam(), code)) << code;
    EXPECT_EQ(encode(GetParam(), value), code);
    distinct.insert(value);
  }
  EXPECT_EQ(distinct.size(), codes().size() - (GetParam().has_sign ? 1 : 0));  // two zeros
}

// Between neighbours: the lower one below the middle, the upper one above, the even one at it.
TEST_P(EveryCode, RoundsToTheNearestAndTiesToEven) {
  for (std::uint32_t code = 0; code < GetParam().largest; ++code) {
    const float low = decode(GetParam(), code), high = decode(GetParam(), code + 1);
    const float middle = (low + high) / 2;
    EXPECT_EQ(encode(GetParam(), std::nextafter(middle, low)), code);
    EXPECT_EQ(encode(GetParam(), std::nextafter(middle, high)), code + 1);
    EXPECT_EQ(encode(GetParam(), middle), code % 2 == 0 ? code : code + 1);
    if (GetParam().has_sign) {
      EXPECT_EQ(encode(GetParam(), -middle),
                GetParam().sign_bit() | (code % 2 == 0 ? code : code + 1));
    }
  }
}

TEST_P(EveryCode, SaturatesBeyondItsRange) {
  const float largest = decode(GetParam(), GetParam().largest);
  for (const float value : {largest * 1.01F, largest * 100, INFINITY}) {
    EXPECT_EQ(encode(GetParam(), value), GetParam().largest);
    EXPECT_EQ(encode(GetParam(), -value),
              GetParam().has_sign ? GetParam().sign_bit() | GetParam().largest : 0);
  }
  EXPECT_EQ(encode(GetParam(), 1e-30F), 0);
}

INSTANTIATE_TEST_SUITE_P(NumberFormats, EveryCode, ::testing::Values(kE2m1, kE4m3, kE5m2, ue4m3()));

TEST(NumberFormats, EveryPowerOfTwoIsItsOwnScaleAndOthersRoundUp) {
  for (std::uint32_t code = 0; code < kUe8m0Nan; ++code) {
    const float value = decode_ue8m0(code);
    EXPECT_EQ(value, std::ldexp(1.0F, static_cast<int>(code) - 127));
    EXPECT_EQ(encode_ue8m0(value), code);
    if (code > 0 && code < 254) {
      EXPECT_EQ(encode_ue8m0(value * 1.5F), code + 1);
    }
  }
  EXPECT_EQ(encode_ue8m0(0), 0);
  EXPECT_EQ(encode_ue8m0(INFINITY), 254);
}

TEST(ScaleLayout, IsTilesOf32LinesOf16Bytes) {
  EXPECT_EQ(scale_offset(0, 0, 8), 0);
  EXPECT_EQ(scale_offset(0, 3, 8), 3);
  EXPECT_EQ(scale_offset(1, 0, 8), 16);
  EXPECT_EQ(scale_offset(31, 0, 8), 31 * 16);
  EXPECT_EQ(scale_offset(32, 0, 8), 4);
  EXPECT_EQ(scale_offset(127, 3, 8), 511);
  EXPECT_EQ(scale_offset(0, 4, 8), 512);
  EXPECT_EQ(scale_offset(128, 0, 8), 1024);
  EXPECT_EQ(scale_offset(128, 0, 5), 1024);  // 5 scales fill two tiles
  EXPECT_EQ(scale_bytes(128, 4), 512);
  EXPECT_EQ(scale_bytes(129, 5), 2048);
  // Each scale has a place of its own.
  for (const auto& [rows, blocks] : {std::pair(1, 1), {128, 4}, {130, 6}, {384, 16}}) {
    std::set<std::int64_t> places;
    for (std::int64_t row = 0; row < round_up(rows, kScaleTileRows); ++row)
      for (std::int64_t block = 0; block < round_up(blocks, kScaleTileColumns); ++block)
        places.insert(scale_offset(row, block, blocks));
    EXPECT_EQ(static_cast<std::int64_t>(places.size()), scale_bytes(rows, blocks));
    EXPECT_EQ(*places.begin(), 0);
    EXPECT_EQ(*places.rbegin(), scale_bytes(rows, blocks) - 1);
  }
}

TEST(BlockFormats, PackTwoNumbersOfFourBitsIntoAByte) {
  constexpr std::array<std::uint8_t, 2> kBytes = {0x2a, 0x71};
  EXPECT_EQ(kNvfp4.code(kBytes.data(), 0), 0xau);
  EXPECT_EQ(kNvfp4.code(kBytes.data(), 1), 0x2u);
  EXPECT_EQ(kNvfp4.code(kBytes.data(), 2), 0x1u);
  EXPECT_EQ(kNvfp4.code(kBytes.data(), 3), 0x7u);
  EXPECT_EQ(kMxfp8.code(kBytes.data(), 1), 0x71u);
  EXPECT_EQ(kNvfp4.blocks(64), 4);
  EXPECT_EQ(kMxfp8.blocks(64), 2);
  EXPECT_EQ(kNvfp4.scale(0x38), 1);
  EXPECT_EQ(kMxfp8.scale(128), 2);
}

// The reference for fast GEMMs agrees with matrices that were never packed.
TEST(BlockMatrix, FindsEachElementAndItsScale) {
  for (const BlockFormat& format : {kNvfp4, kMxfp8, kMxfp8E5m2}) {
    constexpr std::int64_t kRows = 131, kK = 224;  // neither fills its tiles
    const std::int64_t blocks = format.blocks(kK);
    const auto code_of = [&](std::int64_t row, std::int64_t k) {
      const auto code = static_cast<std::uint32_t>((row * 7 + k * 3) % format.element.largest);
      return (row + k) % 2 == 0 ? code : code | format.element.sign_bit();
    };
    const auto scale_of = [&](std::int64_t row, std::int64_t block) {
      return static_cast<std::uint8_t>(100 + (row + block * 5) % 23);
    };
    std::vector<std::uint8_t> elements(kRows * kK * format.element_bits / 8),
        scales(static_cast<std::size_t>(scale_bytes(kRows, blocks)), kUe8m0Nan);
    for (std::int64_t row = 0; row < kRows; ++row)
      for (std::int64_t k = 0; k < kK; ++k) {
        const std::int64_t bit = (row * kK + k) * format.element_bits;
        elements.at(static_cast<std::size_t>(bit / 8)) |=
            static_cast<std::uint8_t>(code_of(row, k) << bit % 8);
        scales.at(static_cast<std::size_t>(scale_offset(row, k / format.block, blocks))) =
            scale_of(row, k / format.block);
      }
    const BlockMatrix matrix{elements.data(), scales.data(), format, kK};
    for (const std::int64_t row : {0, 1, 31, 32, 97, 127, 128, 130})
      for (std::int64_t k = 0; k < kK; ++k) {
        const double scale = format.scale_type == ScaleType::kUe8m0
                                 ? std::pow(2.0, scale_of(row, k / format.block) - 127)
                                 : by_definition(ue4m3(), scale_of(row, k / format.block));
        ASSERT_DOUBLE_EQ(matrix.at(row, k), by_definition(format.element, code_of(row, k)) * scale)
            << row << ' ' << k;
      }
  }
}

}  // namespace
}  // namespace peakline::kernels
