#pragma once

// Products of one warpgroup on Hopper's matrix units, operands in shared memory: wgmma. No global
// traffic except the loads before the loop and the stores after it.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

namespace peakline::kernels {

// kInstruction: shape and types; kModifiers: signs and, if there is a choice, layouts of A and B.
namespace wgmma {
// Whether devices of a compute capability (times ten) have the instruction.
constexpr bool exists(int version) { return version == 90; }

struct Fp16 {
  using Input = __half;
  using Output = float;
  static constexpr char kInstruction[] = "m64n256k16.f32.f16.f16";
  static constexpr char kModifiers[] = ", 1, 1, 0, 0";
};
struct Fp16Acc16 {
  using Input = __half;
  using Output = __half;
  static constexpr char kInstruction[] = "m64n256k16.f16.f16.f16";
  static constexpr char kModifiers[] = ", 1, 1, 0, 0";
};
struct Bf16 {
  using Input = __nv_bfloat16;
  using Output = float;
  static constexpr char kInstruction[] = "m64n256k16.f32.bf16.bf16";
  static constexpr char kModifiers[] = ", 1, 1, 0, 0";
};
struct Tf32 {
  using Input = float;  // the unit uses the upper 19 bits
  using Output = float;
  static constexpr char kInstruction[] = "m64n256k8.f32.tf32.tf32";
  static constexpr char kModifiers[] = ", 1, 1";
};
struct Fp8 {
  using Input = __nv_fp8_e4m3;
  using Output = float;
  static constexpr char kInstruction[] = "m64n256k32.f32.e4m3.e4m3";
  static constexpr char kModifiers[] = ", 1, 1";
};
struct Int8 {
  using Input = std::int8_t;
  using Output = std::int32_t;
  static constexpr char kInstruction[] = "m64n256k32.s32.s8.s8";
  static constexpr char kModifiers[] = "";
};
}  // namespace wgmma

// The tile of one warpgroup, of the widest instruction: C (kM x kN, row-major) += A (kM x kK,
// row-major) x B (kK x kN, column-major). With N = 256 it reads (64 + 256) x 32 bytes of shared
// memory in 128 clocks, below an SM's 128 bytes per clock.
template <class F>
struct WgmmaTile {
  using Format = F;
  using Word = std::uint32_t;
  static constexpr int kM = 64, kN = 256;
  static constexpr int kRowBytes = 128;  // along K: one swizzled row
  static constexpr int kStepBytes = 32;  // along K, of one instruction of any format
  static constexpr int kSteps = kRowBytes / kStepBytes;
  static constexpr int kK = static_cast<int>(kRowBytes / sizeof(typename F::Input));
  static constexpr int kCWords =
      static_cast<int>(kM * kN * sizeof(typename F::Output) / sizeof(Word) / 128);
  static constexpr int kThreads = 128;
  static constexpr int kPerBlock = 1;
  // Additions of A x B per trip; a trip is one group of wgmmas.
  static constexpr int kPasses = 4;
};

namespace wgmma {

// Eight rows, the span of the swizzle.
inline constexpr int kSwizzledRows = 8;

// Descriptor of a matrix in shared memory, aligned to 1024 bytes: contiguous rows of 128 bytes, the
// 16-byte parts of row r permuted by XOR with r % 8 (PTX ISA, "Matrix Descriptor Format"). Address
// and distance between groups of eight rows are in units of 16 bytes; the leading offset is unused
// when rows are as long as the swizzle.
__device__ inline std::uint64_t descriptor(const void* matrix) {
  constexpr std::uint64_t kStride = kSwizzledRows * 128 / 16, kLeading = 1, kSwizzle128 = 1;
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(matrix));
  return (address & 0x3ffff) >> 4 | kLeading << 16 | kStride << 32 | kSwizzle128 << 62;
}

// Copies `count` rows of 128 bytes to shared memory, permuted as in descriptor().
__device__ inline void load_swizzled(uint4* matrix, const uint4* rows, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count * 8; i += static_cast<int>(blockDim.x)) {
    const int row = i / 8, part = i % 8;
    matrix[row * 8 + (part ^ row % kSwizzledRows)] = rows[i];
  }
}

// c += a x b by one warpgroup, asynchronously. For every eight columns a thread holds two
// neighbouring elements of row 16 (warp) + lane / 4 and two of the row 8 below, in columns 2 (lane
// % 4) and the next (PTX ISA, "Register Fragments for wgmma.mma_async").
template <class F>
__device__ inline void multiply_add(std::uint32_t (&c)[128], std::uint64_t a, std::uint64_t b) {
  asm volatile(
      "{\n.reg .pred add;\nsetp.eq.u32 add, 1, 1;\nwgmma.mma_async.sync.aligned.%130 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
      "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "
      "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "
      "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, "
      "%66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, "
      "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, "
      "%98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "
      "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, "
      "%124, %125, %126, %127"
      "}, %128, %129, add%131;\n}\n"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]), "+r"(c[4]), "+r"(c[5]), "+r"(c[6]),
        "+r"(c[7]), "+r"(c[8]), "+r"(c[9]), "+r"(c[10]), "+r"(c[11]), "+r"(c[12]), "+r"(c[13]),
        "+r"(c[14]), "+r"(c[15]), "+r"(c[16]), "+r"(c[17]), "+r"(c[18]), "+r"(c[19]), "+r"(c[20]),
        "+r"(c[21]), "+r"(c[22]), "+r"(c[23]), "+r"(c[24]), "+r"(c[25]), "+r"(c[26]), "+r"(c[27]),
        "+r"(c[28]), "+r"(c[29]), "+r"(c[30]), "+r"(c[31]), "+r"(c[32]), "+r"(c[33]), "+r"(c[34]),
        "+r"(c[35]), "+r"(c[36]), "+r"(c[37]), "+r"(c[38]), "+r"(c[39]), "+r"(c[40]), "+r"(c[41]),
        "+r"(c[42]), "+r"(c[43]), "+r"(c[44]), "+r"(c[45]), "+r"(c[46]), "+r"(c[47]), "+r"(c[48]),
        "+r"(c[49]), "+r"(c[50]), "+r"(c[51]), "+r"(c[52]), "+r"(c[53]), "+r"(c[54]), "+r"(c[55]),
        "+r"(c[56]), "+r"(c[57]), "+r"(c[58]), "+r"(c[59]), "+r"(c[60]), "+r"(c[61]), "+r"(c[62]),
        "+r"(c[63]), "+r"(c[64]), "+r"(c[65]), "+r"(c[66]), "+r"(c[67]), "+r"(c[68]), "+r"(c[69]),
        "+r"(c[70]), "+r"(c[71]), "+r"(c[72]), "+r"(c[73]), "+r"(c[74]), "+r"(c[75]), "+r"(c[76]),
        "+r"(c[77]), "+r"(c[78]), "+r"(c[79]), "+r"(c[80]), "+r"(c[81]), "+r"(c[82]), "+r"(c[83]),
        "+r"(c[84]), "+r"(c[85]), "+r"(c[86]), "+r"(c[87]), "+r"(c[88]), "+r"(c[89]), "+r"(c[90]),
        "+r"(c[91]), "+r"(c[92]), "+r"(c[93]), "+r"(c[94]), "+r"(c[95]), "+r"(c[96]), "+r"(c[97]),
        "+r"(c[98]), "+r"(c[99]), "+r"(c[100]), "+r"(c[101]), "+r"(c[102]), "+r"(c[103]),
        "+r"(c[104]), "+r"(c[105]), "+r"(c[106]), "+r"(c[107]), "+r"(c[108]), "+r"(c[109]),
        "+r"(c[110]), "+r"(c[111]), "+r"(c[112]), "+r"(c[113]), "+r"(c[114]), "+r"(c[115]),
        "+r"(c[116]), "+r"(c[117]), "+r"(c[118]), "+r"(c[119]), "+r"(c[120]), "+r"(c[121]),
        "+r"(c[122]), "+r"(c[123]), "+r"(c[124]), "+r"(c[125]), "+r"(c[126]), "+r"(c[127])
      : "l"(a), "l"(b), "C"(F::kInstruction), "C"(F::kModifiers));
}

template <class F>
__device__ inline void multiply_add(std::uint32_t (&c)[64], std::uint64_t a, std::uint64_t b) {
  asm volatile(
      "{\n.reg .pred add;\nsetp.eq.u32 add, 1, 1;\nwgmma.mma_async.sync.aligned.%66 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
      "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "
      "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "
      "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, add%67;\n}\n"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]), "+r"(c[4]), "+r"(c[5]), "+r"(c[6]),
        "+r"(c[7]), "+r"(c[8]), "+r"(c[9]), "+r"(c[10]), "+r"(c[11]), "+r"(c[12]), "+r"(c[13]),
        "+r"(c[14]), "+r"(c[15]), "+r"(c[16]), "+r"(c[17]), "+r"(c[18]), "+r"(c[19]), "+r"(c[20]),
        "+r"(c[21]), "+r"(c[22]), "+r"(c[23]), "+r"(c[24]), "+r"(c[25]), "+r"(c[26]), "+r"(c[27]),
        "+r"(c[28]), "+r"(c[29]), "+r"(c[30]), "+r"(c[31]), "+r"(c[32]), "+r"(c[33]), "+r"(c[34]),
        "+r"(c[35]), "+r"(c[36]), "+r"(c[37]), "+r"(c[38]), "+r"(c[39]), "+r"(c[40]), "+r"(c[41]),
        "+r"(c[42]), "+r"(c[43]), "+r"(c[44]), "+r"(c[45]), "+r"(c[46]), "+r"(c[47]), "+r"(c[48]),
        "+r"(c[49]), "+r"(c[50]), "+r"(c[51]), "+r"(c[52]), "+r"(c[53]), "+r"(c[54]), "+r"(c[55]),
        "+r"(c[56]), "+r"(c[57]), "+r"(c[58]), "+r"(c[59]), "+r"(c[60]), "+r"(c[61]), "+r"(c[62]),
        "+r"(c[63])
      : "l"(a), "l"(b), "C"(F::kInstruction), "C"(F::kModifiers));
}

}  // namespace wgmma

// Every block, one warpgroup, adds A x B of its tile to zeros trips x kPasses times. Block y of an
// SM has tile y of a and b, so that no two blocks feed the units the same values; results are in d
// by blockIdx.x, then by y. FLOPs: 2 kM kN kK kPasses x trips per block; bytes: its tile of a, b
// and d, once. Launch <<<(SMs, blocks per SM), kThreads>>>; fails if not compiled for sm_90a.
template <class F>
__global__ void __launch_bounds__(WgmmaTile<F>::kThreads)
    wgmma_chains(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* d, int trips) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Tile = WgmmaTile<F>;
  constexpr int kRowVectors = Tile::kRowBytes / sizeof(uint4);
  __shared__ __align__(1024) uint4 a_rows[Tile::kM * kRowVectors];
  __shared__ __align__(1024) uint4 b_columns[Tile::kN * kRowVectors];
  wgmma::load_swizzled(
      a_rows, reinterpret_cast<const uint4*>(a) + blockIdx.y * Tile::kM * kRowVectors, Tile::kM);
  wgmma::load_swizzled(
      b_columns, reinterpret_cast<const uint4*>(b) + blockIdx.y * Tile::kN * kRowVectors, Tile::kN);
  // wgmma reads shared memory through the async proxy; the stores used the generic one.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const std::uint64_t a_matrix = wgmma::descriptor(a_rows);
  const std::uint64_t b_matrix = wgmma::descriptor(b_columns);

  std::uint32_t c[Tile::kCWords] = {};
#pragma unroll 1
  for (int trip = 0; trip < trips; ++trip) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int pass = 0; pass < Tile::kPasses; ++pass)
#pragma unroll
      for (int step = 0; step < Tile::kSteps; ++step)
        wgmma::multiply_add<F>(c, a_matrix + step * Tile::kStepBytes / 16,
                               b_matrix + step * Tile::kStepBytes / 16);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    // Wait for all groups but the last, so that the units always have work queued.
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");

  constexpr int kPairWords = Tile::kCWords / (Tile::kN / 8) / 2;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  d += (static_cast<std::size_t>(blockIdx.x) * gridDim.y + blockIdx.y) * Tile::kM * (Tile::kN / 2) *
       kPairWords;
#pragma unroll
  for (int i = 0; i < Tile::kCWords; ++i) {
    const int eight_columns = i / kPairWords / 2, half = i / kPairWords % 2;
    d[((warp * 16 + lane / 4 + 8 * half) * (Tile::kN / 2) + eight_columns * 4 + lane % 4) *
          kPairWords +
      i % kPairWords] = c[i];
  }
#else
  __trap();
#endif
}

}  // namespace peakline::kernels
