#pragma once

// Numbers of 4 and 8 bits, block scales, and cuBLASLt's layout of scales. Plain C++, so that tests
// need no GPU. Sources: OCP 8-bit Floating Point Specification 1.0; OCP Microscaling Formats (MX)
// Specification 1.0; cuBLAS, "1D Block Scaling Factors Layout".

#include <bit>
#include <cstdint>
#include <limits>

namespace peakline::kernels {

// Sign, exponent and mantissa, from the highest bit; subnormal if the exponent field is 0.
struct Minifloat {
  bool has_sign = true;
  int exponent_bits = 0, mantissa_bits = 0, bias = 0;
  std::uint32_t largest = 0;         // code of the largest finite number
  std::uint32_t infinity = no_code;  // its code, if there is one
  static constexpr std::uint32_t no_code = 0xffff;

  constexpr std::uint32_t sign_bit() const {
    return has_sign ? 1u << (exponent_bits + mantissa_bits) : 0;
  }
  constexpr bool operator==(const Minifloat&) const = default;
};
inline constexpr Minifloat kE2m1{.exponent_bits = 2, .mantissa_bits = 1, .bias = 1, .largest = 0x7};
inline constexpr Minifloat kE4m3{
    .exponent_bits = 4, .mantissa_bits = 3, .bias = 7, .largest = 0x7e};
inline constexpr Minifloat kE5m2{
    .exponent_bits = 5, .mantissa_bits = 2, .bias = 15, .largest = 0x7b, .infinity = 0x7c};
// Scales have no sign; the highest bit of their byte is 0.
constexpr Minifloat ue4m3() {
  return {.has_sign = false, .exponent_bits = 4, .mantissa_bits = 3, .bias = 7, .largest = 0x7e};
}

// 2^exponent, from -126 to 127.
constexpr float power_of_two(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

// The number of a code; NaN for codes above `largest` other than `infinity`.
constexpr float decode(const Minifloat& format, std::uint32_t code) {
  const std::uint32_t size = code & ~format.sign_bit();
  float value = std::numeric_limits<float>::quiet_NaN();
  if (size == format.infinity) value = std::numeric_limits<float>::infinity();
  if (size <= format.largest) {
    const auto exponent = static_cast<int>(size >> format.mantissa_bits);
    const std::uint32_t fraction = size & ((1u << format.mantissa_bits) - 1);
    const std::uint32_t units = exponent == 0 ? fraction : fraction | 1u << format.mantissa_bits;
    const int scale = (exponent == 0 ? 1 : exponent) - format.bias - format.mantissa_bits;
    value = static_cast<float>(units) * power_of_two(scale);
  }
  return (code & format.sign_bit()) != 0 ? -value : value;
}

// The code of the nearest number, ties to even. Values beyond the largest number give `largest`;
// negative ones give 0 in formats without a sign. `value` is no NaN.
constexpr std::uint32_t encode(const Minifloat& format, float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const bool negative = bits >> 31 != 0;
  if (negative && !format.has_sign) return 0;
  const std::uint32_t sign = negative ? format.sign_bit() : 0;
  const float size = negative ? -value : value;
  if (size >= decode(format, format.largest)) return sign | format.largest;
  const int least = 1 - format.bias;
  const int own = static_cast<int>((bits >> 23) & 0xff) - 127;
  const int exponent = own < least ? least : own;
  // Counts in units of the last mantissa bit; adding 1.5 x 2^23 leaves no bits below one.
  constexpr float kWholeNumbers = 0x1.8p23f;
  const float units =
      size * power_of_two(format.mantissa_bits - exponent) + kWholeNumbers - kWholeNumbers;
  // A mantissa rounded up to the next power of two carries into the exponent.
  return sign | ((static_cast<std::uint32_t>(exponent - least) << format.mantissa_bits) +
                 static_cast<std::uint32_t>(units));
}

// Scales of MX formats, UE8M0, have only an exponent: code c is 2^(c - 127), 255 is NaN.
inline constexpr std::uint32_t kUe8m0Nan = 255;
constexpr float decode_ue8m0(std::uint32_t code) {
  if (code == kUe8m0Nan) return std::numeric_limits<float>::quiet_NaN();
  return code == 0 ? 0x1p-127f : power_of_two(static_cast<int>(code) - 127);
}
// The code of the smallest power of two >= `value`, within the format's range.
constexpr std::uint32_t encode_ue8m0(float value) {
  if (!(value > 0x1p-127f)) return 0;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t up = (bits >> 23) + ((bits & 0x7fffff) != 0 ? 1 : 0);
  return up > 254 ? 254 : up;
}

// Scales of a matrix whose rows run along k, in tiles of 128 rows x 4 scales (512 bytes); tiles of
// the same rows are contiguous. A tile has 32 lines of 16 bytes; line l holds the scales of its
// rows l, 32 + l, 64 + l and 96 + l.
inline constexpr std::int64_t kScaleTileRows = 128, kScaleTileColumns = 4;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}
// Bytes of the scales of `rows` rows of `blocks` blocks each, padded to whole tiles.
constexpr std::int64_t scale_bytes(std::int64_t rows, std::int64_t blocks) {
  return round_up(rows, kScaleTileRows) * round_up(blocks, kScaleTileColumns);
}
// Offset of the scale of a row's block, with `blocks` in each row.
constexpr std::int64_t scale_offset(std::int64_t row, std::int64_t block, std::int64_t blocks) {
  const std::int64_t tiles = round_up(blocks, kScaleTileColumns) / kScaleTileColumns;
  const std::int64_t tile = row / kScaleTileRows * tiles + block / kScaleTileColumns;
  return tile * kScaleTileRows * kScaleTileColumns + row % 32 * 16 + row % kScaleTileRows / 32 * 4 +
         block % kScaleTileColumns;
}

// A block format: its elements and the scale that each block shares.
enum class ScaleType { kUe4m3, kUe8m0, kFp32 };
struct BlockFormat {
  Minifloat element;
  ScaleType scale_type = ScaleType::kUe4m3;
  int block = 0;  // elements along k; 0: all of a line
  int lines = 1;  // that share a scale
  int element_bits = 8;

  // The value of a scale of one byte.
  constexpr float scale(std::uint32_t code) const {
    return scale_type == ScaleType::kUe8m0 ? decode_ue8m0(code) : decode(ue4m3(), code);
  }
  // Standard deviation of normal data; E2M1, which ends at 6, uses more of its range.
  constexpr float deviation() const { return element_bits == 4 ? 2.0F : 1.0F; }
  constexpr std::int64_t blocks(std::int64_t k) const {
    return block == 0 ? 1 : (k + block - 1) / block;
  }
  // Code of element i of packed elements; of two in a byte the first is in the lower half.
  constexpr std::uint32_t code(const std::uint8_t* packed, std::int64_t i) const {
    return element_bits == 8 ? packed[i] : (packed[i / 2] >> (i % 2 * 4)) & 0xf;
  }
};
inline constexpr BlockFormat kNvfp4{
    .element = kE2m1, .scale_type = ScaleType::kUe4m3, .block = 16, .element_bits = 4};
inline constexpr BlockFormat kMxfp8{
    .element = kE4m3, .scale_type = ScaleType::kUe8m0, .block = 32, .element_bits = 8};
inline constexpr BlockFormat kMxfp8E5m2{
    .element = kE5m2, .scale_type = ScaleType::kUe8m0, .block = 32, .element_bits = 8};
// FP32 scales, as models use them on Hopper: one a line, one for each 128 elements of a line
// (activations), or one for each square of 128 x 128 (weights).
inline constexpr BlockFormat kFp8Lines{.element = kE4m3, .scale_type = ScaleType::kFp32};
inline constexpr BlockFormat kFp8Line128{
    .element = kE4m3, .scale_type = ScaleType::kFp32, .block = 128};
inline constexpr BlockFormat kFp8Square128{
    .element = kE4m3, .scale_type = ScaleType::kFp32, .block = 128, .lines = 128};

// Index of the FP32 scale of a line's block, as cuBLASLt has them: scales of squares run along k,
// padded to whole vectors of four; the others run along the `lines` of the matrix.
constexpr std::int64_t fp32_scale_index(const BlockFormat& format, std::int64_t line,
                                        std::int64_t block, std::int64_t lines, std::int64_t k) {
  return format.lines > 1 ? line / format.lines * round_up(format.blocks(k), 4) + block
                          : block * lines + line;
}

// A packed matrix whose rows run along k. Scales of one byte have the layout of scale_offset(),
// those of FP32 that of fp32_scale_index().
struct BlockMatrix {
  const std::uint8_t* elements;
  const std::uint8_t* scales;
  BlockFormat format;
  std::int64_t k;
  std::int64_t lines = 0;  // needed for FP32 scales

  constexpr double at(std::int64_t line, std::int64_t l) const {
    const std::int64_t block = format.block == 0 ? 0 : l / format.block;
    const float element = decode(format.element, format.code(elements, line * k + l));
    return static_cast<double>(element) * scale(line, block);
  }
  constexpr float scale(std::int64_t line, std::int64_t block) const {
    if (format.scale_type != ScaleType::kFp32)
      return format.scale(scales[scale_offset(line, block, format.blocks(k))]);
    const std::uint8_t* at = scales + 4 * fp32_scale_index(format, line, block, lines, k);
    return std::bit_cast<float>(at[0] | at[1] << 8 | at[2] << 16 |
                                static_cast<std::uint32_t>(at[3]) << 24);
  }
};

}  // namespace peakline::kernels
