#include "bench/cublaslt.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "bench/gemm.hpp"

namespace peakline::bench {
namespace {

template <class T>
T algorithm_value(const cublasLtMatmulAlgo_t& algorithm,
                  cublasLtMatmulAlgoConfigAttributes_t attribute) {
  T value{};
  std::size_t written = 0;
  cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof(value), &written);
  return value;
}

}  // namespace

void check_cublaslt(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(fmt::format("cuBLASLt: {} in {}", cublasLtGetStatusName(status), call));
}

CublasLt::CublasLt() { check_cublaslt(cublasLtCreate(&handle_), "cublasLtCreate"); }
CublasLt::~CublasLt() { cublasLtDestroy(handle_); }

std::string GemmShape::name() const { return fmt::format("{}x{}x{}", m, n, k); }

Gemm::Gemm(const CublasLt& lt, const GemmFormat& format, const GemmShape& shape)
    : lt_(lt), shape_(shape) {
  check_cublaslt(cublasLtMatmulDescCreate(&operation_, format.compute, CUDA_R_32F),
                 "cublasLtMatmulDescCreate");
  const cublasOperation_t transposed = CUBLAS_OP_T, plain = CUBLAS_OP_N;
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const cublasOperation_t& value) {
    check_cublaslt(cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof(value)),
                   "cublasLtMatmulDescSetAttribute");
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, transposed);
  set(CUBLASLT_MATMUL_DESC_TRANSB, plain);
  const auto layout = [](cublasLtMatrixLayout_t& made, cudaDataType_t type, std::int64_t rows,
                         std::int64_t columns) {
    check_cublaslt(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(rows),
                                              static_cast<std::uint64_t>(columns), rows),
                   "cublasLtMatrixLayoutCreate");
  };
  layout(a_, format.input, shape.k, shape.m);
  layout(b_, format.input, shape.k, shape.n);
  layout(d_, format.output, shape.m, shape.n);
}

Gemm::~Gemm() {
  for (const cublasLtMatrixLayout_t layout : {a_, b_, d_})
    if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
  if (operation_ != nullptr) cublasLtMatmulDescDestroy(operation_);
}

std::vector<cublasLtMatmulAlgo_t> Gemm::algorithms(int count) const {
  cublasLtMatmulPreference_t preference = nullptr;
  check_cublaslt(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  const std::size_t workspace = lt_.workspace_bytes();
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                       &workspace, sizeof(workspace));
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(count));
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      lt_.handle(), operation_, a_, b_, d_, d_, preference, count, results.data(), &found);
  cublasLtMatmulPreferenceDestroy(preference);
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  // "Not supported" is an answer: this device has no algorithm for the format.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH)
    return algorithms;
  check_cublaslt(status, "cublasLtMatmulAlgoGetHeuristic");
  for (int i = 0; i < found; ++i) {
    const auto& result = results[static_cast<std::size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(result.algo);
  }
  return algorithms;
}

void Gemm::launch(const cublasLtMatmulAlgo_t& algorithm, const void* a, const void* b, void* d,
                  cudaStream_t stream) const {
  const float one = 1, zero = 0;
  check_cublaslt(cublasLtMatmul(lt_.handle(), operation_, &one, a, a_, b, b_, &zero, d, d_, d, d_,
                                &algorithm, lt_.workspace(), lt_.workspace_bytes(), stream),
                 "cublasLtMatmul");
}

std::string describe(const cublasLtMatmulAlgo_t& algorithm) {
  return fmt::format(
      "id {}, tile {}, stages {}, split-k {}, swizzle {}, custom {}, cluster {}, inner {}",
      algorithm_value<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID),
      algorithm_value<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID),
      algorithm_value<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID),
      algorithm_value<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM),
      algorithm_value<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING),
      algorithm_value<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION),
      algorithm_value<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID),
      algorithm_value<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID));
}

std::string cublaslt_version() {
  // Major x 10000 + minor x 100 + patch, as of cuBLAS 12.
  const auto version = cublasLtGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace peakline::bench
