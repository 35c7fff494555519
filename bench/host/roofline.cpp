// What do the host's threads reach at each arithmetic intensity, from memory?

#include <bit>
#include <memory>

#include "bench/host/kernels.hpp"
#include "bench/question.hpp"
#include "harness/benchmark/host_bench.hpp"

namespace peakline::bench {
namespace {

constexpr std::int64_t kMostFma = 1024;
// A launch takes one piece of a slice, so that 1024 FMAs per element take about as long as 4.
constexpr std::int64_t kMostPieces = 256;
std::size_t pieces_of(std::int64_t fma_per_element) {
  return static_cast<std::size_t>(std::clamp<std::int64_t>(fma_per_element / 4, 1, kMostPieces));
}
// Three pages: a multiple of every kernel's step of 12 or 16 vectors of up to 64 bytes.
constexpr std::size_t kStepBytes = 3 * std::size_t{4096};

// Bounds the reference's time when there are many FMAs per element.
constexpr std::int64_t kVerifiedFma = 1 << 20;

// Filled once: all points read the same data with the same threads.
std::shared_ptr<const HostArrays> random_floats(HostBench& bench, int threads) {
  auto arrays = std::make_shared<HostArrays>(bench, 1, threads, kStepBytes * kMostPieces);
  const std::size_t words = arrays->slice_bytes() / sizeof(std::uint64_t);
  bench.team(threads).run([&](int thread) {
    auto* const data = arrays->slice<float>(0, thread);
    const auto in_1_to_2 = [](std::uint32_t bits) {
      return std::bit_cast<float>(0x3f800000u | (bits >> 9));
    };
    for (std::size_t i = 0; i < words; ++i) {
      const std::uint64_t word =
          random_word(bench.seed(), static_cast<std::uint64_t>(thread) * words + i);
      data[2 * i] = in_1_to_2(static_cast<std::uint32_t>(word));
      data[2 * i + 1] = in_1_to_2(static_cast<std::uint32_t>(word >> 32));
    }
  });
  return arrays;
}

std::string find_mismatch(const HostKernels& kernels, const float* data, std::int64_t n) {
  const std::size_t step = kStepBytes / sizeof(float);
  const auto count =
      step * std::max<std::size_t>(
                 1, static_cast<std::size_t>(kVerifiedFma / std::max<std::int64_t>(n, 1)) / step);
  std::uint32_t expected = 0;
  for (std::size_t i = 0; i < count; ++i)
    expected += std::bit_cast<std::uint32_t>(
        reference_fma_chain(kernels.fused, data[i], kFmaFactor<float>, kFmaAddend<float>, n));
  const std::uint32_t sum =
      kernels.sweep_fp32(data, count, n, kFmaFactor<float>, kFmaAddend<float>);
  return sum == expected ? ""
                         : fmt::format("sum of {} results {:#x}, not {:#x}", count, sum, expected);
}

struct alignas(64) Cursor {
  std::size_t piece = 0;
  std::uint32_t sum = 0;
};

void sweep(HostBench& bench, int threads) {
  const std::int64_t n = bench.integer("fma_per_element");
  const HostKernels& kernels = widest_host_kernels();
  using Shared = std::shared_ptr<const HostArrays>;
  const HostArrays& arrays =
      *bench.remember<Shared>("host.roofline.data", [&] { return random_floats(bench, threads); });
  bench.verify([&] { return find_mismatch(kernels, arrays.slice<float>(0, 0), n); });

  const std::size_t pieces = pieces_of(n);
  const std::size_t elements = arrays.slice_bytes() / sizeof(float) / pieces;
  std::vector<Cursor> cursors(static_cast<std::size_t>(threads));
  // Continues where the last launch ended, so that other pieces evict a piece before its next use.
  const auto launch = [&](int thread) {
    Cursor& cursor = cursors[static_cast<std::size_t>(thread)];
    const float* const data = arrays.slice<float>(0, thread) + cursor.piece * elements;
    cursor.sum += kernels.sweep_fp32(data, elements, n, kFmaFactor<float>, kFmaAddend<float>);
    cursor.piece = (cursor.piece + 1) % pieces;
  };
  bench.note("vector", std::string(to_string(kernels.extension)));
  arrays.describe(bench);
  const double total = static_cast<double>(elements) * threads;
  bench.measure({.bytes_read = total * sizeof(float), .flops = 2 * static_cast<double>(n) * total},
                launch, threads);
}

}  // namespace

void register_host_roofline(Registry& registry, int threads) {
  std::vector<ParamValue> fmas = {0};
  std::ranges::copy(multiples(1, kMostFma), std::back_inserter(fmas));
  registry.add({.id = "host.roofline.sweep.fp32",
                .what = "FP32 throughput on data from host memory, by FMAs per element",
                .work = "2 FLOP per FMA, 4 bytes read per element",
                .quantity = Quantity::kFlopRate,
                .loads = Loads::kHost,
                .limit = no_limit("the peaks of the CPU and its memory are not known"),
                .curves = {knee_curve("roofline sweep")},
                .roofline_precision = "fp32",
                .points = points_over("fma_per_element", std::move(fmas),
                                      {.phase = Phase::kHost, .seconds = 0.1})},
               [threads](HostBench& bench) { sweep(bench, threads); });
}

}  // namespace peakline::bench
