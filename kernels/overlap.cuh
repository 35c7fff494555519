#pragma once

// Work on a batch for as long as asked for, whose result tells which batch it was.

#include <cstddef>
#include <cstdint>

namespace peakline::kernels {

// A step of a linear congruential generator. Any number of steps is one such step, by which a
// result can be checked.
struct Generator {
  std::uint32_t factor, addend;
  __host__ __device__ std::uint32_t operator()(std::uint32_t x) const {
    return x * factor + addend;
  }
  // This one after `before`.
  constexpr Generator after(Generator before) const {
    return {factor * before.factor, factor * before.addend + addend};
  }
};

// to[i] = from[i] after so many steps of the generator, which is an argument, as the compiler would
// otherwise fold them. Reads 4 x count bytes and writes as many. Any launch.
static __global__ void work_on_batch(const std::uint32_t* from, std::uint32_t* to,
                                     std::size_t count, unsigned steps, Generator generator) {
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += threads) {
    std::uint32_t x = from[i];
#pragma unroll 16
    for (unsigned step = 0; step < steps; ++step) x = generator(x);
    to[i] = x;
  }
}

}  // namespace peakline::kernels
