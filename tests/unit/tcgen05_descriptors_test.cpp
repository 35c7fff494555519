#include "kernels/tcgen05_descriptors.cuh"

#include <gtest/gtest.h>

#include <cstdint>

namespace peakline::kernels::tcgen05 {
namespace {

// Bits [first, end) of a descriptor, numbered as in the PTX ISA's tables.
std::uint64_t field(std::uint64_t bits, int first, int end) {
  return bits >> first & ((std::uint64_t{1} << (end - first)) - 1);
}

TEST(InstructionDescriptor, HasTheFieldsOfTheKindsWithoutScales) {
  const std::uint32_t bits = instruction(Element::kBf16, Sum::kFp32, 128, 256);
  EXPECT_EQ(field(bits, 0, 2), 0);    // sparsity selector
  EXPECT_EQ(field(bits, 2, 3), 0);    // dense
  EXPECT_EQ(field(bits, 3, 4), 0);    // no saturation
  EXPECT_EQ(field(bits, 4, 6), 1);    // D: FP32
  EXPECT_EQ(field(bits, 7, 10), 1);   // A: BF16
  EXPECT_EQ(field(bits, 10, 13), 1);  // B: BF16
  EXPECT_EQ(field(bits, 13, 17), 0);  // nothing negated or transposed
  EXPECT_EQ(field(bits, 17, 23), 256 / 8);
  EXPECT_EQ(field(bits, 24, 29), 128 / 16);
  EXPECT_EQ(field(bits, 30, 32), 0);  // no shift
  EXPECT_EQ(field(instruction(Element::kTf32, Sum::kFp32, 256, 128), 7, 10), 2);
  EXPECT_EQ(field(instruction(Element::kTf32, Sum::kFp32, 256, 128), 24, 29), 16);
  EXPECT_EQ(field(instruction(Element::kInt8, Sum::kInt32, 128, 256), 4, 6), 2);
  EXPECT_EQ(field(instruction(Element::kInt8, Sum::kInt32, 128, 256), 7, 10), 1);
  EXPECT_EQ(field(instruction(Element::kFp16, Sum::kFp16, 128, 256), 4, 6), 0);
}

TEST(InstructionDescriptor, IsTheNumberThatPublishedKernelsUse) {
  // FP16 x FP16 with FP32 sums, 128 x 256: 1 at bit 4, 32 at bit 17, 8 at bit 24.
  EXPECT_EQ(instruction(Element::kFp16, Sum::kFp32, 128, 256), 0x08400010u);
  EXPECT_EQ(instruction(Element::kBf16, Sum::kFp32, 256, 256), 0x10400490u);
}

TEST(InstructionDescriptor, HasTheFieldsOfTheKindsWithScales) {
  const std::uint32_t bits =
      scaled_instruction(Element::kE2m1, ScaleType::kUe8m0, 256, 256, 2, 3, true);
  EXPECT_EQ(field(bits, 0, 4), 0);
  EXPECT_EQ(field(bits, 4, 6), 3);   // byte of B's scale
  EXPECT_EQ(field(bits, 7, 10), 1);  // E2M1
  EXPECT_EQ(field(bits, 10, 13), 1);
  EXPECT_EQ(field(bits, 13, 17), 0);
  EXPECT_EQ(field(bits, 17, 23), 256 / 8);
  EXPECT_EQ(field(bits, 23, 24), 1);  // UE8M0
  EXPECT_EQ(field(bits, 24, 29), 256 / 16);
  EXPECT_EQ(field(bits, 29, 31), 2);  // byte of A's scale
  EXPECT_EQ(field(bits, 31, 32), 1);  // K = 96
  const std::uint32_t nvfp4 = scaled_instruction(Element::kE2m1, ScaleType::kUe4m3, 128, 256, 0, 0);
  EXPECT_EQ(field(nvfp4, 23, 24), 0);
  EXPECT_EQ(field(nvfp4, 31, 32), 0);
}

TEST(MatrixDescriptor, OfSwizzledRows) {
  const std::uint64_t bits = swizzled_matrix(0x2400);
  EXPECT_EQ(field(bits, 0, 14), 0x240);
  EXPECT_EQ(field(bits, 32, 46), 1024 / 16);  // stride between groups of eight rows
  EXPECT_EQ(field(bits, 46, 49), 1);          // fixed
  EXPECT_EQ(field(bits, 49, 52), 0);          // aligned to the pattern
  EXPECT_EQ(field(bits, 52, 53), 0);
  EXPECT_EQ(field(bits, 53, 61), 0);  // fixed
  EXPECT_EQ(field(bits, 61, 64), 2);  // swizzled by 128 bytes
  // A step of 32 bytes along K adds 2 to the address field only.
  EXPECT_EQ(swizzled_matrix(0x2420), bits + 2);
}

TEST(MatrixDescriptor, OfStepsThatMayEndInAnotherMatrix) {
  const std::uint64_t bits = swizzled_matrix_for_long_steps(0x2400);
  EXPECT_EQ(field(bits, 0, 14), 0x240);
  EXPECT_EQ(field(bits, 16, 30), 0x240);  // the address itself, not an offset
  EXPECT_EQ(field(bits, 52, 53), 1);      // says so
  // All other fields are those of swizzled rows.
  constexpr std::uint64_t kOthers = ~(std::uint64_t{0x3fff} << 16 | std::uint64_t{1} << 52);
  EXPECT_EQ(bits & kOthers, swizzled_matrix(0x2400) & kOthers);
}

}  // namespace
}  // namespace peakline::kernels::tcgen05
