#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "harness/benchmark/cuda_data.cuh"
#include "kernels/stream.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;
// Large enough to tell candidates apart, and four times as fast as the largest footprint.
constexpr std::size_t kSearchFootprint = std::size_t{2} << 30;
// Below this multiple of the L2, part of the traffic never reaches memory.
constexpr double kLeastFootprintInL2 = 4;
// All rounds of a search take 0.15 (copy) to 0.23 s (write) on an H200. With 0.1 s the last round
// is cut short, and one quick run of 16 took a shape that copies 0.57 % less.
constexpr double kSearchSeconds = 0.4, kSearchSecondsQuick = 0.25;
constexpr float kTriadScale = 0.4f;

struct Shape {
  unsigned threads;  // per block
  int unroll;        // vectors per thread
};
constexpr std::array<unsigned, 4> kThreads{128, 256, 512, 1024};
constexpr std::array<int, 4> kUnrolls{1, 2, 4, 8};

// Calls f(std::integral_constant<int, unroll>) for an unroll of kUnrolls.
template <class F>
void with_unroll(int unroll, F f) {
  switch (unroll) {
    case 1:
      return f(std::integral_constant<int, 1>{});
    case 2:
      return f(std::integral_constant<int, 2>{});
    case 4:
      return f(std::integral_constant<int, 4>{});
    default:
      return f(std::integral_constant<int, 8>{});
  }
}

// Bytes per array, of `arrays` that share the point's footprint or, if less, the free memory. Skips
// the point if they are too small for the L2.
std::size_t bytes_of_array(CudaBench& bench, std::size_t arrays) {
  const std::size_t granule = arrays * sizeof(uint4);
  const auto footprint = int_param(bench.record().params, "bytes");
  const std::size_t bytes =
      (footprint ? bench.fit_memory(static_cast<std::size_t>(*footprint), granule)
                 : bench.whole_memory(granule)) /
      arrays;
  if (static_cast<double>(bytes * arrays) <
      kLeastFootprintInL2 * bench.device().l2_bytes.value_or(0))
    throw Skipped("footprint below 4 x L2: would measure the cache");
  return bytes;
}

enum class Pattern { kRead, kWrite, kCopy, kTriad };

constexpr std::size_t arrays_of(Pattern pattern) {
  return pattern == Pattern::kTriad ? 3 : pattern == Pattern::kCopy ? 2 : 1;
}

template <class Vec>
class Stream {
 public:
  // bytes: per array.
  Stream(CudaBench& bench, Pattern pattern, std::size_t bytes)
      : bench_(bench),
        pattern_(pattern),
        words_(bytes / sizeof(std::uint32_t)),
        count_(bytes / sizeof(Vec)) {
    for (std::size_t i = 0; i < arrays_of(pattern); ++i)
      data_[i] = pattern == Pattern::kTriad ? floats(bench.seed() + i)
                                            : random_words(words_, bench.seed() + i);
    if (pattern == Pattern::kRead)
      partials_ = DeviceBuffer<std::uint32_t>(blocks_of({kThreads.front(), kUnrolls.front()}));
  }

  double array_bytes() const { return static_cast<double>(count_ * sizeof(Vec)); }

  CudaBench::Launch launch(const Shape& shape) const {
    return [this, shape](cudaStream_t stream) {
      with_unroll(shape.unroll, [&](auto unroll) {
        constexpr int kUnroll = unroll;
        const unsigned threads = shape.threads;
        const unsigned blocks = blocks_of(shape);
        const auto vec = [this](int i) { return reinterpret_cast<Vec*>(data_[i].data()); };
        switch (pattern_) {
          case Pattern::kRead:
            return kernels::stream_read<Vec, kUnroll>
                <<<blocks, threads, 0, stream>>>(vec(0), count_, partials_.data());
          case Pattern::kWrite:
            return kernels::stream_write<Vec, kUnroll>
                <<<blocks, threads, 0, stream>>>(vec(0), count_, kWritten);
          case Pattern::kCopy:
            return kernels::stream_copy<Vec, kUnroll>
                <<<blocks, threads, 0, stream>>>(vec(0), vec(1), count_);
          case Pattern::kTriad:
            return kernels::stream_triad<Vec, kUnroll>
                <<<blocks, threads, 0, stream>>>(vec(0), vec(1), vec(2), kTriadScale, count_);
        }
      });
    };
  }

  std::string find_mismatch(const Shape& shape) const {
    if (pattern_ == Pattern::kRead) poison(partials_, bench_.stream());
    bench_.launch_once(launch(shape));
    const auto words = [this](int i) { return data_[i].data(); };
    switch (pattern_) {
      case Pattern::kRead:
        return xor_of(partials_.data(), blocks_of(shape)) == xor_of(words(0), words_)
                   ? ""
                   : "the XOR of the data read differs";
      case Pattern::kWrite:
        return count_differences("pattern written", [&](unsigned long long* differences) {
          kernels::reference_pattern<<<kAnyBlocks, kAnyThreads>>>(words(0), kWritten, words_,
                                                                  differences);
        });
      case Pattern::kCopy:
        return count_differences("copy", [&](unsigned long long* differences) {
          kernels::reference_compare<<<kAnyBlocks, kAnyThreads>>>(words(0), words(1), words_,
                                                                  differences);
        });
      case Pattern::kTriad:
        return count_differences("triad", [&](unsigned long long* differences) {
          const auto floats_of = [&](int i) { return reinterpret_cast<const float*>(words(i)); };
          kernels::reference_triad<<<kAnyBlocks, kAnyThreads>>>(
              floats_of(0), floats_of(1), floats_of(2), kTriadScale, words_, differences);
        });
    }
    return "";
  }

 private:
  static constexpr std::uint32_t kWritten = 0x9e3779b9u;

  DeviceBuffer<std::uint32_t> floats(std::uint64_t seed) const {
    DeviceBuffer<std::uint32_t> buffer(words_);
    kernels::fill_normal<<<kAnyBlocks, kAnyThreads>>>(reinterpret_cast<float*>(buffer.data()),
                                                      words_, seed);
    PEAKLINE_CUDA(cudaDeviceSynchronize());
    return buffer;
  }

  unsigned blocks_of(const Shape& shape) const {
    return kernels::stream_blocks(count_, shape.threads, shape.unroll);
  }

  CudaBench& bench_;
  Pattern pattern_;
  std::size_t words_, count_;
  std::array<DeviceBuffer<std::uint32_t>, 3> data_;
  DeviceBuffer<std::uint32_t> partials_;  // of a read, for any shape
};

// A triad has two vectors in flight for each of another pattern's. The first of equal shapes wins:
// for reads the largest tile, since on some H200s small ones lose 3 % over the whole memory.
std::vector<Shape> shapes(Pattern pattern) {
  std::vector<Shape> all;
  for (const int unroll : kUnrolls)
    for (const unsigned threads : kThreads)
      if (pattern != Pattern::kTriad || unroll < kUnrolls.back()) all.push_back({threads, unroll});
  if (pattern == Pattern::kRead)
    std::ranges::stable_sort(all, std::greater{}, [](const Shape& shape) {
      return shape.threads * static_cast<unsigned>(shape.unroll);
    });
  return all;
}

template <class Vec>
void measure_pattern(CudaBench& bench, Pattern pattern) {
  const std::size_t bytes = bytes_of_array(bench, arrays_of(pattern));
  const std::vector<Shape> candidates = shapes(pattern);
  const auto best = bench.remember<std::size_t>(
      bench.record().id + std::to_string(sizeof(Vec)), [&]() -> std::size_t {
        const std::size_t arrays = arrays_of(pattern);
        const Stream<Vec> stream(
            bench, pattern,
            bench.fitting_memory(kSearchFootprint, arrays * sizeof(uint4)) / arrays);
        return bench.search(
            candidates.size(), [&](std::size_t i) { return stream.launch(candidates[i]); },
            bench.options().quick ? kSearchSecondsQuick : kSearchSeconds);
      });
  const Shape shape = candidates[best];
  const Stream<Vec> stream(bench, pattern, bytes);
  bench.note("threads", static_cast<std::int64_t>(shape.threads));
  bench.note("unroll", std::int64_t{shape.unroll});
  bench.verify([&] { return stream.find_mismatch(shape); });
  Work work;
  const double moved = stream.array_bytes();
  if (pattern != Pattern::kWrite) work.bytes_read = pattern == Pattern::kTriad ? 2 * moved : moved;
  if (pattern != Pattern::kRead) work.bytes_written = moved;
  if (pattern == Pattern::kTriad) work.flops = moved / sizeof(float) * 2;
  bench.measure(work, stream.launch(shape));
}

void measure_stream(CudaBench& bench, Pattern pattern) {
  switch (bench.integer("width")) {
    case 4:
      return measure_pattern<std::uint32_t>(bench, pattern);
    case 8:
      return measure_pattern<uint2>(bench, pattern);
    default:
      return measure_pattern<uint4>(bench, pattern);
  }
}

}  // namespace

void hbm_read(CudaBench& bench) { measure_stream(bench, Pattern::kRead); }
void hbm_write(CudaBench& bench) { measure_stream(bench, Pattern::kWrite); }
void hbm_copy(CudaBench& bench) { measure_stream(bench, Pattern::kCopy); }
void hbm_triad(CudaBench& bench) { measure_stream(bench, Pattern::kTriad); }

void hbm_memcpy(CudaBench& bench) {
  const std::size_t bytes = bytes_of_array(bench, 2);
  const auto from = random_words(bytes / sizeof(std::uint32_t), bench.seed());
  const DeviceBuffer<std::uint32_t> to(from.size());
  const auto launch = [&](cudaStream_t stream) {
    PEAKLINE_CUDA(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream));
  };
  bench.verify([&] {
    poison(to, bench.stream());
    bench.launch_once(launch);
    return count_differences("cudaMemcpy", [&](unsigned long long* differences) {
      kernels::reference_compare<<<kAnyBlocks, kAnyThreads>>>(from.data(), to.data(), from.size(),
                                                              differences);
    });
  });
  const auto moved = static_cast<double>(bytes);
  bench.measure({.bytes_read = moved, .bytes_written = moved}, launch);
}

void hbm_memset(CudaBench& bench) {
  constexpr int kByte = 0xa5;
  constexpr std::uint32_t kWord = 0x01010101u * kByte;
  const std::size_t bytes = bytes_of_array(bench, 1);
  const DeviceBuffer<std::uint32_t> data(bytes / sizeof(std::uint32_t));
  const auto launch = [&](cudaStream_t stream) {
    PEAKLINE_CUDA(cudaMemsetAsync(data.data(), kByte, bytes, stream));
  };
  bench.verify([&] {
    poison(data, bench.stream());
    bench.launch_once(launch);
    return count_differences("cudaMemset", [&](unsigned long long* differences) {
      kernels::reference_constant<<<kAnyBlocks, kAnyThreads>>>(data.data(), kWord, data.size(),
                                                               differences);
    });
  });
  bench.measure({.bytes_written = static_cast<double>(bytes)}, launch);
}

}  // namespace peakline::bench
