#pragma once

// Work of any duration on a batch, with a result that identifies the batch.

#include <cstddef>
#include <cstdint>

namespace peakline::kernels {

// A step of a linear congruential generator. Any number of steps equals one with other factors.
struct Generator {
  std::uint32_t factor, addend;
  __host__ __device__ std::uint32_t operator()(std::uint32_t x) const {
    return x * factor + addend;
  }
  // `before`, then this one.
  constexpr Generator after(Generator before) const {
    return {factor * before.factor, factor * before.addend + addend};
  }
};

// to[i] = from[i] after `steps` steps of the generator, which is an argument so that the compiler
// cannot fold them. Reads and writes 4 x count bytes each. Any launch.
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
