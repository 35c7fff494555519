#pragma once

// One matrix product as benchmarks run it: types, operands, choice of algorithm, verification.

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/gemm/cublaslt.hpp"
#include "bench/gemm/formats.hpp"
#include "bench/gemm/operands.hpp"
#include "harness/benchmark/cuda_bench.hpp"
#include "kernels/distribution.cuh"

namespace peakline::bench {

struct GemmFormat : ProductFormat {
  GemmTypes types;
};

// One of kProductFormats by name; std::logic_error for others.
const GemmFormat& gemm_format(std::string_view name);

// Like gemm_format(), but skips the point if the device does not support the format.
const GemmFormat& usable_format(const CudaBench& bench, std::string_view name);

// A soak must run on Tensor Cores: BF16, or FP16 on devices without BF16.
const GemmFormat& soak_format(const DeviceFacts& device);

// One handle and workspace per worker.
std::shared_ptr<CublasLt> cublaslt(CudaBench& bench);

// Device memory for X, W and Y, shared by all shapes that fit; each uses the front part.
class GemmOperands {
 public:
  struct Counts {
    std::size_t x = 0, w = 0, y = 0;
    std::size_t x_scales = 0, w_scales = 0;  // bytes, of formats with blocks
    // Grows the counts to fit this shape as well.
    void include(const GemmShape& shape);
    double bytes(const GemmTypes& types) const;
  };

  // Skips the point if the operands exceed the free device memory.
  GemmOperands(const GemmTypes& types, const Counts& counts, std::uint64_t seed,
               kernels::Distribution distribution = kernels::Distribution::kNormal);

  const Numbers& x() const { return x_; }
  const Numbers& w() const { return w_; }
  const Numbers& y() const { return y_; }
  const Scales& x_scales() const { return x_scales_; }
  const Scales& w_scales() const { return w_scales_; }

 private:
  Numbers x_, w_, y_;
  Scales x_scales_, w_scales_;
};

class Product {
 public:
  Product(CudaBench& bench, const GemmFormat& format, const GemmShape& shape,
          std::shared_ptr<const GemmOperands> operands, Layout layout = Layout::kTN,
          unsigned sms = 0);
  // It has its own operands, of standard normal data. sms: see Gemm.
  Product(CudaBench& bench, const GemmFormat& format, const GemmShape& shape, unsigned sms = 0);

  const GemmShape& shape() const { return gemm_.shape(); }
  Layout layout() const { return gemm_.layout(); }
  const Gemm& gemm() const { return gemm_; }
  // Bytes and FLOPs of one launch, with each operand and the result moved once.
  Work work() const;

  // w_copies: successive launches cycle through this many copies of W, for which W needs room.
  CudaBench::Launch launch(const GemmAlgorithm& algorithm, std::size_t w_copies = 1) const;

  // The fastest of the heuristic's first `count`; the first one if trying them takes longer than
  // `seconds`. Skips the point if there is none.
  GemmAlgorithm best_algorithm(CudaBench& bench, int count, double seconds,
                               std::size_t w_copies = 1) const;

  // Launches, then compares sampled elements with sums in FP64; empty if all are right.
  std::string find_mismatch(CudaBench& bench, const GemmAlgorithm& algorithm) const;
  // The same of Y as it stands. Elements are NaN from poison() on until a launch.
  std::string find_mismatch(std::uint64_t seed) const;
  void poison(cudaStream_t stream) const { operands_->y().poison(stream); }

  // Logs the wrong elements of Y as it stands.
  void check_every_element(kernels::DifferenceLog* log) const;
  // The lines of X and W around element (row, column), as elements of `type` with k contiguous.
  std::pair<Numbers, Numbers> lines_around(std::int64_t row, std::int64_t rows, std::int64_t column,
                                           std::int64_t columns, cudaDataType_t type) const;
  const GemmOperands& operands() const { return *operands_; }

  void check(CudaBench& bench, const GemmAlgorithm& algorithm) const;
  // Verifies the result and notes what is launched.
  void prepare(CudaBench& bench, const GemmAlgorithm& algorithm) const;

 private:
  std::shared_ptr<CublasLt> lt_;
  const GemmFormat& format_;
  Gemm gemm_;
  std::shared_ptr<const GemmOperands> operands_;
};

}  // namespace peakline::bench
