#include <algorithm>
#include <array>
#include <map>

#include "bench/soak/tile.hpp"
#include "kernels/verify.cuh"

namespace peakline::bench {
namespace {

constexpr unsigned kWarps = kernels::kCheckedThreads / 32;

template <class F>
constexpr TileFormat tile_format(std::string_view name, cudaDataType_t operands) {
  using Word = typename kernels::MmaTile<F>::Word;
  return {.name = name,
          .operands = operands,
          .exists = F::exists,
          .version_of_code =
              [] {
                cudaFuncAttributes attributes{};
                PEAKLINE_CUDA(cudaFuncGetAttributes(&attributes, kernels::check_tile<F>));
                return attributes.binaryVersion;
              },
          .words = kernels::kCheckedWords<F>,
          .step_bytes = kernels::kCheckedStepBytes<F>,
          .enqueue =
              [](const std::byte* x, const std::byte* w, unsigned steps, unsigned trips,
                 const std::uint32_t* expected, std::uint32_t* results, std::uint32_t* sm_of_block,
                 kernels::DifferenceLog* log, unsigned blocks, std::size_t shared_bytes,
                 cudaStream_t stream) {
                PEAKLINE_CUDA(cudaFuncSetAttribute(kernels::check_tile<F>,
                                                   cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   static_cast<int>(shared_bytes)));
                kernels::check_tile<F><<<blocks, kernels::kCheckedThreads, shared_bytes, stream>>>(
                    reinterpret_cast<const Word*>(x), reinterpret_cast<const Word*>(w), steps,
                    trips, expected, results, sm_of_block, log);
                PEAKLINE_CUDA(cudaGetLastError());
              }};
}

constexpr std::array kTileFormats = {tile_format<kernels::mma_sync::Fp64>("fp64", CUDA_R_64F),
                                     tile_format<kernels::mma_sync::Tf32>("tf32", CUDA_R_32F),
                                     tile_format<kernels::mma_sync::Bf16>("bf16", CUDA_R_16BF),
                                     tile_format<kernels::mma_sync::Fp16>("fp16", CUDA_R_16F),
                                     tile_format<kernels::mma_sync::Fp8>("fp8", CUDA_R_8F_E4M3),
                                     tile_format<kernels::mma_sync::Int8>("int8", CUDA_R_8I)};

// Leaves no room for a second block, and the rest to the L1, which holds the operands.
std::size_t more_than_half_of_shared() {
  int most = 0, device = 0;
  PEAKLINE_CUDA(cudaGetDevice(&device));
  PEAKLINE_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
  constexpr std::size_t kStep = 1024;
  return (static_cast<std::size_t>(most) / 2 + kStep) / kStep * kStep;
}

}  // namespace

const TileFormat* find_tile_format(std::string_view name, const DeviceFacts& device) {
  const int version = device.compute_major * 10 + device.compute_minor;
  const auto found = std::ranges::find(kTileFormats, name, &TileFormat::name);
  if (found == kTileFormats.end() || !found->exists(version)) return nullptr;
  // Code for an older device runs on a newer one, but lacks instructions that the older has not.
  return found->exists(found->version_of_code()) ? &*found : nullptr;
}

const TileFormat* find_holding_tile_format(std::string_view name, const DeviceFacts& device) {
  const TileFormat* const own = find_tile_format(name, device);
  return own == nullptr && name == "fp8" ? find_tile_format("fp16", device) : own;
}

TileOnEachSm::TileOnEachSm(CudaBench& bench, const TileFormat& format, const Numbers& x,
                           const Numbers& w, std::int64_t k, std::optional<unsigned> break_first)
    : format_(format),
      x_(x),
      w_(w),
      k_(k),
      blocks_(bench.sm_count()),
      shared_bytes_(more_than_half_of_shared()),
      expected_(format.words),
      results_(std::size_t{blocks_} * kWarps * format.words),
      sm_of_block_(blocks_) {
  find_expected(bench, break_first);
}

CudaBench::Launch TileOnEachSm::launch(unsigned trips) const {
  const auto steps = static_cast<unsigned>(x_.bytes() / kernels::kCheckedRows / format_.step_bytes);
  return [this, steps, trips](cudaStream_t stream) {
    format_.enqueue(x_.data(), w_.data(), steps, trips, expected_.data(), results_.data(),
                    sm_of_block_.data(), differences_.data(), blocks_, shared_bytes_, stream);
    compared_words_ += words_of(trips);
  };
}

double TileOnEachSm::flops(unsigned trips) const {
  return 2.0 * kernels::kCheckedRows * kernels::kCheckedColumns * static_cast<double>(k_) *
         static_cast<double>(trips) * kWarps * blocks_;
}

double TileOnEachSm::words_of(unsigned trips) const {
  return static_cast<double>(format_.words) * trips * kWarps * blocks_;
}

void TileOnEachSm::find_expected(CudaBench& bench, std::optional<unsigned> break_first) {
  const auto steps = static_cast<unsigned>(x_.bytes() / kernels::kCheckedRows / format_.step_bytes);
  bench.launch_once([&](cudaStream_t stream) {
    format_.enqueue(x_.data(), w_.data(), steps, 1, nullptr, results_.data(), sm_of_block_.data(),
                    differences_.data(), blocks_, shared_bytes_, stream);
  });
  compared_words_ += words_of(1);
  std::vector<std::uint32_t> all = results_.to_host();
  const std::vector<std::uint32_t> sms = sm_of_block_.to_host();
  if (break_first) all[std::size_t{*break_first} * kWarps * format_.words] ^= 1;
  const auto of_warp = [&](std::size_t warp) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(warp * format_.words);
    return std::vector<std::uint32_t>(first, first + format_.words);
  };
  const std::size_t warps = all.size() / format_.words;
  std::map<std::vector<std::uint32_t>, std::size_t> votes;
  for (std::size_t warp = 0; warp < warps; ++warp) ++votes[of_warp(warp)];
  const auto& most =
      std::ranges::max_element(votes, {}, [](const auto& v) { return v.second; })->first;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint32_t expected = most[i % format_.words];
    if (all[i] != expected)
      at_first_.push_back({.word = i % format_.words,
                           .nanoseconds = 0,
                           .expected = expected,
                           .found = all[i],
                           .sm = sms[i / format_.words / kWarps]});
  }
  expected_.from_host(most);
}

kernels::DifferenceLog TileOnEachSm::read() const {
  const kernels::DifferenceLog later = differences_.read();
  kernels::DifferenceLog all = later;
  const std::size_t first = std::min<std::size_t>(at_first_.size(), kernels::kKeptDifferences);
  std::copy_n(at_first_.begin(), first, all.kept);
  std::copy_n(later.kept, kernels::kKeptDifferences - first, all.kept + first);
  all.count += at_first_.size();
  return all;
}

std::vector<std::uint32_t> TileOnEachSm::odd_sms() const {
  std::vector<std::uint32_t> odd;
  const kernels::DifferenceLog log = read();
  for (unsigned long long i = 0; i < log.count && i < kernels::kKeptDifferences; ++i)
    odd.push_back(log.kept[i].sm);
  std::ranges::sort(odd);
  odd.erase(std::ranges::unique(odd).begin(), odd.end());
  return odd;
}

}  // namespace peakline::bench
