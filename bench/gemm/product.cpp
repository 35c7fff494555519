#include "bench/gemm/product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/gemm/cublaslt_library.hpp"

namespace peakline::bench {
namespace {

struct TypesOfFormat {
  std::string_view name;
  GemmTypes types;
};
constexpr std::array kTypes = {
    TypesOfFormat{"fp64", {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F}},
    TypesOfFormat{"fp32", {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F}},
    TypesOfFormat{"tf32",
                  {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F}},
    TypesOfFormat{"bf16", {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F}},
    TypesOfFormat{"fp16", {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F}},
    TypesOfFormat{
        "fp8",
        {CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, true, true}},
    TypesOfFormat{
        "fp8_e5m2",
        {CUDA_R_8F_E5M2, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, true, true}},
    TypesOfFormat{
        "fp8_accurate",
        {CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, false, true}},
    TypesOfFormat{"fp8_row",
                  {.x = CUDA_R_8F_E4M3,
                   .w = CUDA_R_8F_E4M3,
                   .y = CUDA_R_16BF,
                   .fast_accumulation = true,
                   .x_blocks = &kernels::kFp8Lines,
                   .w_blocks = &kernels::kFp8Lines}},
    TypesOfFormat{"fp8_block",
                  {.x = CUDA_R_8F_E4M3,
                   .w = CUDA_R_8F_E4M3,
                   .y = CUDA_R_16BF,
                   .x_blocks = &kernels::kFp8Line128,
                   .w_blocks = &kernels::kFp8Square128}},
    TypesOfFormat{"fp8_block_both",
                  {.x = CUDA_R_8F_E4M3,
                   .w = CUDA_R_8F_E4M3,
                   .y = CUDA_R_16BF,
                   .x_blocks = &kernels::kFp8Line128,
                   .w_blocks = &kernels::kFp8Line128}},
    TypesOfFormat{"int8", {CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I}},
    TypesOfFormat{"mxfp8",
                  {.x = CUDA_R_8F_E4M3,
                   .w = CUDA_R_8F_E4M3,
                   .y = CUDA_R_16BF,
                   .x_blocks = &kernels::kMxfp8,
                   .w_blocks = &kernels::kMxfp8}},
    TypesOfFormat{"mxfp8_e5m2",
                  {.x = CUDA_R_8F_E5M2,
                   .w = CUDA_R_8F_E4M3,
                   .y = CUDA_R_16BF,
                   .x_blocks = &kernels::kMxfp8E5m2,
                   .w_blocks = &kernels::kMxfp8}},
    TypesOfFormat{"nvfp4",
                  {.x = CUDA_R_4F_E2M1,
                   .w = CUDA_R_4F_E2M1,
                   .y = CUDA_R_16BF,
                   .x_blocks = &kernels::kNvfp4,
                   .w_blocks = &kernels::kNvfp4}}};
static_assert(std::ranges::equal(kTypes, kProductFormats, {}, &TypesOfFormat::name,
                                 [](const ProductFormat& f) { return std::string_view(f.name); }));

constexpr auto kFormats = [] {
  std::array<GemmFormat, kProductFormats.size()> formats{};
  for (std::size_t i = 0; i < formats.size(); ++i)
    formats[i] = {kProductFormats[i], kTypes[i].types};
  return formats;
}();

constexpr std::size_t kSampledElements = 256;

// Share of free memory; the library and the driver need the rest.
constexpr double kUsableMemory = 0.9;

// Relative rounding error of the output type: half an ulp at 1.
double output_rounding(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_64F:
      return 0x1p-53;
    case CUDA_R_16F:
      return 0x1p-11;
    case CUDA_R_16BF:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

// Error bound, before the output is rounded, of a correct sum of k products of standard normal
// numbers. Errors add up like a random walk, which never strays this many deviations.
constexpr double kDeviations = 8;
double allowed_error(const GemmTypes& types, std::int64_t k) {
  const double root = std::sqrt(static_cast<double>(k));
  if (types.compute == CUBLAS_COMPUTE_32I) return 0;
  if (types.compute == CUBLAS_COMPUTE_64F) return kDeviations * root * root * 0x1p-53;
  if (types.fast_accumulation) {
    // Every 32 products, a sum as large as the result (root) is truncated downward to 13 bits.
    const double steps = static_cast<double>(k) / 32;
    return kDeviations * root * 0x1p-13 + root * steps * 0x1p-13;
  }
  // Tensor Cores add with fewer bits than FP32. TF32 keeps only 10 bits of significands.
  const double product = types.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? 0x1p-10 : 0;
  return kDeviations * root * (product + 0x1p-13);
}

// Some of millions of elements, and their errors, are several times the usual size. Faults change
// more than that, or show when the product is repeated.
constexpr double kOfMillions = 4;

double scale_of(const GemmTypes& types) {
  return types.scaled ? CublasLt::kXScale * CublasLt::kWScale : 1;
}

Steps x_steps(const GemmShape& shape, Layout layout) {
  const bool k_first = layout == Layout::kTN || layout == Layout::kNN;
  return k_first ? Steps{.line = shape.k, .k = 1} : Steps{.line = 1, .k = shape.m};
}

Steps w_steps(const GemmShape& shape, Layout layout) {
  const bool k_first = layout == Layout::kTN || layout == Layout::kTT;
  return k_first ? Steps{.line = shape.k, .k = 1} : Steps{.line = 1, .k = shape.n};
}

std::size_t product(std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); }

}  // namespace

const GemmFormat& gemm_format(std::string_view name) {
  const auto found =
      std::ranges::find_if(kFormats, [&](const GemmFormat& format) { return format.name == name; });
  if (found == kFormats.end()) throw std::logic_error("unknown format: " + std::string(name));
  return *found;
}

const GemmFormat& usable_format(const CudaBench& bench, std::string_view name) {
  const GemmFormat& format = gemm_format(name);
  const DeviceFacts& device = bench.device();
  if (const auto usable = devices_of(format); usable && !usable(device))
    throw Skipped(fmt::format("cuBLASLt has no {} on compute capability {}.{}", format.name,
                              device.compute_major, device.compute_minor));
  return format;
}

const GemmFormat& soak_format(const DeviceFacts& device) {
  return gemm_format(device.compute_major >= 8 ? "bf16" : "fp16");
}

std::shared_ptr<CublasLt> cublaslt(CudaBench& bench) {
  return bench.remember<std::shared_ptr<CublasLt>>("cublaslt", [] {
    try {
      return std::make_shared<CublasLt>();
    } catch (const CublasLtMissing& missing) {
      throw Skipped(missing.what());
    }
  });
}

void GemmOperands::Counts::include(const GemmShape& shape) {
  x = std::max(x, product(shape.m, shape.k));
  w = std::max(w, product(shape.n, shape.k));
  y = std::max(y, product(shape.m, shape.n));
  // NVFP4 has the smallest blocks, and so the most scales.
  const std::int64_t blocks = kernels::kNvfp4.blocks(shape.k);
  x_scales = std::max(x_scales, static_cast<std::size_t>(kernels::scale_bytes(shape.m, blocks)));
  w_scales = std::max(w_scales, static_cast<std::size_t>(kernels::scale_bytes(shape.n, blocks)));
}

double GemmOperands::Counts::bytes(const GemmTypes& types) const {
  const auto of = [](std::size_t count, cudaDataType_t type) {
    return static_cast<double>(bytes_of(type, count));
  };
  const double scales = types.x_blocks != nullptr ? static_cast<double>(x_scales + w_scales) : 0.0;
  return of(x, types.x) + of(w, types.w) + of(y, types.y) + scales;
}

GemmOperands::GemmOperands(const GemmTypes& types, const Counts& counts, std::uint64_t seed,
                           kernels::Distribution distribution) {
  const double wanted = counts.bytes(types), usable = kUsableMemory * cuda::free_memory_bytes();
  if (wanted > usable)
    throw Skipped(fmt::format("needs {:.0f} MiB of device memory, but only {:.0f} MiB are free",
                              wanted / 0x1p20, usable / 0x1p20));
  x_ = Numbers(types.x, counts.x);
  w_ = Numbers(types.w, counts.w);
  y_ = Numbers(types.y, counts.y);
  if (types.x_blocks == nullptr) {
    x_.fill(distribution, seed);
    w_.fill(distribution, seed + 1);
    return;
  }
  fill_blocks(x_, *types.x_blocks, distribution, seed);
  fill_blocks(w_, *types.w_blocks, distribution, seed + 1);
  x_scales_ = Scales(*types.x_blocks, counts.x_scales, seed + 2);
  w_scales_ = Scales(*types.w_blocks, counts.w_scales, seed + 3);
}

Product::Product(CudaBench& bench, const GemmFormat& format, const GemmShape& shape,
                 std::shared_ptr<const GemmOperands> operands, Layout layout, unsigned sms)
    : lt_(cublaslt(bench)),
      format_(format),
      gemm_(*lt_, format.types, shape, layout, sms),
      operands_(std::move(operands)) {}

Product::Product(CudaBench& bench, const GemmFormat& format, const GemmShape& shape, unsigned sms)
    : Product(
          bench, format, shape,
          [&] {
            GemmOperands::Counts counts;
            counts.include(shape);
            return std::make_shared<const GemmOperands>(format.types, counts, bench.seed());
          }(),
          Layout::kTN, sms) {}

Work Product::work() const {
  GemmOperands::Counts read, written;
  read.include(shape());
  written.y = std::exchange(read.y, 0);
  return {.bytes_read = read.bytes(format_.types),
          .bytes_written = written.bytes(format_.types),
          .flops = shape().flops()};
}

CudaBench::Launch Product::launch(const GemmAlgorithm& algorithm, std::size_t w_copies) const {
  const auto w_bytes = bytes_of(format_.types.w, product(shape().n, shape().k));
  const auto enqueue = [this, algorithm, w_copies, w_bytes,
                        next = std::size_t{0}](cudaStream_t stream) mutable {
    gemm_.launch(algorithm,
                 {.x = operands_->x().data(),
                  .w = operands_->w().data() + w_bytes * (next++ % w_copies),
                  .y = operands_->y().data(),
                  .x_scales = operands_->x_scales().data(),
                  .w_scales = operands_->w_scales().data()},
                 stream);
  };
  constexpr std::int64_t kOperations = 2;  // splitting K takes a second kernel
  return {enqueue, {.operations = kOperations}};
}

GemmAlgorithm Product::best_algorithm(CudaBench& bench, int count, double seconds,
                                      std::size_t w_copies) const {
  const std::vector<GemmAlgorithm> algorithms = gemm_.algorithms(bench.sampler().repeats(count));
  if (algorithms.empty())
    throw Skipped(fmt::format("cuBLASLt has no algorithm for {} in layout {} at {} on this device",
                              format_.name, to_string(layout()), shape().name()));
  const auto launch_of = [&](std::size_t i) { return launch(algorithms[i], w_copies); };
  if (algorithms.size() == 1) return algorithms.front();
  // Without time to try several, takes the first. The first launch does not count: it loads code.
  bench.launch_once(launch_of(0));
  if (4 * bench.launch_once(launch_of(0)) > seconds) return algorithms.front();
  return algorithms[bench.rank(algorithms.size(), launch_of, seconds, {.in_cycles = true}).front()];
}

std::string Product::find_mismatch(CudaBench& bench, const GemmAlgorithm& algorithm) const {
  poison(bench.stream());
  bench.launch_once(launch(algorithm));
  return find_mismatch(bench.seed());
}

std::string Product::find_mismatch(std::uint64_t seed) const {
  const auto& [m, n, k] = shape();
  std::vector<std::int64_t> rows{0, m - 1}, columns{0, n - 1};  // including corners
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::int64_t> any_row(0, m - 1), any_column(0, n - 1);
  while (rows.size() < kSampledElements) {
    rows.push_back(any_row(random));
    columns.push_back(any_column(random));
  }
  const GemmTypes& types = format_.types;
  // Without scales of blocks, the products' squares are 1 on average.
  const ReferenceSums expected =
      types.x_blocks != nullptr
          ? reference_elements({operands_->x(), operands_->x_scales(), *types.x_blocks, m},
                               {operands_->w(), operands_->w_scales(), *types.w_blocks, n}, k, rows,
                               columns)
          : ReferenceSums{
                reference_elements(operands_->x(), x_steps(shape(), layout()), operands_->w(),
                                   w_steps(shape(), layout()), k, rows, columns),
                std::vector<double>(kSampledElements, static_cast<double>(k))};
  const std::vector<double> found = elements(operands_->y(), n, rows, columns);
  const double scale = scale_of(types);
  for (std::size_t s = 0; s < kSampledElements; ++s) {
    const double right = scale * expected.sums[s];
    const double size = std::sqrt(expected.squares[s] / static_cast<double>(k));
    const double allowed = scale * size * allowed_error(types, k) +
                           2 * output_rounding(types.y) * std::abs(right) *
                               static_cast<double>(types.compute != CUBLAS_COMPUTE_32I);
    if (!(std::abs(found[s] - right) <= allowed))
      return fmt::format("element ({}, {}) is {}, not {} +- {}", rows[s], columns[s], found[s],
                         right, allowed);
  }
  return "";
}

void Product::check_every_element(kernels::DifferenceLog* log) const {
  const GemmTypes& types = format_.types;
  const double scale = scale_of(types);
  bench::check_every_element(
      {.x = operands_->x(),
       .x_steps = x_steps(shape(), layout()),
       .w = operands_->w(),
       .w_steps = w_steps(shape(), layout()),
       .y = operands_->y(),
       .m = shape().m,
       .n = shape().n,
       .k = shape().k,
       .scale = scale,
       .absolute = kOfMillions * scale * allowed_error(types, shape().k),
       .relative = types.compute == CUBLAS_COMPUTE_32I ? 0 : 2 * output_rounding(types.y)},
      log);
}

std::pair<Numbers, Numbers> Product::lines_around(std::int64_t row, std::int64_t rows,
                                                  std::int64_t column, std::int64_t columns,
                                                  cudaDataType_t type) const {
  const auto& [m, n, k] = shape();
  // The tile at the edge ends with the matrix.
  return {packed_lines(operands_->x(), x_steps(shape(), layout()), std::min(row, m - rows), rows, k,
                       type),
          packed_lines(operands_->w(), w_steps(shape(), layout()), std::min(column, n - columns),
                       columns, k, type)};
}

void Product::check(CudaBench& bench, const GemmAlgorithm& algorithm) const {
  bench.verify([&] { return find_mismatch(bench, algorithm); });
}

void Product::prepare(CudaBench& bench, const GemmAlgorithm& algorithm) const {
  check(bench, algorithm);
  bench.note("algorithm", algorithm.describe());
  // Tile counters take a few bytes and need no note; partial sums take more.
  constexpr std::size_t kWorthSaying = 4096;
  if (algorithm.workspace_bytes > kWorthSaying)
    bench.note("workspace_bytes", static_cast<std::int64_t>(algorithm.workspace_bytes));
}

}  // namespace peakline::bench
