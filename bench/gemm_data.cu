#include "bench/cuda_data.cuh"
#include "bench/gemm_data.hpp"
#include "kernels/gemm_reference.cuh"

namespace peakline::bench {

template <class T>
cuda::DeviceBuffer<T> normal_matrix(std::size_t count, std::uint64_t seed) {
  return random_normal<T>(count, seed);
}

template <class T>
std::vector<double> reference_elements(const cuda::DeviceBuffer<T>& a,
                                       const cuda::DeviceBuffer<T>& b, std::int64_t k,
                                       const std::vector<std::int64_t>& rows,
                                       const std::vector<std::int64_t>& columns) {
  const cuda::DeviceBuffer<std::int64_t> row(rows.size()), column(columns.size());
  row.from_host(rows);
  column.from_host(columns);
  const cuda::DeviceBuffer<double> reference(rows.size());
  kernels::gemm_reference<<<static_cast<unsigned>(rows.size()), kernels::kReferenceThreads>>>(
      a.data(), b.data(), k, row.data(), column.data(), reference.data());
  PEAKLINE_CUDA(cudaGetLastError());
  return reference.to_host();
}

template cuda::DeviceBuffer<float> normal_matrix<float>(std::size_t, std::uint64_t);
template std::vector<double> reference_elements<float>(const cuda::DeviceBuffer<float>&,
                                                       const cuda::DeviceBuffer<float>&,
                                                       std::int64_t,
                                                       const std::vector<std::int64_t>&,
                                                       const std::vector<std::int64_t>&);
template cuda::DeviceBuffer<__half> normal_matrix<__half>(std::size_t, std::uint64_t);
template std::vector<double> reference_elements<__half>(const cuda::DeviceBuffer<__half>&,
                                                        const cuda::DeviceBuffer<__half>&,
                                                        std::int64_t,
                                                        const std::vector<std::int64_t>&,
                                                        const std::vector<std::int64_t>&);
template cuda::DeviceBuffer<__nv_bfloat16> normal_matrix<__nv_bfloat16>(std::size_t, std::uint64_t);
template std::vector<double> reference_elements<__nv_bfloat16>(
    const cuda::DeviceBuffer<__nv_bfloat16>&, const cuda::DeviceBuffer<__nv_bfloat16>&,
    std::int64_t, const std::vector<std::int64_t>&, const std::vector<std::int64_t>&);

}  // namespace peakline::bench
