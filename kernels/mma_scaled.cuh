#pragma once

// As mma.cuh, for the matrix units of 12.x and block scales: mma.sync with .block_scale.

#include <cstdint>

#include "kernels/number_formats.cuh"

namespace peakline::kernels {

namespace mma_scaled {

// Whether devices of a compute capability (times ten) have the instruction.
constexpr bool exists(int version) { return version == 120 || version == 121; }

struct Common {
  using Output = float;
};
// kInstruction: kind, shape, layouts and types; 32 bytes of elements along K.
struct Mxfp8 : Common {
  static constexpr const BlockFormat& kFormat = kMxfp8;
  static constexpr char kInstruction[] =
      "kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0";
};
struct Mxfp4 : Common {
  static constexpr const BlockFormat& kFormat = kMxfp4;
  static constexpr char kInstruction[] =
      "kind::mxf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0";
};
struct Nvfp4 : Common {
  static constexpr const BlockFormat& kFormat = kNvfp4;
  static constexpr char kInstruction[] =
      "kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3";
};

}  // namespace mma_scaled

// As MmaTile. A row of A or a column of B is kRowWords words of elements. A tile's elements are
// followed by its scales, kScaleWords words per row or column, one byte per block along K.
template <class F>
struct ScaledMmaTile {
  using Format = F;
  using Word = std::uint32_t;
  static constexpr int kRowFragments = 2, kColumnFragments = 4;
  static constexpr int kM = 16 * kRowFragments, kN = 8 * kColumnFragments;
  static constexpr int kSteps = 2, kStepWords = 8, kRowWords = kSteps * kStepWords;
  static constexpr int kK = kRowWords * 32 / F::kFormat.element_bits;
  static constexpr int kScalesPerStep = kK / kSteps / F::kFormat.block;
  static constexpr int kScaleWords = (kSteps * kScalesPerStep + 3) / 4;
  static constexpr int kThreads = 128;
  static constexpr int kPerBlock = kThreads / 32;
  static constexpr int kPasses = 2;
  static constexpr int kSharedBytes = 0;
};

namespace mma_scaled {

// c += a x b by one warp; fragments as in mma_sync. a_scales: of row lane / 4 in even lanes, of the
// row 8 below in odd ones; b_scales: of column lane / 4. kByte: byte of the word with the first
// scale (PTX ISA, "Block Scaling for mma").
template <class F, int kByte>
__device__ inline void multiply_add(std::uint32_t (&c)[4], const std::uint32_t (&a)[4],
                                    const std::uint32_t (&b)[2], std::uint32_t a_scales,
                                    std::uint32_t b_scales) {
  asm volatile(
      "mma.sync.aligned.%12 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, "
      "{%10}, {%13, 0}, {%11}, {%13, 0};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales),
        "r"(b_scales), "C"(F::kInstruction), "n"(kByte));
}

template <class F>
__device__ inline void add_products(const std::uint32_t* a, const std::uint32_t* b,
                                    std::uint32_t* d, int trips) {
  using Tile = ScaledMmaTile<F>;
  const unsigned lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4;
  const unsigned tile = blockIdx.y * Tile::kPerBlock + threadIdx.x / 32;
  a += tile * Tile::kM * (Tile::kRowWords + Tile::kScaleWords);
  b += tile * Tile::kN * (Tile::kRowWords + Tile::kScaleWords);
  const std::uint32_t* const a_scales = a + Tile::kM * Tile::kRowWords;
  const std::uint32_t* const b_scales = b + Tile::kN * Tile::kRowWords;

  std::uint32_t a_words[Tile::kSteps][Tile::kRowFragments][4];
  std::uint32_t b_words[Tile::kSteps][Tile::kColumnFragments][2];
  std::uint32_t a_scale_words[Tile::kScaleWords][Tile::kRowFragments];
  std::uint32_t b_scale_words[Tile::kScaleWords][Tile::kColumnFragments];
  std::uint32_t c[Tile::kRowFragments][Tile::kColumnFragments][4] = {};
#pragma unroll
  for (int step = 0; step < Tile::kSteps; ++step) {
#pragma unroll
    for (int f = 0; f < Tile::kRowFragments; ++f)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        a_words[step][f][i] = a[(f * 16 + group + 8 * (i % 2)) * Tile::kRowWords +
                                step * Tile::kStepWords + in_group + 4 * (i / 2)];
#pragma unroll
    for (int f = 0; f < Tile::kColumnFragments; ++f)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        b_words[step][f][i] =
            b[(f * 8 + group) * Tile::kRowWords + step * Tile::kStepWords + in_group + 4 * i];
  }
#pragma unroll
  for (int word = 0; word < Tile::kScaleWords; ++word) {
#pragma unroll
    for (int f = 0; f < Tile::kRowFragments; ++f)
      a_scale_words[word][f] =
          a_scales[(f * 16 + group + 8 * (lane % 2)) * Tile::kScaleWords + word];
#pragma unroll
    for (int f = 0; f < Tile::kColumnFragments; ++f)
      b_scale_words[word][f] = b_scales[(f * 8 + group) * Tile::kScaleWords + word];
  }

  constexpr int kSecond = Tile::kScalesPerStep;  // scales of the second step
#pragma unroll 1
  for (int trip = 0; trip < trips; ++trip) {
#pragma unroll
    for (int pass = 0; pass < Tile::kPasses; ++pass) {
#pragma unroll
      for (int row = 0; row < Tile::kRowFragments; ++row)
#pragma unroll
        for (int column = 0; column < Tile::kColumnFragments; ++column)
          multiply_add<F, 0>(c[row][column], a_words[0][row], b_words[0][column],
                             a_scale_words[0][row], b_scale_words[0][column]);
#pragma unroll
      for (int row = 0; row < Tile::kRowFragments; ++row)
#pragma unroll
        for (int column = 0; column < Tile::kColumnFragments; ++column)
          multiply_add<F, kSecond % 4>(c[row][column], a_words[1][row], b_words[1][column],
                                       a_scale_words[kSecond / 4][row],
                                       b_scale_words[kSecond / 4][column]);
    }
  }

  d += (static_cast<std::size_t>(blockIdx.x) * gridDim.y * Tile::kPerBlock + tile) * Tile::kM *
       Tile::kN;
#pragma unroll
  for (int row = 0; row < Tile::kRowFragments; ++row)
#pragma unroll
    for (int column = 0; column < Tile::kColumnFragments; ++column)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        d[(row * 16 + group + 8 * (i / 2)) * Tile::kN + column * 8 + in_group * 2 + i % 2] =
            c[row][column][i];
}

}  // namespace mma_scaled

// Every warp adds A x B of its tile to zeros trips x kPasses times, as in mma_chains(); sums in
// FP32. FLOPs: 2 kM kN kK kPasses x trips per warp; bytes: its tile of a, b and d, once. Launch
// <<<(SMs, blocks per SM), kThreads>>>; fails if not compiled for sm_120f, sm_120a or sm_121a.
template <class F>
__global__ void __launch_bounds__(ScaledMmaTile<F>::kThreads)
    mma_scaled_chains(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* d, int trips) {
#if defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && __CUDA_ARCH_FAMILY_SPECIFIC__ / 100 == 12
  mma_scaled::add_products<F>(a, b, d, trips);
#else
  __trap();
#endif
}

}  // namespace peakline::kernels
