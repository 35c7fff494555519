#pragma once

// Fused multiply-adds that never leave the registers.
//
// One launch: read 0 bytes, write 0 bytes (the start values are a few cache lines), and
// 2 x steps x Isa::kChains x lanes FLOP, where lanes is what one vector of T holds.

#include <cstdint>

namespace peakline::kernels {

// Takes chain c, lane l from in[c * lanes + l] and puts it through x = x * a + b `steps` times,
// into out at the same place. Every chain depends on itself alone: Isa::kChains of them, which hide
// the latency of the FMA units, and no more, so that chains, a and b stay in registers. The results
// are stored because work whose result nobody takes is removed.
//
// Isa (see host_kernels_*.cpp in bench/) names the instructions. It must be a type of an unnamed
// namespace: the instances then belong to the one translation unit that is compiled for this vector
// extension, and the linker cannot merge them into code for CPUs without it. For the same reason
// nothing here calls a function of the standard library.
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
