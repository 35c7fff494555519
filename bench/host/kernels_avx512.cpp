// AVX-512F: 64-byte vectors, with nothing beyond F, so that every AVX-512 CPU can run it. Latency x
// ports is 8 (4 cycles x 2 ports).

#include <immintrin.h>

#include "bench/host/kernel_table.hpp"

namespace peakline::bench {
namespace {

struct Avx512f {
  static constexpr host::VectorExtension kExtension = host::VectorExtension::kAvx512f;
  static constexpr bool kFused = true;
  static constexpr bool kStreamingStores = true;
  static constexpr int kChains = 12;

  static __m512 load(const float* p) { return _mm512_loadu_ps(p); }
  static __m512d load(const double* p) { return _mm512_loadu_pd(p); }
  static __m512i load(const std::uint64_t* p) {
    return _mm512_loadu_si512(reinterpret_cast<const __m512i*>(p));
  }
  static void store(float* p, __m512 v) { _mm512_storeu_ps(p, v); }
  static void store(double* p, __m512d v) { _mm512_storeu_pd(p, v); }
  template <class Integer>
  static void store(Integer* p, __m512i v) {
    _mm512_storeu_si512(reinterpret_cast<__m512i*>(p), v);
  }
  static __m512 broadcast(float x) { return _mm512_set1_ps(x); }
  static __m512d broadcast(double x) { return _mm512_set1_pd(x); }
  static __m512i broadcast(std::uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
  static __m512 fma(__m512 x, __m512 a, __m512 b) { return _mm512_fmadd_ps(x, a, b); }
  static __m512d fma(__m512d x, __m512d a, __m512d b) { return _mm512_fmadd_pd(x, a, b); }
  static __m512i add_words(__m512i a, __m512i b) { return _mm512_add_epi64(a, b); }
  static __m512i add_halves(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
  static __m512i bits(__m512 x) { return _mm512_castps_si512(x); }
  static void stream(std::uint64_t* p, __m512i v) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(p), v);
  }
  static void stream(double* p, __m512d v) { _mm512_stream_pd(p, v); }
  static void finish_streams() { _mm_sfence(); }
};

}  // namespace

const HostKernels kAvx512fKernels = kHostKernels<Avx512f>;

}  // namespace peakline::bench
