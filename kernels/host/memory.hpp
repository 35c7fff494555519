#pragma once

// fma.hpp explains Isa and why nothing here calls the standard library.
// Stores bypass the caches if the extension can (Isa::kStreamingStores). A plain store to an
// uncached line first reads the line, which would add half to a copy's bytes and a third to a
// triad's; with streaming stores the bytes counted are the bytes moved.

#include <cstddef>
#include <cstdint>

namespace peakline::kernels {

// Vectors loaded before the first is used. Pointers need 64-byte alignment, sizes kStreamGranule.
inline constexpr int kStreamUnroll = 8;
inline constexpr std::size_t kStreamGranule = std::size_t{kStreamUnroll} * 64;

// Sum of all words modulo 2^64, exact in any order. One launch: reads `words` x 8 bytes.
template <class Isa>
std::uint64_t read_sum(const std::uint64_t* data, std::size_t words) {
  using Vector = decltype(Isa::load(data));
  constexpr std::size_t kLanes = sizeof(Vector) / sizeof(std::uint64_t);
  Vector sum[kStreamUnroll];
#pragma GCC unroll 8
  for (int u = 0; u < kStreamUnroll; ++u) sum[u] = Isa::broadcast(std::uint64_t{0});
  for (std::size_t i = 0; i < words; i += kStreamUnroll * kLanes) {
#pragma GCC unroll 8
    for (int u = 0; u < kStreamUnroll; ++u)
      sum[u] = Isa::add_words(sum[u], Isa::load(data + i + static_cast<std::size_t>(u) * kLanes));
  }
  std::uint64_t lanes[kStreamUnroll * kLanes];
#pragma GCC unroll 8
  for (int u = 0; u < kStreamUnroll; ++u)
    Isa::store(lanes + static_cast<std::size_t>(u) * kLanes, sum[u]);
  std::uint64_t total = 0;
  for (const std::uint64_t lane : lanes) total += lane;
  return total;
}

// to = from. One launch: reads and writes `words` x 8 bytes each.
template <class Isa>
void copy(std::uint64_t* to, const std::uint64_t* from, std::size_t words) {
  using Vector = decltype(Isa::load(from));
  constexpr std::size_t kLanes = sizeof(Vector) / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < words; i += kStreamUnroll * kLanes) {
    Vector v[kStreamUnroll];
#pragma GCC unroll 8
    for (int u = 0; u < kStreamUnroll; ++u)
      v[u] = Isa::load(from + i + static_cast<std::size_t>(u) * kLanes);
#pragma GCC unroll 8
    for (int u = 0; u < kStreamUnroll; ++u)
      Isa::stream(to + i + static_cast<std::size_t>(u) * kLanes, v[u]);
  }
  Isa::finish_streams();
}

// a = b + scale * c. One launch: reads `count` x 16 bytes, writes `count` x 8 bytes.
template <class Isa>
void triad(double* a, const double* b, const double* c, double scale, std::size_t count) {
  using Vector = decltype(Isa::load(b));
  constexpr std::size_t kLanes = sizeof(Vector) / sizeof(double);
  const Vector factor = Isa::broadcast(scale);
  for (std::size_t i = 0; i < count; i += kStreamUnroll * kLanes) {
    Vector v[kStreamUnroll];
#pragma GCC unroll 8
    for (int u = 0; u < kStreamUnroll; ++u) {
      const std::size_t at = i + static_cast<std::size_t>(u) * kLanes;
      v[u] = Isa::fma(Isa::load(c + at), factor, Isa::load(b + at));
    }
#pragma GCC unroll 8
    for (int u = 0; u < kStreamUnroll; ++u)
      Isa::stream(a + i + static_cast<std::size_t>(u) * kLanes, v[u]);
  }
  Isa::finish_streams();
}

}  // namespace peakline::kernels
