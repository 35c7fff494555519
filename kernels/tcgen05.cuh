#pragma once

// Products on the matrix units of 10.0, 10.3 and 11.0: tcgen05.mma, by one SM or by two that share
// B, operands in shared memory, sums in tensor memory. No global traffic inside the loop. PTX ISA
// 9.0, "TensorCore 5th Generation Family Instructions".

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "kernels/number_formats.cuh"
#include "kernels/tcgen05_descriptors.cuh"
#include "kernels/wgmma.cuh"

namespace peakline::kernels {

namespace tcgen05 {

// Whether devices of a compute capability (times ten) have the instruction.
constexpr bool exists(int version) { return version == 100 || version == 103 || version == 110; }

// kKind: the instruction's kind, with the size of scaled blocks. describe(): its descriptor.
struct Unscaled {
  static constexpr int kStepBytes = 32;
  static constexpr bool kLongStep = false;  // 48 bytes, which may span two rows
  static constexpr int kScalesPerStep = 0;
  static constexpr bool exists(int version) { return tcgen05::exists(version); }
};
struct Fp16 : Unscaled {
  using Input = __half;
  using Output = float;
  static constexpr char kKind[] = "kind::f16";
  static constexpr std::uint32_t describe(int m, int n, int) {
    return instruction(Element::kFp16, Sum::kFp32, m, n);
  }
};
struct Bf16 : Unscaled {
  using Input = __nv_bfloat16;
  using Output = float;
  static constexpr char kKind[] = "kind::f16";
  static constexpr std::uint32_t describe(int m, int n, int) {
    return instruction(Element::kBf16, Sum::kFp32, m, n);
  }
};
struct Tf32 : Unscaled {
  using Input = float;  // the unit uses the upper 19 bits
  using Output = float;
  static constexpr char kKind[] = "kind::tf32";
  static constexpr std::uint32_t describe(int m, int n, int) {
    return instruction(Element::kTf32, Sum::kFp32, m, n);
  }
};
struct Fp8 : Unscaled {
  using Input = __nv_fp8_e4m3;
  using Output = float;
  static constexpr char kKind[] = "kind::f8f6f4";
  static constexpr std::uint32_t describe(int m, int n, int) {
    return instruction(Element::kE4m3, Sum::kFp32, m, n);
  }
};
struct Int8 : Unscaled {
  using Input = std::int8_t;
  using Output = std::int32_t;
  static constexpr bool exists(int version) { return version == 100 || version == 110; }
  static constexpr char kKind[] = "kind::i8";
  static constexpr std::uint32_t describe(int m, int n, int) {
    return instruction(Element::kInt8, Sum::kInt32, m, n);
  }
};

// Blocks along K share a scale. `byte`: byte of a step's first scale in its word.
template <const BlockFormat& kBlockFormat, Element kElement>
struct Scaled : Unscaled {
  using Output = float;
  static constexpr const BlockFormat& kFormat = kBlockFormat;
  static constexpr int kScalesPerStep =
      Unscaled::kStepBytes * 8 / kBlockFormat.element_bits / kBlockFormat.block;
  static constexpr std::uint32_t describe(int m, int n, int byte) {
    const auto scale = kBlockFormat.scale_is_power_of_two ? ScaleType::kUe8m0 : ScaleType::kUe4m3;
    return scaled_instruction(kElement, scale, m, n, static_cast<std::uint32_t>(byte),
                              static_cast<std::uint32_t>(byte));
  }
};
struct Mxfp8 : Scaled<kMxfp8, Element::kE4m3> {
  static constexpr char kKind[] = "kind::mxf8f6f4.block_scale.block32";
};
struct Mxfp4 : Scaled<kMxfp4, Element::kE2m1> {
  static constexpr char kKind[] = "kind::mxf4.block_scale.block32";
};
struct Nvfp4 : Scaled<kNvfp4, Element::kE2m1> {
  static constexpr char kKind[] = "kind::mxf4nvf4.block_scale.block16";
};
// 10.3 also takes 96 elements at a time: 48 bytes, two steps per swizzled row (the rest is unused),
// and six scales, which continue into the next word. Steps as in CUTLASS
// (sm103_blockscaled_mma_warpspecialized.hpp).
struct Nvfp4K96 : Nvfp4 {
  static constexpr bool exists(int version) { return version == 103; }
  static constexpr bool kLongStep = true;
  static constexpr int kStepBytes = 48, kScalesPerStep = 6;
  static constexpr std::uint32_t describe(int m, int n, int byte) {
    const auto first = static_cast<std::uint32_t>(byte);
    return scaled_instruction(Element::kE2m1, ScaleType::kUe4m3, m, n, first, first, true);
  }
};

}  // namespace tcgen05

// The tile of one SM, of the widest instruction: C (kM x kN, row-major) += A (kM x kK, row-major) x
// B (kK x kN, column-major). A row of A or column of B is kRowWords words, of which kK elements
// count. A tile's scales follow its elements: kScaleWords per row or column, a byte per block.
template <class F>
struct Tcgen05Tile {
  using Format = F;
  using Word = std::uint32_t;
  static constexpr int kM = 128, kN = 256;
  static constexpr int kRowBytes = 128;  // along K: one swizzled row
  static constexpr int kSteps = kRowBytes / F::kStepBytes;
  static constexpr int kRowWords = kRowBytes / static_cast<int>(sizeof(Word));
  static constexpr int kScaleWords = (kSteps * F::kScalesPerStep + 3) / 4;
  static constexpr int kK = [] {
    if constexpr (F::kScalesPerStep > 0)
      return kSteps * F::kStepBytes * 8 / F::kFormat.element_bits;
    else
      return kRowBytes / static_cast<int>(sizeof(typename F::Input));
  }();
  static constexpr int kThreads = 128;
  static constexpr int kPerBlock = 1;
  // Additions of A x B per trip.
  static constexpr int kPasses = 4;
  // Columns of 128 words: all of tensor memory; the sums take half, and sizes are powers of two.
  static constexpr int kColumns = 512;
  // A and B, and up to 1024 bytes for their alignment.
  static constexpr int kSharedBytes = 1024 + (kM + kN) * kRowBytes;
};

namespace tcgen05 {

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// Tensor memory at `sums` += A x B, asynchronously; called by one thread, also of a pair of SMs.
template <class F, int kSms>
__device__ inline void multiply_add(std::uint32_t sums, std::uint64_t a, std::uint64_t b,
                                    std::uint32_t instruction, std::uint32_t a_scales,
                                    std::uint32_t b_scales) {
  if constexpr (F::kScalesPerStep > 0)
    asm volatile(
        "{\n.reg .pred add;\nsetp.eq.u32 add, 1, 1;\n"
        "tcgen05.mma.cta_group::%6.%7 [%0], %1, %2, %3, [%4], [%5], add;\n}\n" ::"r"(sums),
        "l"(a), "l"(b), "r"(instruction), "r"(a_scales), "r"(b_scales), "n"(kSms), "C"(F::kKind)
        : "memory");
  else
    asm volatile(
        "{\n.reg .pred add;\nsetp.eq.u32 add, 1, 1;\n"
        "tcgen05.mma.cta_group::%4.%5 [%0], %1, %2, %3, add;\n}\n" ::"r"(sums),
        "l"(a), "l"(b), "r"(instruction), "n"(kSms), "C"(F::kKind)
        : "memory");
}

// Allocates all columns of the SM's tensor memory and stores their address. Called by one warp of
// the block, and of the other block of a pair at the same time.
template <int kSms>
__device__ inline void allocate(const std::uint32_t* address, int columns) {
  asm volatile("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(
                   shared_address(address)),
               "r"(columns), "n"(kSms)
               : "memory");
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::%0.sync.aligned;" ::"n"(kSms));
}
template <int kSms>
__device__ inline void release(std::uint32_t memory, int columns) {
  asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(memory), "r"(columns),
               "n"(kSms));
}

// A word of each thread into the warp's 32 lanes of a column.
__device__ inline void store(std::uint32_t column, std::uint32_t word) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(column), "r"(word));
}
__device__ inline void wait_for_stores() {
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}
// Eight columns from `column` on.
__device__ inline void load(std::uint32_t (&words)[8], std::uint32_t column) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]), "=r"(words[4]),
                 "=r"(words[5]), "=r"(words[6]), "=r"(words[7])
               : "r"(column));
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}

// The barrier, and that of a pair's other block, arrives when this thread's products are done.
template <int kSms>
__device__ inline void arrive_when_done(const std::uint64_t* barrier) {
  if constexpr (kSms == 1) {
    asm volatile(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
            shared_address(barrier))
        : "memory");
  } else {
    constexpr std::uint16_t kBoth = 0b11;
    asm volatile(
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
        "[%0], %1;" ::"r"(shared_address(barrier)),
        "h"(kBoth)
        : "memory");
  }
}
__device__ inline void wait(const std::uint64_t* barrier) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
      "@!done bra again;\n}\n" ::"r"(shared_address(barrier))
      : "memory");
}

// All threads of the block or, for a pair, of both blocks.
template <int kSms>
__device__ inline void meet() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  if constexpr (kSms == 1)
    __syncthreads();
  else
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

// Loads the scales of `rows` rows into tensor memory. In the 32 lanes of each warp, a column holds
// one word of each of 32 rows; each word takes rows / 32 contiguous columns.
template <class Tile>
__device__ inline void load_scales(std::uint32_t first_column, const std::uint32_t* scales,
                                   int rows) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int word = 0; word < Tile::kScaleWords; ++word)
    for (int part = 0; part < rows / 32; ++part)
      store(first_column + static_cast<std::uint32_t>(word * rows / 32 + part),
            scales[(part * 32 + lane) * Tile::kScaleWords + word]);
}

template <class F>
__device__ inline std::uint64_t describe_matrix(const uint4* matrix) {
  const std::uint32_t address = shared_address(matrix);
  return F::kLongStep ? swizzled_matrix_for_long_steps(address) : swizzled_matrix(address);
}

// Whether this is compiled for a target that supports the format.
template <class F>
__device__ constexpr bool compiled() {
#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL) || \
    defined(__CUDA_ARCH_FEAT_SM110_ALL)
  return F::exists(__CUDA_ARCH__ / 10);
#else
  return false;
#endif
}

// The work of one block; kSms = 2: of one of a pair, which share B: each has half of B's columns in
// its shared memory, and computes all of its own rows.
template <class F, int kSms>
__device__ inline void add_products(const std::uint32_t* a, const std::uint32_t* b,
                                    std::uint32_t* d, int trips) {
  using Tile = Tcgen05Tile<F>;
  constexpr int kVectors = Tile::kRowBytes / static_cast<int>(sizeof(uint4));  // per row
  constexpr int kOwnN = Tile::kN / kSms;
  const unsigned warp = threadIdx.x / 32;
  const unsigned rank = kSms == 1 ? 0 : blockIdx.x % kSms;

  extern __shared__ std::uint8_t shared[];
  __shared__ std::uint32_t tensor_memory;
  __shared__ std::uint64_t barrier;
  auto* const a_rows =
      reinterpret_cast<uint4*>(shared + (1024 - shared_address(shared) % 1024) % 1024);
  uint4* const b_columns = a_rows + Tile::kM * kVectors;
  constexpr int kTileWordsOfA = Tile::kM * (Tile::kRowWords + Tile::kScaleWords);
  constexpr int kTileWordsOfB = Tile::kN * (Tile::kRowWords + Tile::kScaleWords);
  a += blockIdx.y * kTileWordsOfA;
  b += blockIdx.y * kTileWordsOfB;
  wgmma::load_swizzled(a_rows, reinterpret_cast<const uint4*>(a), Tile::kM);
  wgmma::load_swizzled(b_columns, reinterpret_cast<const uint4*>(b) + rank * kOwnN * kVectors,
                       kOwnN);
  // tcgen05.mma reads shared memory through the async proxy; the stores used the generic one.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (warp == 0) allocate<kSms>(&tensor_memory, Tile::kColumns);
  meet<kSms>();

  // Sums, then the scales of A and of B. The upper half of an address selects a warp's 32 lanes.
  const std::uint32_t sums = tensor_memory, own_lanes = sums + (warp * 32 << 16);
  constexpr std::uint32_t kAScales = Tile::kN;
  constexpr std::uint32_t kBScales = kAScales + Tile::kScaleWords * Tile::kM / 32;
  static_assert(kBScales + Tile::kScaleWords * Tile::kN / 32 <= Tile::kColumns);
  for (std::uint32_t column = 0; column < Tile::kN; ++column) store(own_lanes + column, 0);
  load_scales<Tile>(own_lanes + kAScales, a + Tile::kM * Tile::kRowWords, Tile::kM);
  load_scales<Tile>(own_lanes + kBScales, b + Tile::kN * Tile::kRowWords, Tile::kN);
  wait_for_stores();
  meet<kSms>();

  if (threadIdx.x == 0 && rank == 0) {
    const std::uint64_t a_matrix = describe_matrix<F>(a_rows);
    const std::uint64_t b_matrix = describe_matrix<F>(b_columns);
    constexpr std::uint64_t kStep = F::kStepBytes / 16;
#pragma unroll 1
    for (int trip = 0; trip < trips; ++trip)
#pragma unroll
      for (int pass = 0; pass < Tile::kPasses; ++pass)
#pragma unroll
        for (int step = 0; step < Tile::kSteps; ++step) {
          const int scale = step * F::kScalesPerStep;
          multiply_add<F, kSms>(sums, a_matrix + step * kStep, b_matrix + step * kStep,
                                F::describe(kSms * Tile::kM, Tile::kN, scale % 4),
                                sums + kAScales + scale / 4 * Tile::kM / 32,
                                sums + kBScales + scale / 4 * Tile::kN / 32);
        }
    arrive_when_done<kSms>(&barrier);
  }
  wait(&barrier);
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");

  d += (static_cast<std::size_t>(blockIdx.x) * gridDim.y + blockIdx.y) * Tile::kM * Tile::kN +
       threadIdx.x * Tile::kN;
  for (std::uint32_t column = 0; column < Tile::kN; column += 8) {
    std::uint32_t words[8];
    load(words, own_lanes + column);
    auto* const row = reinterpret_cast<uint4*>(d + column);
    row[0] = make_uint4(words[0], words[1], words[2], words[3]);
    row[1] = make_uint4(words[4], words[5], words[6], words[7]);
  }
  meet<kSms>();
  if (warp == 0) release<kSms>(tensor_memory, Tile::kColumns);
}

}  // namespace tcgen05

// Every block adds A x B of its tile to zeros trips x kPasses times; tcgen05_pairs: clusters of two
// blocks. Block y of an SM has tile y of a and b; results are in d by blockIdx.x, then by y. FLOPs:
// 2 kM kN kK kPasses x trips per block; bytes: its tile of a, b and d, once. Launch <<<(SMs, blocks
// per SM), kThreads, kSharedBytes>>>; fails if not compiled for sm_100a, sm_103a or sm_110a.
template <class F>
__global__ void __launch_bounds__(Tcgen05Tile<F>::kThreads)
    tcgen05_chains(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* d, int trips) {
#ifdef __CUDA_ARCH__
  if constexpr (tcgen05::compiled<F>())
    tcgen05::add_products<F, 1>(a, b, d, trips);
  else
    __trap();
#endif
}
template <class F>
__global__ void __launch_bounds__(Tcgen05Tile<F>::kThreads)
    tcgen05_pairs(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* d, int trips) {
#ifdef __CUDA_ARCH__
  if constexpr (tcgen05::compiled<F>())
    tcgen05::add_products<F, 2>(a, b, d, trips);
  else
    __trap();
#endif
}

}  // namespace peakline::kernels
