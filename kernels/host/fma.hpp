#pragma once

// One launch: reads 0 bytes, writes 0 bytes (the start values are a few cache lines), and does 2 x
// steps x Isa::kChains x lanes FLOP; lanes: elements in a vector of T.

#include <cstdint>

namespace peakline::kernels {

// Iterates lane l of chain c, x = in[c * lanes + l], `steps` times as x = x * a + b, into out at
// the same place. Isa::kChains independent chains hide the latency of the FMA units, and stay in
// registers with a and b. Results are stored, or the compiler would remove the work.
// Isa (bench/host/kernels_*.cpp) provides the instructions. It must be a type in an unnamed
// namespace: its instances then belong to the one translation unit compiled for this vector
// extension, and the linker cannot merge them into code for CPUs without it. For the same reason
// nothing here calls the standard library.
template <class Isa, class T>
void fma_chains(const T* in, T* out, T a, T b, std::int64_t steps) {
  constexpr int kChains = Isa::kChains;
  using Vector = decltype(Isa::load(in));
  constexpr int kLanes = sizeof(Vector) / sizeof(T);
  const Vector factor = Isa::broadcast(a);
  const Vector addend = Isa::broadcast(b);
  Vector x[kChains];
#pragma GCC unroll 32
  for (int c = 0; c < kChains; ++c) x[c] = Isa::load(in + c * kLanes);
  for (std::int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 32
    for (int c = 0; c < kChains; ++c) x[c] = Isa::fma(x[c], factor, addend);
  }
#pragma GCC unroll 32
  for (int c = 0; c < kChains; ++c) Isa::store(out + c * kLanes, x[c]);
}

}  // namespace peakline::kernels
