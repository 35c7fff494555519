#include <array>
#include <type_traits>

#include "harness/benchmark/cuda_data.cuh"
#include "kernels/update.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

// Many times an L2, and long compared with launch overhead.
constexpr std::size_t kBytes = std::size_t{2} << 30;
// Below this multiple of the L2, part of the traffic never reaches memory.
constexpr double kLeastBytesInL2 = 4;
constexpr double kSearchSeconds = 0.2;

struct Shape {
  unsigned threads;  // per block
  int unroll;        // elements per thread
};
constexpr std::array kShapes = {Shape{1024, 8}, Shape{512, 8}, Shape{256, 8}, Shape{1024, 4},
                                Shape{512, 4},  Shape{256, 4}, Shape{512, 1}, Shape{256, 1}};

template <class Element>
void launch_update(const DeviceBuffer<std::uint32_t>& data, const Shape& shape,
                   cudaStream_t stream) {
  const std::size_t count = data.size() * sizeof(std::uint32_t) / sizeof(Element);
  const auto launch = [&](auto unroll) {
    constexpr int kUnroll = decltype(unroll)::value;
    kernels::update_in_place<Element, kUnroll>
        <<<kernels::stream_blocks(count, shape.threads, kUnroll), shape.threads, 0, stream>>>(
            reinterpret_cast<Element*>(data.data()), count);
  };
  if (shape.unroll == 8) return launch(std::integral_constant<int, 8>{});
  if (shape.unroll == 4) return launch(std::integral_constant<int, 4>{});
  return launch(std::integral_constant<int, 1>{});
}

template <class Element>
void measure(CudaBench& bench) {
  const std::size_t bytes = bench.fit_memory(2 * kBytes, 2 * sizeof(uint4)) / 2;
  if (static_cast<double>(bytes) < kLeastBytesInL2 * bench.device().l2_bytes.value_or(0))
    throw Skipped("array below 4 x L2: would measure the cache");
  const std::size_t words = bytes / sizeof(std::uint32_t);
  const auto before = random_words(words, bench.seed());
  const DeviceBuffer<std::uint32_t> data(words);
  const auto launch_of = [&](std::size_t shape) -> CudaBench::Launch {
    return [&data, shape](cudaStream_t stream) {
      launch_update<Element>(data, kShapes[shape], stream);
    };
  };
  PEAKLINE_CUDA(cudaMemcpy(data.data(), before.data(), bytes, cudaMemcpyDeviceToDevice));
  const std::size_t best = bench.search(kShapes.size(), launch_of, kSearchSeconds);
  bench.note("threads", static_cast<std::int64_t>(kShapes[best].threads));
  bench.note("unroll", std::int64_t{kShapes[best].unroll});
  const CudaBench::Launch launch = launch_of(best);
  bench.verify([&] {
    PEAKLINE_CUDA(cudaMemcpyAsync(data.data(), before.data(), bytes, cudaMemcpyDeviceToDevice,
                                  bench.stream()));
    bench.launch_once(launch);
    return count_differences("update", [&](unsigned long long* differences) {
      kernels::reference_update<Element>
          <<<kAnyBlocks, kAnyThreads>>>(before.data(), data.data(), words, differences);
    });
  });
  const auto moved = static_cast<double>(bytes);
  bench.measure({.bytes_read = moved, .bytes_written = moved}, launch);
}

}  // namespace

void hbm_update(CudaBench& bench) {
  switch (bench.integer("element")) {
    case 1:
      return measure<std::uint8_t>(bench);
    case 2:
      return measure<std::uint16_t>(bench);
    case 4:
      return measure<std::uint32_t>(bench);
    case 8:
      return measure<uint2>(bench);
    default:
      return measure<uint4>(bench);
  }
}

}  // namespace peakline::bench
