#include "harness/benchmark/cuda_data.cuh"
#include "kernels/transpose.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

template <class Element>
void measure(CudaBench& bench) {
  const auto size = [&](const char* name) { return static_cast<unsigned>(bench.integer(name)); };
  const unsigned batch = size("batch"), rows = size("rows"), columns = size("columns");
  const std::size_t bytes = std::size_t{batch} * rows * columns * sizeof(Element);
  if (cuda::free_memory_bytes() < 2.0 * static_cast<double>(bytes))
    throw Skipped("less free memory than both arrays need");
  const auto from = random_words(bytes / sizeof(std::uint32_t), bench.seed());
  const DeviceBuffer<std::uint32_t> to(from.size());
  const CudaBench::Launch launch = [&](cudaStream_t stream) {
    const dim3 grid(kernels::transpose_tiles<Element>(rows, columns), batch);
    kernels::transpose<Element><<<grid, kernels::kTransposeThreads, 0, stream>>>(
        reinterpret_cast<const uint4*>(from.data()), reinterpret_cast<uint4*>(to.data()), rows,
        columns);
  };
  bench.verify([&] {
    poison(to, bench.stream());
    bench.launch_once(launch);
    return count_differences("transposition", [&](unsigned long long* differences) {
      kernels::reference_transpose<<<kAnyBlocks, kAnyThreads>>>(
          reinterpret_cast<const Element*>(from.data()),
          reinterpret_cast<const Element*>(to.data()), batch, rows, columns, differences);
    });
  });
  const auto moved = static_cast<double>(bytes);
  bench.measure({.bytes_read = moved, .bytes_written = moved}, launch);
}

}  // namespace

void layout_transpose(CudaBench& bench) {
  if (bench.integer("element") == 2) return measure<std::uint16_t>(bench);
  return measure<std::uint32_t>(bench);
}

}  // namespace peakline::bench
