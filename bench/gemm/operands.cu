#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <stdexcept>
#include <type_traits>

#include "bench/gemm/operands.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "kernels/blocks.cuh"
#include "kernels/fill.cuh"
#include "kernels/gemm_reference.cuh"
#include "kernels/verify.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

template <class T>
struct Type {
  using type = T;
};

// Calls `function` with Type<T> for the C++ type T of `type`.
template <class Function>
void with_type(cudaDataType_t type, Function function) {
  switch (type) {
    case CUDA_R_64F:
      return function(Type<double>{});
    case CUDA_R_32F:
      return function(Type<float>{});
    case CUDA_R_32I:
      return function(Type<std::int32_t>{});
    case CUDA_R_16F:
      return function(Type<__half>{});
    case CUDA_R_16BF:
      return function(Type<__nv_bfloat16>{});
    case CUDA_R_8I:
      return function(Type<std::int8_t>{});
    case CUDA_R_8F_E4M3:
      return function(Type<__nv_fp8_e4m3>{});
    case CUDA_R_8F_E5M2:
      return function(Type<__nv_fp8_e5m2>{});
    default:
      throw std::logic_error("unsupported data type: " + std::to_string(type));
  }
}

// INT8 operands fill the range, with fewer than one in ten thousand clipped.
constexpr float kInt8Deviation = 32;

// Only FP8 mixes operand types.
template <class X, class W>
constexpr bool kMultiplied = std::is_same_v<X, W> ||
                             (sizeof(X) == 1 && sizeof(W) == 1 && !std::is_same_v<X, std::int8_t> &&
                              !std::is_same_v<W, std::int8_t>);

kernels::OperandSteps on_device(Steps steps) { return {steps.line, steps.k}; }

DeviceBuffer<std::int64_t> on_device(const std::vector<std::int64_t>& values) {
  DeviceBuffer<std::int64_t> buffer(values.size());
  buffer.from_host(values);
  return buffer;
}

}  // namespace

std::size_t bytes_of(cudaDataType_t type, std::size_t count) {
  if (type == CUDA_R_4F_E2M1) return (count + 1) / 2;
  std::size_t bytes = 0;
  with_type(type, [&]<class T>(Type<T>) { bytes = sizeof(T); });
  return bytes * count;
}

void Numbers::fill(kernels::Distribution distribution, std::uint64_t seed) const {
  with_type(type_, [&]<class T>(Type<T>) {
    using Real = kernels::Real<T>;
    const Real scale = std::is_same_v<T, std::int8_t> ? Real{kInt8Deviation} : Real{1};
    kernels::fill_numbers<T><<<kAnyBlocks, kAnyThreads>>>(reinterpret_cast<T*>(data()), count_,
                                                          distribution, scale, seed);
  });
  PEAKLINE_CUDA(cudaGetLastError());
  PEAKLINE_CUDA(cudaDeviceSynchronize());
}

void Numbers::poison(cudaStream_t stream) const {
  PEAKLINE_CUDA(cudaMemsetAsync(data(), 0xff, bytes(), stream));
}

std::vector<double> reference_elements(const Numbers& x, Steps x_steps, const Numbers& w,
                                       Steps w_steps, std::int64_t k,
                                       const std::vector<std::int64_t>& rows,
                                       const std::vector<std::int64_t>& columns) {
  const DeviceBuffer<std::int64_t> row = on_device(rows), column = on_device(columns);
  const DeviceBuffer<double> reference(rows.size());
  with_type(x.type(), [&]<class X>(Type<X>) {
    with_type(w.type(), [&]<class W>(Type<W>) {
      if constexpr (kMultiplied<X, W>)
        kernels::gemm_reference<<<static_cast<unsigned>(rows.size()), kernels::kReferenceThreads>>>(
            reinterpret_cast<const X*>(x.data()), on_device(x_steps),
            reinterpret_cast<const W*>(w.data()), on_device(w_steps), k, row.data(), column.data(),
            reference.data());
      else
        throw std::logic_error("no reference product for operands of these types");
    });
  });
  PEAKLINE_CUDA(cudaGetLastError());
  return reference.to_host();
}

void check_every_element(const CheckedProduct& p, kernels::DifferenceLog* log) {
  const auto tiles = [](std::int64_t side) {
    return static_cast<unsigned>((side + kernels::kProductTile - 1) / kernels::kProductTile);
  };
  const auto check = [&]<class Sum, class X, class W, class Y>(Sum, X, W, Y) {
    kernels::check_product<Sum><<<dim3(tiles(p.n), tiles(p.m)), kernels::kProductThreads>>>(
        reinterpret_cast<const X*>(p.x.data()), on_device(p.x_steps),
        reinterpret_cast<const W*>(p.w.data()), on_device(p.w_steps),
        reinterpret_cast<const Y*>(p.y.data()), p.m, p.n, p.k, p.scale,
        {.absolute = p.absolute, .relative = p.relative}, log);
  };
  with_type(p.x.type(), [&]<class X>(Type<X>) {
    with_type(p.w.type(), [&]<class W>(Type<W>) {
      if constexpr (!kMultiplied<X, W>)
        throw std::logic_error("no reference product for operands of these types");
      else if constexpr (std::is_same_v<X, double>)
        check(double{}, X{}, W{}, double{});
      else if constexpr (std::is_same_v<X, std::int8_t>)
        check(std::int32_t{}, X{}, W{}, std::int32_t{});
      else if constexpr (std::is_same_v<X, float> || std::is_same_v<X, __half>)
        check(float{}, X{}, W{}, X{});
      else
        check(float{}, X{}, W{}, __nv_bfloat16{});
    });
  });
  PEAKLINE_CUDA(cudaGetLastError());
  PEAKLINE_CUDA(cudaDeviceSynchronize());
}

Numbers packed_lines(const Numbers& operand, Steps steps, std::int64_t first, std::int64_t lines,
                     std::int64_t k, cudaDataType_t type) {
  Numbers packed(type, static_cast<std::size_t>(lines * k));
  const auto pack = [&]<class From, class To>(From, To) {
    kernels::pack_lines<<<kAnyBlocks, kAnyThreads>>>(reinterpret_cast<const From*>(operand.data()),
                                                     on_device(steps), first, lines, k,
                                                     reinterpret_cast<To*>(packed.data()));
  };
  with_type(operand.type(), [&]<class From>(Type<From>) {
    if (type == operand.type()) return pack(From{}, From{});
    if (type != CUDA_R_16F) throw std::logic_error("operands are packed as they are, or as FP16");
    if constexpr (!std::is_same_v<From, std::int32_t>) pack(From{}, __half{});
  });
  PEAKLINE_CUDA(cudaGetLastError());
  PEAKLINE_CUDA(cudaDeviceSynchronize());
  return packed;
}

Scales::Scales(const kernels::BlockFormat& format, std::size_t bytes, std::uint64_t seed)
    : memory_(bytes) {
  kernels::fill_scales<<<kAnyBlocks, kAnyThreads>>>(data(), bytes, format.scale_type, seed);
  PEAKLINE_CUDA(cudaGetLastError());
  PEAKLINE_CUDA(cudaDeviceSynchronize());
}

void fill_blocks(const Numbers& elements, const kernels::BlockFormat& format,
                 kernels::Distribution distribution, std::uint64_t seed) {
  kernels::fill_blocks<<<kAnyBlocks, kAnyThreads>>>(
      reinterpret_cast<std::uint8_t*>(elements.data()), elements.bytes(), format, distribution,
      seed);
  PEAKLINE_CUDA(cudaGetLastError());
  PEAKLINE_CUDA(cudaDeviceSynchronize());
}

ReferenceSums reference_elements(const BlockOperand& x, const BlockOperand& w, std::int64_t k,
                                 const std::vector<std::int64_t>& rows,
                                 const std::vector<std::int64_t>& columns) {
  const DeviceBuffer<std::int64_t> row = on_device(rows), column = on_device(columns);
  const DeviceBuffer<double> reference(rows.size()), squares(rows.size());
  const auto matrix = [k](const BlockOperand& operand) {
    return kernels::BlockMatrix{
        .elements = reinterpret_cast<const std::uint8_t*>(operand.elements.data()),
        .scales = operand.scales.data(),
        .format = operand.format,
        .k = k,
        .lines = operand.lines};
  };
  kernels::block_gemm_reference<<<static_cast<unsigned>(rows.size()), kernels::kReferenceThreads>>>(
      matrix(x), matrix(w), row.data(), column.data(), reference.data(), squares.data());
  PEAKLINE_CUDA(cudaGetLastError());
  return {reference.to_host(), squares.to_host()};
}

std::vector<double> elements(const Numbers& y, std::int64_t width,
                             const std::vector<std::int64_t>& rows,
                             const std::vector<std::int64_t>& columns) {
  const DeviceBuffer<std::int64_t> row = on_device(rows), column = on_device(columns);
  const DeviceBuffer<double> found(rows.size());
  const auto blocks = static_cast<unsigned>((rows.size() + kAnyThreads - 1) / kAnyThreads);
  with_type(y.type(), [&]<class Y>(Type<Y>) {
    kernels::gather_elements<<<blocks, kAnyThreads>>>(reinterpret_cast<const Y*>(y.data()), width,
                                                      row.data(), column.data(), rows.size(),
                                                      found.data());
  });
  PEAKLINE_CUDA(cudaGetLastError());
  return found.to_host();
}

}  // namespace peakline::bench
