#pragma once

// Descriptors of tcgen05.mma: PTX ISA 9.0, "Tcgen05 Instruction Descriptor" and "Tcgen05 Shared
// Memory Descriptor". Plain C++, so that tests need no GPU. Dense, nothing negated, K contiguous.

#include <cstdint>

namespace peakline::kernels::tcgen05 {

// Codes of the element types of A and B, by the kind of the instruction.
enum class Element : std::uint32_t {
  kFp16 = 0,  // kind::f16
  kBf16 = 1,  // kind::f16
  kTf32 = 2,  // kind::tf32
  kE4m3 = 0,  // kind::f8f6f4, kind::mxf8f6f4
  kE5m2 = 1,  // kind::f8f6f4, kind::mxf8f6f4
  kInt8 = 1,  // kind::i8
  kE2m1 = 1,  // kind::mxf4, kind::mxf4nvf4
};
enum class Sum : std::uint32_t { kFp16 = 0, kFp32 = 1, kInt32 = 2 };
enum class ScaleType : std::uint32_t { kUe4m3 = 0, kUe8m0 = 1 };

// m and n of the instruction, over all SMs that share it; m 64, 128 or 256, n a multiple of 8.
constexpr std::uint32_t shape_bits(int m, int n) {
  return static_cast<std::uint32_t>(n / 8) << 17 | static_cast<std::uint32_t>(m / 16) << 24;
}

// Kinds without scales: f16, tf32, f8f6f4, i8.
constexpr std::uint32_t instruction(Element element, Sum sum, int m, int n) {
  const auto code = static_cast<std::uint32_t>(element);
  return static_cast<std::uint32_t>(sum) << 4 | code << 7 | code << 10 | shape_bits(m, n);
}

// Kinds with scales; sums are FP32. a_byte, b_byte: byte, in a word of tensor memory, of the first
// scale of A's rows and B's columns: 0 if a step along K takes four scales; 0 or 2 with two or six;
// 0 to 3 with one. k96: an FP4 step of 96 elements instead of 64.
constexpr std::uint32_t scaled_instruction(Element element, ScaleType scale, int m, int n,
                                           std::uint32_t a_byte, std::uint32_t b_byte,
                                           bool k96 = false) {
  const auto code = static_cast<std::uint32_t>(element);
  return b_byte << 4 | code << 7 | code << 10 | static_cast<std::uint32_t>(scale) << 23 |
         a_byte << 29 | static_cast<std::uint32_t>(k96) << 31 | shape_bits(m, n);
}

// Matrices in shared memory, whose rows run along K.
namespace matrix_bits {
constexpr std::uint64_t in_16_bytes(std::uint32_t bytes) { return (bytes & 0x3ffff) >> 4; }
inline constexpr std::uint64_t kVersion = std::uint64_t{1} << 46;
}  // namespace matrix_bits

// Contiguous rows of 128 bytes; the 16-byte parts of row r are permuted by XOR with r % 8.
// `address`: in shared memory, aligned to 1024 bytes; steps along K add to it.
constexpr std::uint64_t swizzled_matrix(std::uint32_t address) {
  constexpr std::uint32_t kEightRows = 8 * 128;
  constexpr std::uint64_t kSwizzle128 = 2;
  return matrix_bits::in_16_bytes(address) | std::uint64_t{1} << 16 |
         matrix_bits::in_16_bytes(kEightRows) << 32 | matrix_bits::kVersion | kSwizzle128 << 61;
}

// Descriptor for steps of 48 bytes along K, which may end in another matrix: that one's address
// replaces the leading offset (PTX ISA 9.0, "Leading dimension stride: absolute address mode").
// Steps that end in this matrix also name it, as in CUTLASS.
constexpr std::uint64_t swizzled_matrix_for_long_steps(std::uint32_t address) {
  constexpr std::uint64_t kOffset = std::uint64_t{0x3fff} << 16, kAbsolute = std::uint64_t{1} << 52;
  return (swizzled_matrix(address) & ~kOffset) | matrix_bits::in_16_bytes(address) << 16 |
         kAbsolute;
}

}  // namespace peakline::kernels::tcgen05
