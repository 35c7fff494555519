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

// Scales: 1/2, 1 and 2 (UE8M0), 0.5 to 1.875 (UE4M3), or FP32 numbers from 1/16 to 16, with all
// powers of two equally often. `bytes` is a multiple of 4 for FP32. Any launch.
static __global__ void fill_scales(std::uint8_t* data, std::size_t bytes, ScaleType type,
                                   std::uint64_t seed) {
  const bool powers = type == ScaleType::kUe8m0;
  const std::uint32_t first = powers ? encode_ue8m0(0.5F) : encode(ue4m3(), 0.5F);
  const std::uint32_t codes = powers ? 3 : 16;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t start = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (type == ScaleType::kFp32) {
    for (std::size_t i = start; i < bytes / sizeof(float); i += step) {
      const std::uint64_t bits = random_bits(seed, i);
      const float significand = 1.0F + static_cast<float>(bits >> 32 & 0xffff) * 0x1p-16F;
      reinterpret_cast<float*>(data)[i] = ldexpf(significand, static_cast<int>(bits % 8) - 4);
    }
    return;
  }
  for (std::size_t i = start; i < bytes; i += step)
    data[i] = static_cast<std::uint8_t>(first + random_bits(seed, i) % codes);
}

// As gemm_reference, for block-scaled matrices; squares[s] is the sum of the squares of the
// products, which errors go with. Launch <<<samples, kReferenceThreads>>>.
static __global__ void block_gemm_reference(BlockMatrix x, BlockMatrix w, const std::int64_t* row,
                                            const std::int64_t* column, double* reference,
                                            double* squares) {
  const std::int64_t x_line = row[blockIdx.x], w_line = column[blockIdx.x];
  sum_products([=](std::int64_t l) { return x.at(x_line, l); },
               [=](std::int64_t l) { return w.at(w_line, l); }, x.k, reference + blockIdx.x);
  const auto squared = [](double value) { return value * value; };
  sum_products([=](std::int64_t l) { return squared(x.at(x_line, l)); },
               [=](std::int64_t l) { return squared(w.at(w_line, l)); }, x.k, squares + blockIdx.x);
}

}  // namespace peakline::kernels
