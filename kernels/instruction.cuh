#pragma once

// Chains of single instructions: each step takes the results of the two steps before it.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/clock.cuh"
#include "kernels/warp.cuh"

namespace peakline::kernels {

inline constexpr unsigned kWholeWarp = 0xffffffff;

// step(): x_{n+1} from x_n, x_{n-1} and two operands, uniform but unknown to the compiler, so that
// it cannot fold steps. kSince: first compute capability (times ten).
namespace instruction {

template <class T>
struct Of {
  using Value = T;
  static constexpr int kSince = 75;
  static constexpr int kInstructions = 1;  // per step, one after the other
  // Independent chains per thread when throughput is measured.
  static constexpr int kChains = 8;
  // Convert a start value to what the first step takes, and the last result back.
  static __device__ T enter(T start) { return start; }
  static __device__ T leave(T x) { return x; }
};
using F32 = Of<float>;
using F64 = Of<double>;
using Bits = Of<std::uint32_t>;  // also of packed halves

struct Fp32Add : F32 {
  static __device__ float step(float x, float, float a, float) { return x + a; }
};
struct Fp32Mul : F32 {
  static __device__ float step(float x, float, float a, float) { return x * a; }
};
struct Fp32Fma : F32 {
  static __device__ float step(float x, float, float a, float b) { return fmaf(x, a, b); }
};
struct Fp64Add : F64 {
  static __device__ double step(double x, double, double a, double) { return x + a; }
};
struct Fp64Mul : F64 {
  static __device__ double step(double x, double, double a, double) { return x * a; }
};
struct Fp64Fma : F64 {
  static __device__ double step(double x, double, double a, double b) { return fma(x, a, b); }
};
struct Fp16x2Add : Bits {
  static __device__ std::uint32_t step(std::uint32_t x, std::uint32_t, std::uint32_t a,
                                       std::uint32_t) {
    asm("add.rn.f16x2 %0, %0, %1;" : "+r"(x) : "r"(a));
    return x;
  }
};
struct Fp16x2Mul : Bits {
  static __device__ std::uint32_t step(std::uint32_t x, std::uint32_t, std::uint32_t a,
                                       std::uint32_t) {
    asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(x) : "r"(a));
    return x;
  }
};
struct Fp16x2Fma : Bits {
  static __device__ std::uint32_t step(std::uint32_t x, std::uint32_t, std::uint32_t a,
                                       std::uint32_t b) {
    asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(a), "r"(b));
    return x;
  }
};
struct Int32Add : Bits {
  static __device__ std::uint32_t step(std::uint32_t x, std::uint32_t y, std::uint32_t a,
                                       std::uint32_t) {
    return x + y + a;
  }
};
struct Int32Mad : Bits {
  static __device__ std::uint32_t step(std::uint32_t x, std::uint32_t y, std::uint32_t a,
                                       std::uint32_t) {
    return x * a + y;
  }
};
struct Int32Shift : Bits {
  static __device__ std::uint32_t step(std::uint32_t x, std::uint32_t y, std::uint32_t a,
                                       std::uint32_t) {
    return __funnelshift_l(y, x, a);
  }
};
struct Int32Logic : Bits {
  static __device__ std::uint32_t step(std::uint32_t x, std::uint32_t y, std::uint32_t a,
                                       std::uint32_t) {
    asm("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(x) : "r"(y), "r"(a));
    return x;
  }
};
struct Int32Dot : Bits {
  static __device__ std::uint32_t step(std::uint32_t x, std::uint32_t y, std::uint32_t a,
                                       std::uint32_t) {
    return static_cast<std::uint32_t>(
        __dp4a(static_cast<int>(x), static_cast<int>(a), static_cast<int>(y)));
  }
};

struct Rcp : F32 {  // of -x, or the compiler assumes that every other one undoes the last
  static __device__ float step(float x, float, float, float) {
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(x) : "f"(-x));
    return x;
  }
};
struct Rsqrt : F32 {
  static __device__ float step(float x, float, float, float) {
    asm("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
  }
};
struct Sin : F32 {
  static __device__ float step(float x, float, float, float) {
    asm("sin.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
  }
};
struct Ex2 : F32 {  // of -x, or it would soon be infinite
  static __device__ float step(float x, float, float, float) {
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(x) : "f"(-x));
    return x;
  }
};
struct Lg2 : F32 {  // of |x|, or it would soon be NaN
  static __device__ float step(float x, float, float, float) {
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(x) : "f"(fabsf(x)));
    return x;
  }
};
struct Tanh : F32 {
  static __device__ float step(float x, float, float, float) {
    asm("tanh.approx.f32 %0, %0;" : "+f"(x));
    return x;
  }
};

// Conversions reinterpret the bits of the last result in their source format.
struct Fp16ToFp32 : F32 {
  static __device__ float step(float x, float, float, float) {
    // The upper half; the lower one would be 0 after a few steps.
    asm("{ .reg .b16 low, high; mov.b32 {low, high}, %0; cvt.f32.f16 %0, high; }" : "+f"(x));
    return x;
  }
};
struct Fp32ToFp16x2 : F32 {
  static constexpr int kSince = 80;
  static __device__ float step(float x, float y, float, float) {
    std::uint32_t pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(x), "f"(y));
    return __uint_as_float(pair);
  }
};
struct Fp32ToBf16x2 : F32 {
  static constexpr int kSince = 80;
  static __device__ float step(float x, float y, float, float) {
    std::uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(x), "f"(y));
    return __uint_as_float(pair);
  }
};
struct Fp32ToE4m3x2 : F32 {
  static constexpr int kSince = 89, kInstructions = 2;
  static __device__ float step(float x, float y, float, float) {
    // The second instruction packs its pair next to the first one's.
    asm("{ .reg .b16 low, high; cvt.rn.satfinite.e4m3x2.f32 high, %0, %1;"
        "  cvt.rn.satfinite.e4m3x2.f32 low, %1, %0; mov.b32 %0, {low, high}; }"
        : "+f"(x)
        : "f"(y));
    return x;
  }
};
struct E4m3x2ToFp16x2 : Bits {
  static constexpr int kSince = 89;
  static __device__ std::uint32_t step(std::uint32_t x, std::uint32_t, std::uint32_t,
                                       std::uint32_t) {
    asm("{ .reg .b16 low, high; mov.b32 {low, high}, %0; cvt.rn.f16x2.e4m3x2 %0, low; }" : "+r"(x));
    return x;
  }
};
struct Fp32ToInt32 : F32 {
  static __device__ float step(float x, float, float, float) {
    return __int_as_float(__float2int_rz(x));
  }
};
struct Int32ToFp32 : Bits {
  static __device__ std::uint32_t step(std::uint32_t x, std::uint32_t, std::uint32_t,
                                       std::uint32_t) {
    return __float_as_uint(__int2float_rn(static_cast<int>(x)));
  }
};
struct Fp32ToFp64 : F32 {
  static __device__ float step(float x, float, float, float) {
    return __int_as_float(__double2hiint(static_cast<double>(x)));
  }
};
struct Fp64ToFp32 : F32 {
  static __device__ float step(float x, float, float a, float) {
    // The last result is the lower half; as the upper one it would lose its exponent step by step.
    asm("{ .reg .f64 wide; mov.b64 wide, {%0, %1}; cvt.rn.f32.f64 %0, wide; }" : "+f"(x) : "f"(a));
    return x;
  }
};

struct Shuffle : Bits {  // from the next lane
  static __device__ std::uint32_t step(std::uint32_t x, std::uint32_t, std::uint32_t,
                                       std::uint32_t) {
    return __shfl_sync(kWholeWarp, x, static_cast<int>(threadIdx.x + 1));
  }
};
struct Vote : Bits {                 // whether x is 0 in all lanes, from predicate to predicate
  static constexpr int kSince = 80;  // before, the compiler adds two instructions to each
  static constexpr int kChains = 4;  // a thread has seven predicates
  static __device__ std::uint32_t step(std::uint32_t x, std::uint32_t, std::uint32_t,
                                       std::uint32_t) {
    return __all_sync(kWholeWarp, x == 0) != 0;
  }
};
struct Match : Bits {
  static __device__ std::uint32_t step(std::uint32_t x, std::uint32_t, std::uint32_t,
                                       std::uint32_t) {
    return __match_any_sync(kWholeWarp, x);
  }
};
struct Reduce : Bits {
  static constexpr int kSince = 80;
  static __device__ std::uint32_t step(std::uint32_t x, std::uint32_t, std::uint32_t,
                                       std::uint32_t) {
    asm volatile("redux.sync.add.u32 %0, %0, %1;" : "+r"(x) : "n"(kWholeWarp));
    return x;
  }
};
// Four matrices of 8 x 8 halves. Each lane has a row of 16 bytes in each of two tables; the words
// of either table's first eight rows are the addresses of the lanes' rows in the other. A lane's
// first word is its own address there, so each step goes to the other table.
struct LoadMatrix : Bits {
  static constexpr std::uint32_t kRowBytes = 16, kTableBytes = kWarpLanes * kRowBytes;
  static __device__ std::uint32_t table() {
    __shared__ alignas(2 * kTableBytes) std::uint32_t words[2 * kTableBytes / 4];
    const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(words));
    for (unsigned i = threadIdx.x; i < 2 * kTableBytes / 4; i += blockDim.x) {
      const unsigned other = i < kTableBytes / 4 ? kTableBytes : 0;
      words[i] = base + other + i % kWarpLanes * kRowBytes;
    }
    __syncthreads();
    return base;
  }
  static __device__ std::uint32_t enter(std::uint32_t start) {
    return table() + (start & kTableBytes) + threadIdx.x % kWarpLanes * kRowBytes;
  }
  static __device__ std::uint32_t leave(std::uint32_t x) { return x & kTableBytes; }
  static __device__ std::uint32_t step(std::uint32_t x, std::uint32_t, std::uint32_t,
                                       std::uint32_t) {
    asm volatile(
        "{ .reg .b32 second, third, fourth;"
        "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, second, third, fourth}, [%0]; }"
        : "+r"(x)
        :
        : "memory");
    return x;
  }
};

}  // namespace instruction

#ifdef __CUDA_ARCH__
inline constexpr int kArchitecture = __CUDA_ARCH__ / 10;
#else
inline constexpr int kArchitecture = 0;
#endif

// Steps of a chain per loop iteration, of which the loop's three instructions are 0.3 %.
inline constexpr int kThroughputSteps = 128;
inline constexpr int kLatencySteps = 1024;

// 32 bits that depend on all bits of the value.
template <class T>
__host__ __device__ std::uint32_t bits_of(T x) {
  std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t> bits = 0;
  memcpy(&bits, &x, sizeof(T));
  return static_cast<std::uint32_t>(bits ^ (std::uint64_t{bits} >> 32));
}
__host__ __device__ inline std::uint32_t add_to_digest(std::uint32_t digest, std::uint32_t bits) {
  return digest * 0x9e3779b1u + bits;
}

// The chains of a thread. start: values lane by lane, one row per chain and one more. A chain takes
// its own row, and the next row as its predecessor.
template <class I, int kChains>
class Chains {
 public:
  using Value = typename I::Value;

  __device__ explicit Chains(const Value* start) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) {
      x_[c] = I::enter(start[c * kWarpLanes + threadIdx.x % kWarpLanes]);
      y_[c] = start[(c + 1) * kWarpLanes + threadIdx.x % kWarpLanes];
    }
  }
  __device__ void step(Value a, Value b) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) {
      const Value next = I::step(x_[c], y_[c], a, b);
      y_[c] = x_[c];
      x_[c] = next;
    }
  }
  template <int kUnroll>
  __device__ void run(int steps, Value a, Value b) {
#pragma unroll 1
    for (; steps >= kUnroll; steps -= kUnroll) {
#pragma unroll
      for (int s = 0; s < kUnroll; ++s) step(a, b);
    }
#pragma unroll 1
    for (; steps > 0; --steps) step(a, b);
  }
  __device__ Value result(int c) const { return I::leave(x_[c]); }

 private:
  Value x_[kChains], y_[kChains];
};

// Every thread runs I::kChains independent chains of `steps` steps each; digests[thread] of their
// results. Reads hit the caches; writes 4 bytes per thread.
template <class I>
__global__ void instruction_throughput(const typename I::Value* start, typename I::Value a,
                                       typename I::Value b, std::uint32_t* digests, int steps) {
  if constexpr (kArchitecture >= I::kSince) {
    Chains<I, I::kChains> chains(start);
    chains.template run<kThroughputSteps>(steps, a, b);
    std::uint32_t digest = 0;
#pragma unroll
    for (int c = 0; c < I::kChains; ++c) digest = add_to_digest(digest, bits_of(chains.result(c)));
    digests[blockIdx.x * blockDim.x + threadIdx.x] = digest;
  }
}

// One chain; stamps: the clock right before and after its steps. Launch <<<1, 32>>>.
template <class I, class Reading>
__global__ void instruction_latency(const typename I::Value* start, typename I::Value a,
                                    typename I::Value b, std::uint32_t* digests, int steps,
                                    Reading* stamps) {
  if constexpr (kArchitecture >= I::kSince) {
    Chains<I, 1> chain(start);
    if (threadIdx.x == 0) stamp(stamps[0]);
    __syncwarp();
    chain.template run<kLatencySteps>(steps, a, b);
    digests[threadIdx.x] = add_to_digest(0, bits_of(chain.result(0)));
    __syncwarp();
    if (threadIdx.x == 0) stamp(stamps[1]);
  }
}

// Runs the steps one at a time: results[chain][lane]. Launch <<<chains, 32>>>.
template <class I>
__global__ void reference_instruction(const typename I::Value* start, typename I::Value a,
                                      typename I::Value b, typename I::Value* results, int steps) {
  if constexpr (kArchitecture >= I::kSince) {
    Chains<I, 1> chain(start + blockIdx.x * kWarpLanes);
    chain.template run<1>(steps, a, b);
    results[blockIdx.x * kWarpLanes + threadIdx.x] = chain.result(0);
  }
}

}  // namespace peakline::kernels
