#include <cublas_v2.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "bench/gemm/cublaslt_library.hpp"
#include "bench/gemm/product.hpp"
#include "harness/cuda/shared_library.hpp"

namespace peakline::bench {
namespace {

// Experts of a layer, and its products' sides: those of a mixture of 8 experts of 64 in use.
constexpr int kExperts = 64, kN = 2048, kK = 4096;

// cuBLAS, opened at run time like cuBLASLt, which it needs.
class Cublas {
 public:
  Cublas() {
    try {
      cublaslt_library();
    } catch (const CublasLtMissing& missing) {
      throw Skipped(missing.what());
    }
    const std::string name = fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR);
    const cuda::SharedLibrary library = cuda::open_library(name);
    const auto find = [&](const char* function) {
      void* address = library.handle == nullptr ? nullptr : dlsym(library.handle, function);
      if (address == nullptr) throw Skipped(fmt::format("{} with {} not found", name, function));
      return address;
    };
    destroy_ = reinterpret_cast<decltype(&cublasDestroy_v2)>(find("cublasDestroy_v2"));
    set_stream_ = reinterpret_cast<decltype(&cublasSetStream_v2)>(find("cublasSetStream_v2"));
    grouped_ =
        reinterpret_cast<decltype(&cublasGemmGroupedBatchedEx)>(find("cublasGemmGroupedBatchedEx"));
    check(reinterpret_cast<decltype(&cublasCreate_v2)>(find("cublasCreate_v2"))(&handle_),
          "cublasCreate");
  }
  ~Cublas() { destroy_(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  void use(cudaStream_t stream) const { check(set_stream_(handle_, stream), "cublasSetStream"); }
  void run_groups(auto... arguments) const {
    check(grouped_(handle_, arguments...), "cublasGemmGroupedBatchedEx");
  }

 private:
  static void check(cublasStatus_t status, const char* call) { check_cublaslt(status, call); }

  cublasHandle_t handle_ = nullptr;
  decltype(&cublasDestroy_v2) destroy_ = nullptr;
  decltype(&cublasSetStream_v2) set_stream_ = nullptr;
  decltype(&cublasGemmGroupedBatchedEx) grouped_ = nullptr;
};

// Tokens of each expert: `total` in all, equal or in proportion to 1 / rank, at least one.
std::vector<int> tokens_of_experts(int total, bool skewed) {
  std::vector<double> weights(kExperts, 1);
  for (int expert = 0; skewed && expert < kExperts; ++expert)
    weights[static_cast<std::size_t>(expert)] = 1.0 / (expert + 1);
  const double sum = std::reduce(weights.begin(), weights.end());
  std::vector<int> tokens;
  for (const double weight : weights)
    tokens.push_back(std::max(1, static_cast<int>(std::floor(total * weight / sum))));
  tokens.front() += total - std::reduce(tokens.begin(), tokens.end());  // what rounding left
  return tokens;
}

// One product for each expert: rows of X and Y are the tokens, sorted by expert; W has the experts'
// matrices one after the other.
class GroupedProduct {
 public:
  GroupedProduct(CudaBench& bench, const std::vector<int>& tokens)
      : cublas_(bench.remember<std::shared_ptr<Cublas>>("cublas",
                                                        [] { return std::make_shared<Cublas>(); })),
        lt_(cublaslt(bench)),
        tokens_(tokens),
        rows_(std::reduce(tokens.begin(), tokens.end())) {
    GemmOperands::Counts counts;
    counts.include({.m = rows_, .n = kN, .k = kK});
    counts.w = std::size_t{kExperts} * kN * kK;
    operands_ = std::make_unique<GemmOperands>(gemm_format("bf16").types, counts, bench.seed());
    std::vector<const void*> x, w;
    std::vector<void*> y;
    std::size_t row = 0;
    constexpr std::size_t kElement = 2;  // bytes of BF16
    for (std::size_t expert = 0; expert < tokens.size(); ++expert) {
      x.push_back(operands_->x().data() + row * kK * kElement);
      y.push_back(operands_->y().data() + row * kN * kElement);
      w.push_back(operands_->w().data() + expert * kN * kK * kElement);
      row += static_cast<std::size_t>(tokens[expert]);
      expert_of_.insert(expert_of_.end(), static_cast<std::size_t>(tokens[expert]), expert);
    }
    x_.from_host(x);
    w_.from_host(w);
    y_.from_host(y);
    const std::set<int> distinct(tokens.begin(), tokens.end());
    distinct_ = distinct.size();
    for (const int count : distinct) {
      auto gemm = std::make_unique<Gemm>(*lt_, gemm_format("bf16").types,
                                         GemmShape{.m = count, .n = kN, .k = kK}, Layout::kTN);
      const auto found = gemm->algorithms(kTriedAlgorithms);
      const auto alone = std::ranges::find(found, std::size_t{0}, &GemmAlgorithm::workspace_bytes);
      if (alone != found.end()) products_.emplace(count, Each{std::move(gemm), *alone});
    }
    for (std::size_t expert = 0; expert < tokens.size(); ++expert)
      of_expert_.push_back({.x = x[expert], .w = w[expert], .y = y[expert]});
    for (std::size_t i = 0; i < kStreams; ++i) joins_.emplace_back(cudaEventDisableTiming);
  }

  Work work() const {
    const auto bytes = [](const Numbers& numbers) { return static_cast<double>(numbers.bytes()); };
    return {.bytes_read = bytes(operands_->x()) + bytes(operands_->w()),
            .bytes_written = bytes(operands_->y()),
            .flops = GemmShape{.m = rows_, .n = kN, .k = kK}.flops()};
  }

  // One call for all, in the terms of cuBLAS, which is column-major: Y^T = W X^T of each expert.
  void enqueue_grouped(cudaStream_t stream) const {
    cublas_->use(stream);
    cublas_->run_groups(transposed_.data(), plain_.data(), n_.data(), tokens_.data(), k_.data(),
                        ones_.data(), w_.data(), CUDA_R_16BF, k_.data(), x_.data(), CUDA_R_16BF,
                        k_.data(), zeros_.data(), y_.data(), CUDA_R_16BF, n_.data(), kExperts,
                        sizes_.data(), CUBLAS_COMPUTE_32F);
  }

  // A call for each expert, on several streams, so that the products fill the GPU together.
  void enqueue_each(cudaStream_t stream) const {
    fork_.record(stream);
    for (const cuda::Stream& other : streams_)
      PEAKLINE_CUDA(cudaStreamWaitEvent(other.get(), fork_.get()));
    for (std::size_t expert = 0; expert < tokens_.size(); ++expert) {
      const auto& [gemm, algorithm] = products_.at(tokens_[expert]);
      gemm->launch(algorithm, of_expert_[expert], streams_[expert % kStreams].get());
    }
    for (std::size_t i = 0; i < kStreams; ++i) {
      joins_[i].record(streams_[i].get());
      PEAKLINE_CUDA(cudaStreamWaitEvent(stream, joins_[i].get()));
    }
  }
  // Whether cuBLASLt has an algorithm for each expert that shares no workspace with others.
  bool has_each() const { return products_.size() == distinct_; }

  CudaBench::Launch launch(bool each) const {
    // A product each, and two entries for each stream that is forked and joined.
    constexpr std::int64_t kOperations = kExperts + 4 * kStreams;
    if (each)
      return {[this](cudaStream_t stream) { enqueue_each(stream); }, {.operations = kOperations}};
    return {[this](cudaStream_t stream) { enqueue_grouped(stream); }, {.operations = 4}};
  }

  std::string find_mismatch(CudaBench& bench, const CudaBench::Launch& launch) const {
    operands_->y().poison(bench.stream());
    bench.launch_once(launch);
    constexpr std::size_t kSampled = 256;
    std::mt19937_64 random(bench.seed());
    std::uniform_int_distribution<std::int64_t> any_row(0, rows_ - 1), any_column(0, kN - 1);
    std::vector<std::int64_t> rows{0, rows_ - 1}, columns{0, kN - 1};
    while (rows.size() < kSampled) {
      rows.push_back(any_row(random));
      columns.push_back(any_column(random));
    }
    std::vector<std::int64_t> of_all_experts;
    for (std::size_t s = 0; s < kSampled; ++s)
      of_all_experts.push_back(
          static_cast<std::int64_t>(expert_of_[static_cast<std::size_t>(rows[s])]) * kN +
          columns[s]);
    const Steps along_k{.line = kK, .k = 1};
    const std::vector<double> right = reference_elements(operands_->x(), along_k, operands_->w(),
                                                         along_k, kK, rows, of_all_experts);
    const std::vector<double> found = elements(operands_->y(), kN, rows, columns);
    for (std::size_t s = 0; s < kSampled; ++s) {
      // As in Product: the Tensor Cores' sums, then the rounding to BF16.
      const double allowed = 8 * std::sqrt(double{kK}) * 0x1p-13 + 0x1p-7 * std::abs(right[s]);
      if (!(std::abs(found[s] - right[s]) <= allowed))
        return fmt::format("element ({}, {}) is {}, not {} +- {}", rows[s], columns[s], found[s],
                           right[s], allowed);
    }
    return "";
  }

 private:
  static constexpr std::size_t kStreams = 8;
  static constexpr int kTriedAlgorithms = 8;
  struct Each {
    std::unique_ptr<Gemm> gemm;
    GemmAlgorithm algorithm;
  };

  std::shared_ptr<Cublas> cublas_;
  std::shared_ptr<CublasLt> lt_;
  std::vector<int> tokens_;
  std::map<int, Each> products_;  // by tokens
  std::size_t distinct_ = 0;      // numbers of tokens
  std::vector<Gemm::Operands> of_expert_;
  std::array<cuda::Stream, kStreams> streams_;
  cuda::Event fork_{cudaEventDisableTiming};
  std::vector<cuda::Event> joins_;
  std::int64_t rows_;
  std::unique_ptr<GemmOperands> operands_;
  std::vector<std::size_t> expert_of_;  // of each row
  cuda::DeviceBuffer<const void*> x_{kExperts}, w_{kExperts};
  cuda::DeviceBuffer<void*> y_{kExperts};
  std::vector<int> n_ = std::vector<int>(kExperts, kN), k_ = std::vector<int>(kExperts, kK),
                   sizes_ = std::vector<int>(kExperts, 1);
  std::vector<float> ones_ = std::vector<float>(kExperts, 1),
                     zeros_ = std::vector<float>(kExperts, 0);
  std::vector<cublasOperation_t> transposed_ = std::vector(kExperts, CUBLAS_OP_T),
                                 plain_ = std::vector(kExperts, CUBLAS_OP_N);
};

}  // namespace

void gemm_grouped(CudaBench& bench, bool skewed) {
  if (bench.device().compute_major < 8) throw Skipped("the device has no BF16");
  const int total = static_cast<int>(bench.integer("tokens")) * kExperts;
  const std::vector<int> tokens = tokens_of_experts(total, skewed);
  const GroupedProduct product(bench, tokens);
  bench.note("experts", std::int64_t{kExperts});
  bench.note("shape", GemmShape{.m = total, .n = kN, .k = kK}.name());
  bench.note("most_tokens", std::int64_t{tokens.front()});
  constexpr double kSearchSeconds = 0.05;
  const auto launch_of = [&](std::size_t i) { return product.launch(i == 1); };
  const bool each = product.has_each() && bench.search(2, launch_of, kSearchSeconds) == 1;
  bench.note("calls", std::int64_t{each ? kExperts : 1});
  const CudaBench::Launch launch = product.launch(each);
  bench.verify([&] { return product.find_mismatch(bench, launch); });
  bench.measure(product.work(), launch);
}

}  // namespace peakline::bench
