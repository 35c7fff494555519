// Measures transpositions, with the faster of two sizes of a tile.

#include <array>

#include "harness/benchmark/cuda_data.cuh"
#include "kernels/transpose.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

constexpr double kSearchSeconds = 0.04;

template <class Element, int kLines>
CudaBench::Launch launch_of(const DeviceBuffer<std::uint32_t>& from,
                            const DeviceBuffer<std::uint32_t>& to, unsigned batch, unsigned rows,
                            unsigned columns) {
  return [&from, &to, batch, rows, columns](cudaStream_t stream) {
    const dim3 grid(kernels::transpose_tiles<Element, kLines>(rows, columns), batch);
    kernels::transpose<Element, kLines><<<grid, kernels::kTransposeThreads, 0, stream>>>(
        reinterpret_cast<const uint4*>(from.data()), reinterpret_cast<uint4*>(to.data()), rows,
        columns);
  };
}

template <class Element>
void measure(CudaBench& bench) {
  const auto size = [&](const char* name) { return static_cast<unsigned>(bench.integer(name)); };
  const unsigned batch = size("batch"), rows = size("rows"), columns = size("columns");
  const std::size_t bytes = std::size_t{batch} * rows * columns * sizeof(Element);
  if (cuda::free_memory_bytes() < 2.0 * static_cast<double>(bytes))
    throw Skipped("less free memory than both arrays need");
  const auto from = random_words(bytes / sizeof(std::uint32_t), bench.seed());
  const DeviceBuffer<std::uint32_t> to(from.size());
  const std::array<CudaBench::Launch, 2> candidates = {
      launch_of<Element, 1>(from, to, batch, rows, columns),
      launch_of<Element, 2>(from, to, batch, rows, columns)};
  const std::size_t best = bench.search(
      candidates.size(), [&](std::size_t i) { return candidates[i]; }, kSearchSeconds);
  bench.note("bytes_of_tile_row", std::int64_t{128} * (best == 0 ? 1 : 2));
  bench.verify([&] {
    poison(to, bench.stream());
    bench.launch_once(candidates[best]);
    return count_differences("transposition", [&](unsigned long long* differences) {
      kernels::reference_transpose<<<kAnyBlocks, kAnyThreads>>>(
          reinterpret_cast<const Element*>(from.data()),
          reinterpret_cast<const Element*>(to.data()), batch, rows, columns, differences);
    });
  });
  const auto moved = static_cast<double>(bytes);
  bench.measure({.bytes_read = moved, .bytes_written = moved}, candidates[best]);
}

}  // namespace

void layout_transpose(CudaBench& bench) {
  if (bench.integer("element") == 2) return measure<std::uint16_t>(bench);
  return measure<std::uint32_t>(bench);
}

}  // namespace peakline::bench
