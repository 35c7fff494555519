// AVX2 with FMA: 32-byte vectors. Latency x ports is at most 10 (Haswell, Zen 1 and 2: 5 cycles x 2
// ports); 12 chains and two constants fit the 16 registers.

#include <immintrin.h>

#include "bench/host/kernel_table.hpp"

namespace peakline::bench {
namespace {

struct Avx2Fma {
  static constexpr host::VectorExtension kExtension = host::VectorExtension::kAvx2Fma;
  static constexpr bool kFused = true;
  static constexpr bool kStreamingStores = true;
  static constexpr int kChains = 12;

  static __m256 load(const float* p) { return _mm256_loadu_ps(p); }
  static __m256d load(const double* p) { return _mm256_loadu_pd(p); }
  static __m256i load(const std::uint64_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static void store(float* p, __m256 v) { _mm256_storeu_ps(p, v); }
  static void store(double* p, __m256d v) { _mm256_storeu_pd(p, v); }
  template <class Integer>
  static void store(Integer* p, __m256i v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  static __m256 broadcast(float x) { return _mm256_set1_ps(x); }
  static __m256d broadcast(double x) { return _mm256_set1_pd(x); }
  static __m256i broadcast(std::uint64_t x) {
    return _mm256_set1_epi64x(static_cast<long long>(x));
  }
  static __m256 fma(__m256 x, __m256 a, __m256 b) { return _mm256_fmadd_ps(x, a, b); }
  static __m256d fma(__m256d x, __m256d a, __m256d b) { return _mm256_fmadd_pd(x, a, b); }
  static __m256i add_words(__m256i a, __m256i b) { return _mm256_add_epi64(a, b); }
  static __m256i add_halves(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }
  static __m256i bits(__m256 x) { return _mm256_castps_si256(x); }
  static void stream(std::uint64_t* p, __m256i v) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p), v);
  }
  static void stream(double* p, __m256d v) { _mm256_stream_pd(p, v); }
  static void finish_streams() { _mm_sfence(); }
};

}  // namespace

const HostKernels kAvx2FmaKernels = kHostKernels<Avx2Fma>;

}  // namespace peakline::bench
