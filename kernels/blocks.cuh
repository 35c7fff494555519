#pragma once

// Matrices with block scales: data, and reference elements of products in FP64. Not timed.

#include "kernels/fill.cuh"
#include "kernels/gemm_reference.cuh"
#include "kernels/number_formats.cuh"

namespace peakline::kernels {

// Random elements of this distribution, rounded to the format. Any launch.
static __global__ void fill_blocks(std::uint8_t* data, std::size_t bytes, BlockFormat format,
                                   Distribution distribution, std::uint64_t seed) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const int in_byte = 8 / format.element_bits;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < bytes;
       i += step) {
    std::uint32_t byte = 0;
    for (int e = 0; e < in_byte; ++e) {
      const float number = random_number<float>(distribution, seed, i * in_byte + e);
      byte |= encode(format.element, format.deviation() * number) << (e * format.element_bits);
    }
    data[i] = static_cast<std::uint8_t>(byte);
  }
}

// Scales: 1/2, 1 and 2, or 0.5 to 1.875. Any launch.
static __global__ void fill_scales(std::uint8_t* data, std::size_t bytes,
                                   bool scale_is_power_of_two, std::uint64_t seed) {
  const std::uint32_t first = scale_is_power_of_two ? encode_ue8m0(0.5F) : encode(ue4m3(), 0.5F);
  const std::uint32_t codes = scale_is_power_of_two ? 3 : 16;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < bytes;
       i += step)
    data[i] = static_cast<std::uint8_t>(first + random_bits(seed, i) % codes);
}

// As gemm_reference, for block-scaled matrices. Launch <<<samples, kReferenceThreads>>>.
static __global__ void block_gemm_reference(BlockMatrix x, BlockMatrix w, const std::int64_t* row,
                                            const std::int64_t* column, double* reference) {
  const std::int64_t x_line = row[blockIdx.x], w_line = column[blockIdx.x];
  sum_products([=](std::int64_t l) { return x.at(x_line, l); },
               [=](std::int64_t l) { return w.at(w_line, l); }, x.k, reference + blockIdx.x);
}

}  // namespace peakline::kernels
