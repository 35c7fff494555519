#include "bench/gemm/cublaslt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "bench/catalog.hpp"
#include "bench/gemm/cublaslt_library.hpp"
#include "cublaslt_tiles.hpp"

namespace peakline::bench {
namespace {

template <class T>
T value_of(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  T value{};
  std::size_t written = 0;
  cublaslt_library().algo_config_get_attribute(&algorithm, attribute, &value, sizeof(value),
                                               &written);
  return value;
}

template <class T>
bool set_value(cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute,
               T value) {
  return cublaslt_library().algo_config_set_attribute(&algorithm, attribute, &value,
                                                      sizeof(value)) == CUBLAS_STATUS_SUCCESS;
}

const Extent* find_extent(std::span<const Extent> extents, unsigned id) {
  const auto found = std::ranges::find(extents, id, &Extent::id);
  return found == extents.end() ? nullptr : &*found;
}

const Extent* find_tile(const cublasLtMatmulAlgo_t& algorithm) {
  return find_extent(kTiles, value_of<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID));
}

std::string tile_text(const cublasLtMatmulAlgo_t& algorithm) {
  if (const Extent* tile = find_tile(algorithm))
    return fmt::format("{}x{}", tile->rows, tile->columns);
  return fmt::format("#{}", value_of<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID));
}

bool transposed(Layout layout, bool first) {
  return layout == Layout::kTT || layout == (first ? Layout::kTN : Layout::kNT);
}

bool same(const cublasLtMatmulAlgo_t& a, const cublasLtMatmulAlgo_t& b) {
  return std::memcmp(a.data, b.data, sizeof(a.data)) == 0;
}

cublasLtMatmulMatrixScale_t scale_mode(const kernels::BlockFormat& format) {
  switch (format.scale_type) {
    case kernels::ScaleType::kUe8m0:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
    case kernels::ScaleType::kUe4m3:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
    case kernels::ScaleType::kFp32:
      break;
  }
  return format.block == 0   ? CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F
         : format.lines == 1 ? CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F
                             : CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
}

// Alpha or beta, in the type that the computation takes.
struct Scalar {
  Scalar(cudaDataType_t type, int value) {
    if (type == CUDA_R_64F) {
      const double number = value;
      std::memcpy(bytes.data(), &number, sizeof(number));
    } else if (type == CUDA_R_32I) {
      std::memcpy(bytes.data(), &value, sizeof(value));
    } else {
      const auto number = static_cast<float>(value);
      std::memcpy(bytes.data(), &number, sizeof(number));
    }
  }
  alignas(8) std::array<std::byte, 8> bytes{};
};

}  // namespace

void check_cublaslt(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw CublasLtError(
      fmt::format("cuBLASLt: {} in {}", cublaslt_library().get_status_name(status), call));
}

CublasLt::CublasLt() {
  check_cublaslt(cublaslt_library().create(&handle_), "cublasLtCreate");
  std::array<float, 2 * kScaleDistance> scales{};
  scales[0] = kXScale;
  scales[kScaleDistance] = kWScale;
  scales_.from_host(scales);
}
CublasLt::~CublasLt() { cublaslt_library().destroy(handle_); }

const char* to_string(Layout layout) {
  constexpr std::array kNames = {"NN", "NT", "TN", "TT"};
  return kNames.at(static_cast<std::size_t>(layout));
}

std::string GemmShape::name() const { return fmt::format("{}x{}x{}", m, n, k); }

std::string GemmAlgorithm::describe() const {
  std::string text =
      fmt::format("id {}, tile {}", value_of<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID),
                  tile_text(algorithm));
  // Settings that differ from their defaults.
  const auto add = [&](const char* name, std::int64_t value, std::int64_t otherwise) {
    if (value != otherwise) text += fmt::format(", {} {}", name, value);
  };
  add("stages", value_of<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID), 0);
  add("split-k", value_of<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM), 1);
  add("swizzle", value_of<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING), 0);
  add("custom", value_of<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION), 0);
  add("cluster", value_of<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID), 0);
  add("inner", value_of<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID), 0);
  return text;
}

std::optional<std::pair<std::int64_t, std::int64_t>> GemmAlgorithm::tile() const {
  const Extent* tile = find_tile(algorithm);
  if (tile == nullptr) return std::nullopt;
  return std::pair(std::int64_t{tile->columns}, std::int64_t{tile->rows});
}

std::optional<std::int64_t> GemmAlgorithm::tiles(const GemmShape& shape) const {
  const Extent* tile = find_tile(algorithm);
  const auto parts_of_k = value_of<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  // INT8 algorithms report -1, which is undocumented.
  if (tile == nullptr || parts_of_k < 0 || parts_of_k > 1) return std::nullopt;
  const Extent* known = find_extent(
      kClusters, value_of<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID));
  const Extent cluster = known != nullptr ? *known : Extent{.id = 0, .rows = 1, .columns = 1};
  const auto along = [](std::int64_t side, unsigned in_tile, unsigned in_cluster) {
    const std::int64_t covered = std::int64_t{in_tile} * in_cluster;
    return (side + covered - 1) / covered * in_cluster;
  };
  return along(shape.m, tile->columns, cluster.columns) * along(shape.n, tile->rows, cluster.rows);
}

template <class T>
void Gemm::set(cublasLtMatmulDescAttributes_t attribute, const T& value) const {
  check_cublaslt(
      cublaslt_library().desc_set_attribute(operation_, attribute, &value, sizeof(value)),
      "cublasLtMatmulDescSetAttribute");
}

Gemm::Gemm(const CublasLt& lt, const GemmTypes& types, const GemmShape& shape, Layout layout,
           unsigned sms)
    : lt_(lt), types_(types), shape_(shape), layout_(layout) {
  check_cublaslt(cublaslt_library().desc_create(&operation_, types.compute, types.scale),
                 "cublasLtMatmulDescCreate");
  const auto operation = [](bool is_transposed) {
    return is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  const bool w_transposed = transposed(layout, true), x_transposed = transposed(layout, false);
  set(CUBLASLT_MATMUL_DESC_TRANSA, operation(w_transposed));
  set(CUBLASLT_MATMUL_DESC_TRANSB, operation(x_transposed));
  if (types.w_blocks != nullptr && types.x_blocks != nullptr) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, scale_mode(*types.w_blocks));
    set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, scale_mode(*types.x_blocks));
  }
  // The heuristic needs addresses; launch() replaces those of block scales.
  if (types.scaled || types.w_blocks != nullptr) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, lt.w_scale());
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, lt.x_scale());
  }
  if (sms != 0) set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, static_cast<std::int32_t>(sms));
  if (types.fast_accumulation) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
  const auto make = [](cublasLtMatrixLayout_t& made, cudaDataType_t type, std::int64_t rows,
                       std::int64_t columns) {
    check_cublaslt(cublaslt_library().layout_create(&made, type, static_cast<std::uint64_t>(rows),
                                                    static_cast<std::uint64_t>(columns), rows),
                   "cublasLtMatrixLayoutCreate");
  };
  const auto& [m, n, k] = shape;
  make(w_, types.w, w_transposed ? k : n, w_transposed ? n : k);
  make(x_, types.x, x_transposed ? m : k, x_transposed ? k : m);
  make(y_, types.y, n, m);
}

Gemm::~Gemm() {
  for (const cublasLtMatrixLayout_t layout : {w_, x_, y_})
    if (layout != nullptr) cublaslt_library().layout_destroy(layout);
  if (operation_ != nullptr) cublaslt_library().desc_destroy(operation_);
}

std::vector<GemmAlgorithm> Gemm::algorithms(int count) const {
  cublasLtMatmulPreference_t preference = nullptr;
  check_cublaslt(cublaslt_library().preference_create(&preference),
                 "cublasLtMatmulPreferenceCreate");
  const std::size_t workspace = lt_.workspace_bytes();
  cublaslt_library().preference_set_attribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                              &workspace, sizeof(workspace));
  const std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  cublaslt_library().preference_set_attribute(
      preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof(reductions));
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(count));
  int found = 0;
  const cublasStatus_t status = cublaslt_library().algo_get_heuristic(
      lt_.handle(), operation_, w_, x_, y_, y_, preference, count, results.data(), &found);
  cublaslt_library().preference_destroy(preference);
  std::vector<GemmAlgorithm> algorithms;
  // The library has no algorithm, which is not an error; it rejects some layouts as invalid values.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH ||
      status == CUBLAS_STATUS_INVALID_VALUE)
    return algorithms;
  check_cublaslt(status, "cublasLtMatmulAlgoGetHeuristic");
  for (int i = 0; i < found; ++i) {
    const auto& result = results[static_cast<std::size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS)
      algorithms.push_back({.algorithm = result.algo, .workspace_bytes = result.workspaceSize});
  }
  return algorithms;
}

bool Gemm::takes(GemmAlgorithm& algorithm) const {
  cublasLtMatmulHeuristicResult_t result{};
  if (cublaslt_library().algo_check(lt_.handle(), operation_, w_, x_, y_, y_, &algorithm.algorithm,
                                    &result) != CUBLAS_STATUS_SUCCESS ||
      result.workspaceSize > lt_.workspace_bytes())
    return false;
  algorithm.workspace_bytes = result.workspaceSize;
  return true;
}

std::vector<GemmAlgorithm> Gemm::neighbours(const GemmAlgorithm& algorithm) const {
  std::vector<GemmAlgorithm> found;
  const auto add = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, auto value) {
    GemmAlgorithm changed = algorithm;
    if (!set_value(changed.algorithm, attribute, value)) return;
    if (same(changed.algorithm, algorithm.algorithm) || !takes(changed)) return;
    found.push_back(changed);
  };
  for (std::uint32_t swizzle = 0; swizzle <= 1; ++swizzle)
    add(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, swizzle);
  for (std::uint16_t cluster = CUBLASLT_CLUSTER_SHAPE_1x1x1;
       cluster <= CUBLASLT_CLUSTER_SHAPE_4x4x1; ++cluster)
    add(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, cluster);
  std::int32_t most_options = 0;
  std::size_t written = 0;
  cublaslt_library().algo_cap_get_attribute(&algorithm.algorithm,
                                            CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX, &most_options,
                                            sizeof(most_options), &written);
  for (std::int32_t option = 0; option <= most_options; ++option)
    add(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, static_cast<std::uint32_t>(option));
  return found;
}

void Gemm::launch(const GemmAlgorithm& algorithm, const Operands& operands,
                  cudaStream_t stream) const {
  if (types_.w_blocks != nullptr) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, operands.w_scales);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, operands.x_scales);
  }
  const Scalar one(types_.scale, 1), zero(types_.scale, 0);
  check_cublaslt(cublaslt_library().matmul(lt_.handle(), operation_, one.bytes.data(), operands.w,
                                           w_, operands.x, x_, zero.bytes.data(), operands.y, y_,
                                           operands.y, y_, &algorithm.algorithm, lt_.workspace(),
                                           lt_.workspace_bytes(), stream),
                 "cublasLtMatmul");
}

std::string cublaslt_version() try {
  // Major x 10000 + minor x 100 + patch, since cuBLAS 12.
  const auto version = cublaslt_library().get_version();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
} catch (const CublasLtMissing&) {
  return "";
}

}  // namespace peakline::bench
