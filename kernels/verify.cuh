#pragma once

// Kernels that look for wrong bits: each compares every word with its expected value, and logs
// differences with the SM that saw them.

#include <cstddef>
#include <cstdint>

#include "kernels/clock.cuh"
#include "kernels/differences.cuh"
#include "kernels/fill.cuh"
#include "kernels/gemm_reference.cuh"
#include "kernels/mma.cuh"

namespace peakline::kernels {

__device__ inline std::uint32_t sm_id() {
  std::uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

__device__ inline void log_difference(DifferenceLog* log, std::uint64_t word,
                                      std::uint32_t expected, std::uint32_t found) {
  const unsigned long long slot = atomicAdd(&log->count, 1ULL);
  if (slot >= kKeptDifferences) return;
  log->kept[slot] = {.word = word,
                     .nanoseconds = global_timer_ns(),
                     .expected = expected,
                     .found = found,
                     .sm = sm_id()};
}

// Moments in the log count from now. Launch <<<1, 1>>>.
static __global__ void start_log(DifferenceLog* log) { log->started_ns = global_timer_ns(); }

__device__ inline bool same(uint4 a, uint4 b) {
  return ((a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w)) == 0;
}

// Logs the words of a vector that differ; out of line, since it is hardly ever called.
__device__ __noinline__ inline void log_differences(DifferenceLog* log, std::uint64_t vector,
                                                    uint4 expected, uint4 found) {
  if (expected.x != found.x) log_difference(log, 4 * vector, expected.x, found.x);
  if (expected.y != found.y) log_difference(log, 4 * vector + 1, expected.y, found.y);
  if (expected.z != found.z) log_difference(log, 4 * vector + 2, expected.z, found.z);
  if (expected.w != found.w) log_difference(log, 4 * vector + 3, expected.w, found.w);
}

inline constexpr unsigned kVerifyThreads = 256, kVerifyUnroll = 4;
constexpr unsigned verify_blocks(std::size_t vectors) {
  constexpr std::size_t kTile = std::size_t{kVerifyThreads} * kVerifyUnroll;
  return static_cast<unsigned>((vectors + kTile - 1) / kTile);
}

// Reads 32 bytes per vector. Launch <<<verify_blocks(count), kVerifyThreads>>>.
static __global__ void __launch_bounds__(kVerifyThreads)
    compare_vectors(const uint4* expected, const uint4* found, std::size_t count,
                    DifferenceLog* log) {
  const std::size_t first =
      static_cast<std::size_t>(blockIdx.x) * kVerifyThreads * kVerifyUnroll + threadIdx.x;
  uint4 a[kVerifyUnroll], b[kVerifyUnroll];
#pragma unroll
  for (unsigned u = 0; u < kVerifyUnroll; ++u) {
    const std::size_t i = first + u * kVerifyThreads;
    if (i >= count) continue;
    a[u] = __ldcs(expected + i);
    b[u] = __ldcs(found + i);
  }
#pragma unroll
  for (unsigned u = 0; u < kVerifyUnroll; ++u) {
    const std::size_t i = first + u * kVerifyThreads;
    if (i < count && !same(a[u], b[u])) log_differences(log, i, a[u], b[u]);
  }
}

__host__ __device__ inline std::uint64_t pattern_bits(const Content& content, std::uint64_t i) {
  const std::uint64_t bits = content.pattern == Pattern::kAddress   ? 8 * i
                             : content.pattern == Pattern::kRandom  ? random_bits(content.seed, i)
                             : content.pattern == Pattern::kStripes ? 0x5555555555555555ULL
                                                                    : 0;
  return content.inverted ? ~bits : bits;
}

__device__ inline uint4 pattern_vector(const Content& content, std::uint64_t vector) {
  const std::uint64_t low = pattern_bits(content, 2 * vector);
  const std::uint64_t high = pattern_bits(content, 2 * vector + 1);
  return {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
          static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)};
}

// Writes the pattern, 16 bytes per vector. Launch as compare_vectors().
static __global__ void __launch_bounds__(kVerifyThreads)
    write_pattern(uint4* data, std::size_t count, Content content) {
  const std::size_t first =
      static_cast<std::size_t>(blockIdx.x) * kVerifyThreads * kVerifyUnroll + threadIdx.x;
#pragma unroll
  for (unsigned u = 0; u < kVerifyUnroll; ++u) {
    const std::size_t i = first + u * kVerifyThreads;
    if (i < count) __stcg(data + i, pattern_vector(content, i));
  }
}

// Checks that each vector holds `now` and writes `next`; each further round swaps the two, so that
// an odd number of rounds leaves `next`. Bypasses the L1, which would answer instead. Reads and
// writes 16 bytes per vector and round. Launch as compare_vectors(); downward: last tile first.
static __global__ void __launch_bounds__(kVerifyThreads)
    replace_pattern(uint4* data, std::size_t count, Content now, Content next, unsigned rounds,
                    bool downward, DifferenceLog* log) {
  const std::size_t tile = downward ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const std::size_t first = tile * kVerifyThreads * kVerifyUnroll + threadIdx.x;
  for (unsigned round = 0; round < rounds; ++round) {
    // Member by member: choosing between two addresses would force both into local memory.
    const bool even = round % 2 == 0;
    const Content before{.pattern = even ? now.pattern : next.pattern,
                         .inverted = even ? now.inverted : next.inverted,
                         .seed = even ? now.seed : next.seed};
    const Content after{.pattern = even ? next.pattern : now.pattern,
                        .inverted = even ? next.inverted : now.inverted,
                        .seed = even ? next.seed : now.seed};
    uint4 found[kVerifyUnroll];
#pragma unroll
    for (unsigned u = 0; u < kVerifyUnroll; ++u) {
      const std::size_t i = first + u * kVerifyThreads;
      if (i < count) found[u] = __ldcg(data + i);
    }
#pragma unroll
    for (unsigned u = 0; u < kVerifyUnroll; ++u) {
      const std::size_t i = first + u * kVerifyThreads;
      if (i >= count) continue;
      const uint4 expected = pattern_vector(before, i);
      if (!same(expected, found[u])) log_differences(log, i, expected, found[u]);
      __stcg(data + i, pattern_vector(after, i));
    }
  }
}

// Each block fills its shared memory of `count` vectors, then in each round reads it in another
// order and inverts it. A difference's word is its index in that memory. Reads and writes 16 bytes
// per vector and round. flips: XORed into block 0's first word, for tests; otherwise 0. Launch
// <<<SMs, kVerifyThreads, 16 x count>>>.
static __global__ void __launch_bounds__(kVerifyThreads)
    check_shared(unsigned count, std::uint64_t seed, unsigned rounds, std::uint32_t flips,
                 DifferenceLog* log) {
  extern __shared__ uint4 shared_vectors[];
  volatile auto* const words = reinterpret_cast<volatile std::uint32_t*>(shared_vectors);
  const unsigned all = 4 * count;
  Content content{.pattern = Pattern::kRandom, .seed = seed + blockIdx.x};
  const auto word_of = [&](unsigned i) {
    return static_cast<std::uint32_t>(pattern_bits(content, i));
  };
  for (unsigned i = threadIdx.x; i < all; i += kVerifyThreads) words[i] = word_of(i);
  if (blockIdx.x == 0 && threadIdx.x == 0) words[0] = words[0] ^ flips;
  for (unsigned round = 0; round < rounds; ++round) {
    __syncthreads();
    // Starts from another warp's words, so that they are read from memory.
    const unsigned start =
        (threadIdx.x + 32 * (1 + round % (kVerifyThreads / 32 - 1))) % kVerifyThreads;
    for (unsigned i = start; i < all; i += kVerifyThreads) {
      const std::uint32_t found = words[i], expected = word_of(i);
      if (found != expected) log_difference(log, i, expected, found);
      words[i] = ~expected;
    }
    content.inverted = !content.inverted;
  }
}

// Packs `lines` lines of an operand, from line `first` on, as another type that holds their values,
// with k contiguous: line first + i at i x k. Reads and writes each element once. Any launch.
template <class T, class To>
__global__ void pack_lines(const T* operand, OperandSteps steps, std::int64_t first,
                           std::int64_t lines, std::int64_t k, To* packed) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < lines * k; i += step)
    if constexpr (std::is_same_v<T, To>)
      packed[i] = operand[steps.line * (first + i / k) + steps.k * (i % k)];
    else
      packed[i] = static_cast<To>(
          static_cast<float>(operand[steps.line * (first + i / k) + steps.k * (i % k)]));
}

inline constexpr unsigned kCheckedThreads = 1024;
template <class F>
inline constexpr unsigned kCheckedWords = kCheckedRows* kCheckedColumns *
                                          sizeof(typename F::Output) / 4;
// Bytes of a step of the operands along k.
template <class F>
inline constexpr unsigned kCheckedStepBytes =
    sizeof(typename MmaTile<F>::Word) * MmaTile<F>::kStepWords;

// Every warp computes the same tile, x (kCheckedRows lines) times w (kCheckedColumns), by mma.sync,
// `trips` times from zero, compares each result with `expected` (nullptr: none), and stores the
// last: word i of warp v of block b at (b x warps per block + v) x kCheckedWords + i; of_block[b]
// is the SM. FLOPs: 2 x 16 x 8 x k x trips per warp. Launch <<<SMs, kCheckedThreads, shared>>> with
// so much shared memory that an SM takes one block, which is large to hide latency.
template <class F>
__global__ void __launch_bounds__(kCheckedThreads)
    check_tile(const typename MmaTile<F>::Word* x, const typename MmaTile<F>::Word* w,
               unsigned steps, unsigned trips, const std::uint32_t* expected,
               std::uint32_t* results, std::uint32_t* of_block, DifferenceLog* log) {
#ifdef __CUDA_ARCH__
  if constexpr (!F::exists(__CUDA_ARCH__ / 10)) {
    __trap();
  } else {
    using Tile = MmaTile<F>;
    using Word = typename Tile::Word;
    const unsigned lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4;
    const unsigned warp = blockIdx.x * (kCheckedThreads / 32) + threadIdx.x / 32;
    const std::size_t line = static_cast<std::size_t>(steps) * Tile::kStepWords;
    constexpr unsigned kOwn = kCheckedWords<F> / 32;  // words per thread
    Word c[Tile::kCWords];
    for (unsigned trip = 0; trip < trips; ++trip) {
#pragma unroll
      for (Word& word : c) word = 0;
#pragma unroll 4
      for (unsigned step = 0; step < steps; ++step) {
        Word a[Tile::kAWords], b[Tile::kBWords];
        const std::size_t at = static_cast<std::size_t>(step) * Tile::kStepWords + in_group;
#pragma unroll
        for (int i = 0; i < Tile::kAWords; ++i)
          a[i] = x[(group + 8 * (i % 2)) * line + at + 4 * (i / 2)];
#pragma unroll
        for (int i = 0; i < Tile::kBWords; ++i) b[i] = w[group * line + at + 4 * i];
        mma_sync::multiply_add<F>(c, a, b);
      }
      if (expected == nullptr) continue;
      const auto* const own = reinterpret_cast<const std::uint32_t*>(c);
#pragma unroll
      for (unsigned i = 0; i < kOwn; ++i)
        if (own[i] != expected[kOwn * lane + i])
          log_difference(log, kOwn * lane + i, expected[kOwn * lane + i], own[i]);
    }
    const auto* const own = reinterpret_cast<const std::uint32_t*>(c);
#pragma unroll
    for (unsigned i = 0; i < kOwn; ++i)
      results[static_cast<std::size_t>(warp) * kCheckedWords<F> + kOwn * lane + i] = own[i];
    if (threadIdx.x == 0) of_block[blockIdx.x] = sm_id();
  }
#endif
}

// Side of a block's tile in check_product(), and depth of a step.
inline constexpr int kProductTile = 64, kProductStep = 16, kProductThreads = 256;

// Allowed error of an element: `absolute` + `relative` x |expected value|.
struct Allowed {
  double absolute = 0, relative = 0;
};

// Computes scale x sum over k of x(row, k) w(column, k) in Sum, for every element of the m x n
// product y, and logs elements beyond the allowed error: index, and both values as FP32 bits. 2 m n
// k FLOPs. Launch <<<(ceil(n / kProductTile), ceil(m / kProductTile)), kProductThreads>>>.
template <class Sum, class X, class W, class Y>
__global__ void __launch_bounds__(kProductThreads)
    check_product(const X* x, OperandSteps x_steps, const W* w, OperandSteps w_steps, const Y* y,
                  std::int64_t m, std::int64_t n, std::int64_t k, double scale, Allowed allowed,
                  DifferenceLog* log) {
  constexpr int kEach = 4;  // elements per thread along each side
  __shared__ Sum left[kProductStep][kProductTile + 1], right[kProductStep][kProductTile + 1];
  const std::int64_t row = std::int64_t{blockIdx.y} * kProductTile;
  const std::int64_t column = std::int64_t{blockIdx.x} * kProductTile;
  const int across = threadIdx.x % 16, down = threadIdx.x / 16;
  Sum sum[kEach][kEach] = {};
  for (std::int64_t first = 0; first < k; first += kProductStep) {
    for (int i = threadIdx.x; i < kProductTile * kProductStep; i += kProductThreads) {
      const int step = i % kProductStep, line = i / kProductStep;
      const std::int64_t at = first + step;
      left[step][line] =
          at < k && row + line < m
              ? static_cast<Sum>(to_double(x[x_steps.line * (row + line) + x_steps.k * at]))
              : Sum{0};
      right[step][line] =
          at < k && column + line < n
              ? static_cast<Sum>(to_double(w[w_steps.line * (column + line) + w_steps.k * at]))
              : Sum{0};
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < kProductStep; ++step) {
      Sum a[kEach], b[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        a[i] = left[step][down + 16 * i];
        b[i] = right[step][across + 16 * i];
      }
#pragma unroll
      for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j) sum[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < kEach; ++i) {
    for (int j = 0; j < kEach; ++j) {
      const std::int64_t r = row + down + 16 * i, c = column + across + 16 * j;
      if (r >= m || c >= n) continue;
      const double expected = scale * static_cast<double>(sum[i][j]);
      const double found = to_double(y[r * n + c]);
      const double off = found > expected ? found - expected : expected - found;
      // Written so that NaN counts as wrong.
      if (off <= allowed.absolute + allowed.relative * fabs(expected)) continue;
      log_difference(log, static_cast<std::uint64_t>(r * n + c),
                     __float_as_uint(static_cast<float>(expected)),
                     __float_as_uint(static_cast<float>(found)));
    }
  }
}

}  // namespace peakline::kernels
