// AArch64's baseline: 16-byte vectors, 32 registers. Latency x ports is 16 on wide cores (4 cycles
// x 4 ports). Stores are plain: on a stream of full-line writes these cores stop fetching lines on
// a miss, and there is no intrinsic for the non-temporal store pair.

#include <arm_neon.h>

#include "bench/host/kernel_table.hpp"

namespace peakline::bench {
namespace {

struct Neon {
  static constexpr host::VectorExtension kExtension = host::VectorExtension::kNeon;
  static constexpr bool kFused = true;
  static constexpr bool kStreamingStores = false;
  static constexpr int kChains = 16;

  static float32x4_t load(const float* p) { return vld1q_f32(p); }
  static float64x2_t load(const double* p) { return vld1q_f64(p); }
  static uint64x2_t load(const std::uint64_t* p) { return vld1q_u64(p); }
  static void store(float* p, float32x4_t v) { vst1q_f32(p, v); }
  static void store(double* p, float64x2_t v) { vst1q_f64(p, v); }
  static void store(std::uint64_t* p, uint64x2_t v) { vst1q_u64(p, v); }
  static void store(std::uint32_t* p, uint32x4_t v) { vst1q_u32(p, v); }
  static float32x4_t broadcast(float x) { return vdupq_n_f32(x); }
  static float64x2_t broadcast(double x) { return vdupq_n_f64(x); }
  static uint64x2_t broadcast(std::uint64_t x) { return vdupq_n_u64(x); }
  static float32x4_t fma(float32x4_t x, float32x4_t a, float32x4_t b) { return vfmaq_f32(b, x, a); }
  static float64x2_t fma(float64x2_t x, float64x2_t a, float64x2_t b) { return vfmaq_f64(b, x, a); }
  static uint64x2_t add_words(uint64x2_t a, uint64x2_t b) { return vaddq_u64(a, b); }
  static uint32x4_t add_halves(uint32x4_t a, uint32x4_t b) { return vaddq_u32(a, b); }
  static uint32x4_t bits(float32x4_t x) { return vreinterpretq_u32_f32(x); }
  template <class T, class Vector>
  static void stream(T* p, Vector v) {
    store(p, v);
  }
  static void finish_streams() {}
};

}  // namespace

const HostKernels kNeonKernels = kHostKernels<Neon>;

}  // namespace peakline::bench
