#pragma once

// Fused multiply-adds that never leave the registers.
//
// One launch: read 0 bytes, write 0 bytes (the start values are a few cache lines), and 2 x steps x
// Isa::kChains x lanes FLOP, where lanes is the number of elements in a vector of T.

#include <cstdint>

namespace peakline::kernels {

// Takes chain c, lane l from in[c * lanes + l] and puts it through x = x * a + b `steps` times,
// into out at the same place. The chains are independent: Isa::kChains is enough to hide the
// latency of the FMA units, yet few enough that chains, a and b stay in registers. The results are
// stored, since the compiler removes work whose result is unused.
//
// Isa (see bench/host/kernels_*.cpp) provides the instructions. It must be a type in an unnamed
// namespace: the instances then belong to the one translation unit compiled for this vector
// extension, and the linker cannot merge them into code for CPUs without it. For the same reason
// nothing here calls a standard library function.
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
