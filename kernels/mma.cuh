#pragma once

// Products of one warp on the matrix units, operands in registers: mma.sync. No global traffic
// except the loads before the loop and the stores after it.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <type_traits>

namespace peakline::kernels {

// exists(): whether devices of a compute capability (times ten) support the format. kInstruction:
// shape, layouts and types; kPiece: the smaller instruction for devices without the large one.
namespace mma_sync {
struct Fp16 {
  using Input = __half;
  using Output = float;
  __host__ __device__ static constexpr bool exists(int version) { return version >= 75; }
  static constexpr char kInstruction[] = "m16n8k16.row.col.f32.f16.f16.f32";
  static constexpr char kPiece[] = "m16n8k8.row.col.f32.f16.f16.f32";
};
struct Fp16Acc16 {
  using Input = __half;
  using Output = __half;
  __host__ __device__ static constexpr bool exists(int version) { return version >= 75; }
  static constexpr char kInstruction[] = "m16n8k16.row.col.f16.f16.f16.f16";
  static constexpr char kPiece[] = "m16n8k8.row.col.f16.f16.f16.f16";
};
struct Bf16 {
  using Input = __nv_bfloat16;
  using Output = float;
  __host__ __device__ static constexpr bool exists(int version) { return version >= 80; }
  static constexpr char kInstruction[] = "m16n8k16.row.col.f32.bf16.bf16.f32";
};
struct Tf32 {
  using Input = float;  // the unit uses the upper 19 bits
  using Output = float;
  __host__ __device__ static constexpr bool exists(int version) { return version >= 80; }
  static constexpr char kInstruction[] = "m16n8k8.row.col.f32.tf32.tf32.f32";
};
struct Fp64 {
  using Input = double;
  using Output = double;
  __host__ __device__ static constexpr bool exists(int version) { return version >= 80; }
  static constexpr char kInstruction[] = "m16n8k16.row.col.f64.f64.f64.f64";  // from 9.0 on
  static constexpr char kPiece[] = "m8n8k4.row.col.f64.f64.f64.f64";
};
struct Int8 {
  using Input = std::int8_t;
  using Output = std::int32_t;
  __host__ __device__ static constexpr bool exists(int version) { return version >= 75; }
  static constexpr char kInstruction[] = "m16n8k32.row.col.s32.s8.s8.s32";
  static constexpr char kPiece[] = "m8n8k16.row.col.s32.s8.s8.s32";
};
struct Fp8 {
  using Input = __nv_fp8_e4m3;
  using Output = float;
  // Elsewhere the compiler emulates it with conversions, FP16 products from zero, and additions,
  // and hoists the invariant parts out of the loop.
  __host__ __device__ static constexpr bool exists(int version) {
    return version == 89 || version >= 120;
  }
  static constexpr char kInstruction[] = "m16n8k32.row.col.f32.e4m3.e4m3.f32";
};
}  // namespace mma_sync

// The tile of one warp: C (kM x kN, row-major) += A (kM x kK, row-major) x B (kK x kN,
// column-major), as fragments of 16 x 8. FP64 needs more registers, so its tile is smaller.
template <class F>
struct MmaTile {
  using Format = F;
  static constexpr bool kFp64 = std::is_same_v<F, mma_sync::Fp64>;
  using Word = std::conditional_t<kFp64, double, std::uint32_t>;  // one register; FP64: two
  static constexpr int kRowFragments = kFp64 ? 1 : 2, kColumnFragments = 4;
  static constexpr int kM = 16 * kRowFragments, kN = 8 * kColumnFragments;
  // Steps along K, each with its own operands: equal ones would toggle fewer bits.
  static constexpr int kSteps = 2;
  static constexpr int kAWords = kFp64 ? 8 : 4, kBWords = kAWords / 2;  // per thread
  static constexpr int kCWords = static_cast<int>(4 * sizeof(typename F::Output) / sizeof(Word));
  static constexpr int kStepWords = 2 * kAWords;  // along K
  static constexpr int kK =
      static_cast<int>(kSteps * kStepWords * sizeof(Word) / sizeof(typename F::Input));
  static constexpr int kThreads = 128;
  static constexpr int kPerBlock = kThreads / 32;
  // Additions of A x B per trip, so that the loop is < 1 % of the instructions.
  static constexpr int kPasses = 2;
};

namespace mma_sync {

// c += a x b by one warp. Words of a thread: a[i] is in row lane / 4 + 8 (i % 2) at word lane % 4 +
// 4 (i / 2) of its 16 (FP64) or 8 words along K; b[i] in column lane / 4 at word lane % 4 + 4 i; c
// in row lane / 4 (first half) or + 8 (second), columns 2 (lane % 4) and the next (PTX ISA, "Matrix
// Fragments for mma").
template <class F>
__device__ inline void multiply_add(std::uint32_t (&c)[4], const std::uint32_t (&a)[4],
                                    const std::uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.%10 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "C"(F::kInstruction));
#else
  for (int half = 0; half < 2; ++half) {
    if constexpr (std::is_same_v<F, Int8>) {
      for (int k = 0; k < 2; ++k)
        asm volatile("mma.sync.aligned.%4 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+r"(c[2 * half]), "+r"(c[2 * half + 1])
                     : "r"(a[half + 2 * k]), "r"(b[k]), "C"(F::kPiece));
    } else {
      asm volatile("mma.sync.aligned.%7 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                   : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                   : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(b[half]), "C"(F::kPiece));
    }
  }
#endif
}

template <class F>
__device__ inline void multiply_add(std::uint32_t (&c)[2], const std::uint32_t (&a)[4],
                                    const std::uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.%8 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
               : "+r"(c[0]), "+r"(c[1])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),
                 "C"(F::kInstruction));
#else
  for (int half = 0; half < 2; ++half)
    asm volatile("mma.sync.aligned.%5 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                 : "+r"(c[0]), "+r"(c[1])
                 : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(b[half]), "C"(F::kPiece));
#endif
}

template <class F>
__device__ inline void multiply_add(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.%16 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
      "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
        "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]), "C"(F::kInstruction));
#else
  for (int k = 0; k < 4; ++k)
    for (int half = 0; half < 2; ++half)
      asm volatile("mma.sync.aligned.%4 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
                   : "d"(a[2 * k + half]), "d"(b[k]), "C"(F::kPiece));
#endif
}

}  // namespace mma_sync

// Every warp adds A x B of its tile to zeros trips x kPasses times. Warp w of an SM's blocks
// (blockIdx.y, then the warp in the block) has tile w of a and b, so that no two warps feed the
// units the same values; results are in d by blockIdx.x, then by w. FLOPs: 2 kM kN kK kPasses x
// trips per warp; bytes: its tile of a, b and d, once. Launch <<<(SMs, blocks per SM), kThreads>>>;
// fails on devices without the instruction.
template <class F>
__global__ void __launch_bounds__(MmaTile<F>::kThreads)
    mma_chains(const typename MmaTile<F>::Word* a, const typename MmaTile<F>::Word* b,
               typename MmaTile<F>::Word* d, int trips) {
#ifdef __CUDA_ARCH__
  if constexpr (!F::exists(__CUDA_ARCH__ / 10)) {
    __trap();
  } else {
    using Tile = MmaTile<F>;
    constexpr int kRowWords = Tile::kSteps * Tile::kStepWords;  // of A, and of a column of B
    const unsigned lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4;
    const unsigned tile = blockIdx.y * Tile::kPerBlock + threadIdx.x / 32;
    a += tile * Tile::kM * kRowWords;
    b += tile * Tile::kN * kRowWords;

    typename Tile::Word a_words[Tile::kSteps][Tile::kRowFragments][Tile::kAWords];
    typename Tile::Word b_words[Tile::kSteps][Tile::kColumnFragments][Tile::kBWords];
    typename Tile::Word c[Tile::kRowFragments][Tile::kColumnFragments][Tile::kCWords] = {};
#pragma unroll
    for (int step = 0; step < Tile::kSteps; ++step) {
#pragma unroll
      for (int f = 0; f < Tile::kRowFragments; ++f)
#pragma unroll
        for (int i = 0; i < Tile::kAWords; ++i)
          a_words[step][f][i] = a[(f * 16 + group + 8 * (i % 2)) * kRowWords +
                                  step * Tile::kStepWords + in_group + 4 * (i / 2)];
#pragma unroll
      for (int f = 0; f < Tile::kColumnFragments; ++f)
#pragma unroll
        for (int i = 0; i < Tile::kBWords; ++i)
          b_words[step][f][i] =
              b[(f * 8 + group) * kRowWords + step * Tile::kStepWords + in_group + 4 * i];
    }

#pragma unroll 1
    for (int trip = 0; trip < trips; ++trip) {
#pragma unroll
      for (int pass = 0; pass < Tile::kPasses; ++pass)
#pragma unroll
        for (int step = 0; step < Tile::kSteps; ++step)
#pragma unroll
          for (int row = 0; row < Tile::kRowFragments; ++row)
#pragma unroll
            for (int column = 0; column < Tile::kColumnFragments; ++column)
              mma_sync::multiply_add<F>(c[row][column], a_words[step][row], b_words[step][column]);
    }

    constexpr int kPairWords = Tile::kCWords / 2;  // two neighbouring columns of one row
    d += (static_cast<std::size_t>(blockIdx.x) * gridDim.y * Tile::kPerBlock + tile) * Tile::kM *
         (Tile::kN / 2) * kPairWords;
#pragma unroll
    for (int row = 0; row < Tile::kRowFragments; ++row)
#pragma unroll
      for (int column = 0; column < Tile::kColumnFragments; ++column)
#pragma unroll
        for (int i = 0; i < Tile::kCWords; ++i)
          d[((row * 16 + group + 8 * (i / kPairWords)) * (Tile::kN / 2) + column * 4 + in_group) *
                kPairWords +
            i % kPairWords] = c[row][column][i];
  }
#endif
}

}  // namespace peakline::kernels
