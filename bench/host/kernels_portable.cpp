// For any CPU: 16-byte vectors, compiled to whatever the target has.

#include <cstring>

#include "bench/host/kernel_table.hpp"

namespace peakline::bench {
namespace {

struct Portable {
  static constexpr host::VectorExtension kExtension = host::VectorExtension::kPortable;
  static constexpr bool kFused = false;
  static constexpr bool kStreamingStores = false;
  static constexpr int kChains = 12;

  using F32 = float __attribute__((vector_size(16)));
  using F64 = double __attribute__((vector_size(16)));
  using Words = std::uint64_t __attribute__((vector_size(16)));
  using Halves = std::uint32_t __attribute__((vector_size(16)));

  template <class Vector, class T>
  static Vector load_as(const T* p) {
    Vector v;
    std::memcpy(&v, p, sizeof(v));
    return v;
  }
  static F32 load(const float* p) { return load_as<F32>(p); }
  static F64 load(const double* p) { return load_as<F64>(p); }
  static Words load(const std::uint64_t* p) { return load_as<Words>(p); }
  template <class T, class Vector>
  static void store(T* p, Vector v) {
    std::memcpy(p, &v, sizeof(v));
  }
  static F32 broadcast(float x) { return F32{x, x, x, x}; }
  static F64 broadcast(double x) { return F64{x, x}; }
  static Words broadcast(std::uint64_t x) { return Words{x, x}; }
  static F32 fma(F32 x, F32 a, F32 b) { return x * a + b; }
  static F64 fma(F64 x, F64 a, F64 b) { return x * a + b; }
  static Words add_words(Words a, Words b) { return a + b; }
  static Halves add_halves(Halves a, Halves b) { return a + b; }
  static Halves bits(F32 x) { return load_as<Halves>(&x); }
  template <class T, class Vector>
  static void stream(T* p, Vector v) {
    store(p, v);
  }
  static void finish_streams() {}
};

}  // namespace

const HostKernels kPortableKernels = kHostKernels<Portable>;

}  // namespace peakline::bench
