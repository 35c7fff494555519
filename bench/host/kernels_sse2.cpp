// x86-64's baseline: 16-byte vectors, no FMA. Multiplications and additions have their own ports
// and latencies; 12 chains cover them and use all 16 registers.

#include <emmintrin.h>

#include "bench/host/kernel_table.hpp"

namespace peakline::bench {
namespace {

struct Sse2 {
  static constexpr host::VectorExtension kExtension = host::VectorExtension::kSse2;
  static constexpr bool kFused = false;
  static constexpr bool kStreamingStores = true;
  static constexpr int kChains = 12;

  static __m128 load(const float* p) { return _mm_loadu_ps(p); }
  static __m128d load(const double* p) { return _mm_loadu_pd(p); }
  static __m128i load(const std::uint64_t* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static void store(float* p, __m128 v) { _mm_storeu_ps(p, v); }
  static void store(double* p, __m128d v) { _mm_storeu_pd(p, v); }
  template <class Integer>
  static void store(Integer* p, __m128i v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
  }
  static __m128 broadcast(float x) { return _mm_set1_ps(x); }
  static __m128d broadcast(double x) { return _mm_set1_pd(x); }
  static __m128i broadcast(std::uint64_t x) { return _mm_set1_epi64x(static_cast<long long>(x)); }
  static __m128 fma(__m128 x, __m128 a, __m128 b) { return _mm_add_ps(_mm_mul_ps(x, a), b); }
  static __m128d fma(__m128d x, __m128d a, __m128d b) { return _mm_add_pd(_mm_mul_pd(x, a), b); }
  static __m128i add_words(__m128i a, __m128i b) { return _mm_add_epi64(a, b); }
  static __m128i add_halves(__m128i a, __m128i b) { return _mm_add_epi32(a, b); }
  static __m128i bits(__m128 x) { return _mm_castps_si128(x); }
  static void stream(std::uint64_t* p, __m128i v) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(p), v);
  }
  static void stream(double* p, __m128d v) { _mm_stream_pd(p, v); }
  static void finish_streams() { _mm_sfence(); }
};

}  // namespace

const HostKernels kSse2Kernels = kHostKernels<Sse2>;

}  // namespace peakline::bench
