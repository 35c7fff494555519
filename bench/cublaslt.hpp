#pragma once

// What the GEMM benchmarks need of cuBLASLt: one product D = A x B, its candidate algorithms, its
// launch.

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

#include "harness/cuda/resources.hpp"

namespace peakline::bench {

// Throws std::runtime_error naming the call.
void check_cublaslt(cublasStatus_t status, const char* call);

class CublasLt {
 public:
  CublasLt();
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;
  cublasLtHandle_t handle() const { return handle_; }
  void* workspace() const { return workspace_.data(); }
  std::size_t workspace_bytes() const { return workspace_.size(); }

 private:
  cublasLtHandle_t handle_ = nullptr;
  // Hopper's kernels ask for up to 32 MiB; more lets split-K algorithms in.
  cuda::DeviceBuffer<std::byte> workspace_{std::size_t{64} << 20};
};

// Number formats of one product, and how it is computed.
struct GemmFormat {
  cudaDataType_t input = CUDA_R_32F, output = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};

struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::string name() const;  // "8192x8192x4096": M x N x K
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

// D (m x n) = A^T (k x m, transposed) x B (k x n), all column-major: "TN", the layout of a linear
// layer's forward pass, with k contiguous in both operands.
class Gemm {
 public:
  Gemm(const CublasLt& lt, const GemmFormat& format, const GemmShape& shape);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  // The heuristic's first `count` algorithms that can run here; empty where the format has none.
  std::vector<cublasLtMatmulAlgo_t> algorithms(int count) const;

  void launch(const cublasLtMatmulAlgo_t& algorithm, const void* a, const void* b, void* d,
              cudaStream_t stream) const;

  const GemmShape& shape() const { return shape_; }

 private:
  const CublasLt& lt_;
  GemmShape shape_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
};

// "id 66, tile 128x256, stages 4, ...": enough to find the algorithm again.
std::string describe(const cublasLtMatmulAlgo_t& algorithm);

}  // namespace peakline::bench
