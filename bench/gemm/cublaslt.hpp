#pragma once

// What the GEMM benchmarks need of cuBLASLt: one product, its candidate algorithms, its launch.

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/cuda/resources.hpp"

namespace peakline::bench {

struct CublasLtError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws CublasLtError naming the call.
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
  // What the scales of FP8 operands multiply the product by, and where they lie on the device.
  static constexpr float kXScale = 0.5F, kWScale = 0.25F;
  const float* x_scale() const { return scales_.data(); }
  const float* w_scale() const { return scales_.data() + kScaleDistance; }

 private:
  // The library wants them aligned to 16 bytes.
  static constexpr std::size_t kScaleDistance = 4;

  cublasLtHandle_t handle_ = nullptr;
  // Hopper's kernels ask for up to 32 MiB; more lets algorithms in that split K.
  cuda::DeviceBuffer<std::byte> workspace_{std::size_t{256} << 20};
  cuda::DeviceBuffer<float> scales_{2 * kScaleDistance};
};

// Number formats of Y = X W^T, and how it is computed.
struct GemmTypes {
  cudaDataType_t x = CUDA_R_32F, w = CUDA_R_32F, y = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;  // of alpha and beta
  // FP8 on Hopper: sums stay in the Tensor Cores' own, shorter accumulators.
  bool fast_accumulation = false;
  // X and W have a scale each in device memory, as FP8 needs them.
  bool scaled = false;
};

// How W and X lie in memory, in the terms of cuBLAS, which counts columns first: T has k
// contiguous. TN is the forward pass of a linear layer.
enum class Layout { kNN, kNT, kTN, kTT };
const char* to_string(Layout layout);  // "NN", ...

// M x N x K as frameworks store it: rows (tokens) of X and Y, columns of Y (output features), and
// what is summed over (input features).
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::string name() const;  // "8192x8192x4096"
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  bool operator==(const GemmShape&) const = default;
};

struct GemmAlgorithm {
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;  // that it needs

  // "id 66, tile 128x256, ...": enough to find it again.
  std::string describe() const;
  // Rows of Y and columns of Y that one tile covers; nullopt where the library does not say.
  std::optional<std::pair<std::int64_t, std::int64_t>> tile() const;
};

// Y (m x n) = X (m x k) W^T (n x k), row by row. cuBLASLt, which counts columns first, computes
// Y^T = W X^T: its first operand is W, its second X.
class Gemm {
 public:
  Gemm(const CublasLt& lt, const GemmTypes& types, const GemmShape& shape, Layout layout);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  // The heuristic's first `count` algorithms within the workspace, best guess first; empty where
  // the library has none for these types, this layout and shape. None of them adds partial sums up
  // in the output's type, which would not be the accumulation that the types name.
  std::vector<GemmAlgorithm> algorithms(int count) const;
  // What else comes from one of them by changing one of its settings, where that can run here.
  std::vector<GemmAlgorithm> neighbours(const GemmAlgorithm& algorithm) const;
  // Whether it can run this product.
  bool takes(GemmAlgorithm& algorithm) const;

  struct Operands {
    const void *x = nullptr, *w = nullptr;
    void* y = nullptr;
  };
  void launch(const GemmAlgorithm& algorithm, const Operands& operands, cudaStream_t stream) const;

  const GemmShape& shape() const { return shape_; }
  Layout layout() const { return layout_; }

 private:
  const CublasLt& lt_;
  GemmTypes types_;
  GemmShape shape_;
  Layout layout_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t w_ = nullptr, x_ = nullptr, y_ = nullptr;
};

}  // namespace peakline::bench
