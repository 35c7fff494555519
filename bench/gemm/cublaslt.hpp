#pragma once

// One product of cuBLASLt, its candidate algorithms, its launch.

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/cuda/resources.hpp"
#include "kernels/number_formats.cuh"

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
  // Scale factors of FP8 operands, and their device addresses.
  static constexpr float kXScale = 0.5F, kWScale = 0.25F;
  const float* x_scale() const { return scales_.data(); }
  const float* w_scale() const { return scales_.data() + kScaleDistance; }

 private:
  // cuBLASLt requires 16-byte alignment, which is four floats.
  static constexpr std::size_t kScaleDistance = 4;

  cublasLtHandle_t handle_ = nullptr;
  // Hopper's kernels ask for up to 32 MiB; more admits algorithms that split K.
  cuda::DeviceBuffer<std::byte> workspace_{std::size_t{256} << 20};
  cuda::DeviceBuffer<float> scales_{2 * kScaleDistance};
};

// Data types of Y = X W^T and of its computation.
struct GemmTypes {
  cudaDataType_t x = CUDA_R_32F, w = CUDA_R_32F, y = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;  // of alpha and beta
  // FP8 on Hopper: sums stay in the Tensor Cores' accumulators, which are shorter than FP32.
  bool fast_accumulation = false;
  // X and W have one scale each in device memory, as FP8 requires.
  bool scaled = false;
  // Blocks of X and W share scales; nullptr: none.
  const kernels::BlockFormat *x_blocks = nullptr, *w_blocks = nullptr;
};

// Memory layouts of W and X in the column-major terms of cuBLAS: k is contiguous in W if the first
// letter is T, in X if the second is N. TN is the forward pass of a linear layer.
enum class Layout { kNN, kNT, kTN, kTT };
const char* to_string(Layout layout);  // "NN", ...

// M x N x K: tokens (rows of X and Y), output features (columns of Y), input features (summed).
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
  std::size_t workspace_bytes = 0;  // required

  // "id 66, tile 128x256, ...": enough to find it again.
  std::string describe() const;
  // Rows and columns of Y that one tile covers; nullopt if the library does not say.
  std::optional<std::pair<std::int64_t, std::int64_t>> tile() const;
  // Tiles of a product, including those that only fill up a cluster and still occupy an SM. nullopt
  // if the library does not say, or if several SMs work on one tile (split K).
  std::optional<std::int64_t> tiles(const GemmShape& shape) const;
};

// Y (m x n) = X (m x k) W^T (n x k), row by row. cuBLASLt is column-major and computes Y^T = W X^T:
// its first operand is W, its second X.
class Gemm {
 public:
  // sms: that the library plans for; 0: all. It does not bind a kernel to so many.
  Gemm(const CublasLt& lt, const GemmTypes& types, const GemmShape& shape, Layout layout,
       unsigned sms = 0);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  // The heuristic's first `count` algorithms within the workspace, best guess first; may be empty.
  // Excludes algorithms that reduce partial sums in the output type, not in the stated one.
  std::vector<GemmAlgorithm> algorithms(int count) const;
  // Variants that can run here, each with one setting changed.
  std::vector<GemmAlgorithm> neighbours(const GemmAlgorithm& algorithm) const;
  // Whether the algorithm can run this product; updates its workspace size.
  bool takes(GemmAlgorithm& algorithm) const;

  struct Operands {
    const void *x = nullptr, *w = nullptr;
    void* y = nullptr;
    // Block scales, if the format has them; aligned to 16 bytes.
    const void *x_scales = nullptr, *w_scales = nullptr;
  };
  void launch(const GemmAlgorithm& algorithm, const Operands& operands, cudaStream_t stream) const;

  const GemmShape& shape() const { return shape_; }
  Layout layout() const { return layout_; }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) const;

  const CublasLt& lt_;
  GemmTypes types_;
  GemmShape shape_;
  Layout layout_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t w_ = nullptr, x_ = nullptr, y_ = nullptr;
};

}  // namespace peakline::bench
