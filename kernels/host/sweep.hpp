#pragma once

// Elements from memory, each put through a number of FMAs, one point under the roofline. fma.hpp
// explains Isa and why nothing here calls the standard library.
// One launch: reads `count` x 4 bytes, 2 x count x fma_per_element FLOP.

#include <cstddef>
#include <cstdint>

namespace peakline::kernels {

// Sum modulo 2^32 of the bit patterns of all results of x = x * a + b, repeated `fma_per_element`
// times: it depends on every bit, is exact in any order, and costs one integer addition per vector,
// which is no FLOP. fma_per_element is a run-time value, so that all points run the same
// instructions. A step takes only as many vectors as keep the FMA units busy, so that more loads of
// the next steps are in flight: on Zen 4, 24 instead of 12 cost a third of the bandwidth at 2 FMAs
// per element. data must be aligned to 64 bytes, count a multiple of Isa::kChains x the lanes of a
// vector.
template <class Isa>
std::uint32_t sweep_fp32(const float* data, std::size_t count, std::int64_t fma_per_element,
                         float a, float b) {
  constexpr int kChains = Isa::kChains;
  using Vector = decltype(Isa::load(data));
  using Bits = decltype(Isa::bits(Isa::load(data)));
  constexpr std::size_t kLanes = sizeof(Vector) / sizeof(float);
  const Vector factor = Isa::broadcast(a);
  const Vector addend = Isa::broadcast(b);
  Bits sum = Isa::bits(Isa::broadcast(0.0f));
  for (std::size_t i = 0; i < count; i += kChains * kLanes) {
    Vector x[kChains];
#pragma GCC unroll 32
    for (int c = 0; c < kChains; ++c)
      x[c] = Isa::load(data + i + static_cast<std::size_t>(c) * kLanes);
    for (std::int64_t step = 0; step < fma_per_element; ++step) {
#pragma GCC unroll 32
      for (int c = 0; c < kChains; ++c) x[c] = Isa::fma(x[c], factor, addend);
    }
#pragma GCC unroll 32
    for (int c = 0; c < kChains; ++c) sum = Isa::add_halves(sum, Isa::bits(x[c]));
  }
  std::uint32_t lanes[kLanes];
  Isa::store(lanes, sum);
  std::uint32_t total = 0;
  for (const std::uint32_t lane : lanes) total += lane;
  return total;
}

}  // namespace peakline::kernels
