#include <array>
#include <string>
#include <vector>

#include "bench/pipeline.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "kernels/fusion.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

// Several times the L2, so that no step finds the previous one's result there.
constexpr std::size_t kLargeBytes = std::size_t{256} << 20;
constexpr double kLargeL2s = 4;
// A bias, an activation, a dropout and a residual take as many.
constexpr std::int64_t kSmallSteps = 4;
constexpr double kSearchSeconds = 0.05;
constexpr std::array kThreads = {128u, 256u, kernels::kMostSumThreads};

template <int kArrays>
struct Shape {
  void (*kernel)(kernels::Arrays<kArrays>, float4*, std::size_t);
  int unroll;
  unsigned threads;
};
template <int kArrays>
std::vector<Shape<kArrays>> shapes() {
  std::vector<Shape<kArrays>> all;
  for (const unsigned threads : kThreads) {
    all.push_back({kernels::sum_arrays<kArrays, 1>, 1, threads});
    all.push_back({kernels::sum_arrays<kArrays, 2>, 2, threads});
    if constexpr (kArrays <= 3) all.push_back({kernels::sum_arrays<kArrays, 4>, 4, threads});
  }
  return all;
}

using Launch = CudaBench::Launch;

// Random arrays, one more than the chain has steps, and buffers for their sums.
class Chain {
 public:
  Chain(CudaBench& bench, std::int64_t steps, std::int64_t bytes)
      : bench_(bench),
        steps_(static_cast<int>(steps)),
        words_(static_cast<std::size_t>(bytes) / sizeof(float)),
        arrays_(random_normal<float>((steps + 1) * words_, bench.seed())) {
    for (auto& sum : sums_) sum = DeviceBuffer<float>(words_);
  }

  Launch fused() const {
    switch (steps_) {
      case 2:
        return fused<3>();
      case 4:
        return fused<5>();
      default:
        return fused<9>();
    }
  }
  // The sums alternate between two buffers, as from an allocator that reuses freed memory.
  Launch separate() const {
    const Shape<2> shape = fastest<2>();
    return Launch(
        [this, shape](cudaStream_t stream) {
          for (int step = 0; step < steps_; ++step) {
            const float* const sum = step == 0 ? array(0) : sums_[1 - step % 2].data();
            enqueue<2>(stream, shape, {vectors(sum), vectors(array(step + 1))},
                       sums_[step % 2].data());
          }
        },
        {.operations = steps_});
  }

  std::string find_mismatch(const Launch& launch, bool fused) const {
    const DeviceBuffer<float>& found = sums_[fused ? 0 : 1 - steps_ % 2];
    poison(found, bench_.stream());
    bench_.launch_once(launch);
    return count_differences("sum", [&](unsigned long long* differences) {
      kernels::reference_sum<<<kAnyBlocks, kAnyThreads>>>(found.data(), arrays_.data(), steps_ + 1,
                                                          words_, differences);
    });
  }

  // Bytes that one kernel, or one kernel per step, has to move.
  Work fused_work() const { return work(steps_ + 1, 1); }
  Work separate_work() const { return work(2 * steps_, steps_); }

 private:
  Work work(int read, int written) const {
    const auto bytes = static_cast<double>(words_ * sizeof(float));
    return {.bytes_read = read * bytes, .bytes_written = written * bytes};
  }
  const float* array(int i) const { return arrays_.data() + static_cast<std::size_t>(i) * words_; }
  static const float4* vectors(const float* data) { return reinterpret_cast<const float4*>(data); }
  std::size_t count() const { return words_ / 4; }

  template <int kArrays>
  void enqueue(cudaStream_t stream, const Shape<kArrays>& shape,
               const kernels::Arrays<kArrays>& from, float* to) const {
    const unsigned blocks = kernels::stream_blocks(count(), shape.threads, shape.unroll);
    shape.kernel<<<blocks, shape.threads, 0, stream>>>(from, reinterpret_cast<float4*>(to),
                                                       count());
  }
  template <int kArrays>
  Launch fused(const Shape<kArrays>& shape) const {
    return [this, shape](cudaStream_t stream) {
      kernels::Arrays<kArrays> from;
      for (int i = 0; i < kArrays; ++i) from.data[i] = vectors(array(i));
      enqueue<kArrays>(stream, shape, from, sums_[0].data());
    };
  }
  template <int kArrays>
  Launch fused() const {
    return fused<kArrays>(fastest<kArrays>());
  }
  template <int kArrays>
  Shape<kArrays> fastest() const {
    const auto candidates = shapes<kArrays>();
    const Shape<kArrays> shape = candidates[bench_.remember<std::size_t>(
        "sum of " + std::to_string(kArrays) + " x " + std::to_string(words_), [&] {
          return bench_.search(
              candidates.size(), [&](std::size_t i) { return fused<kArrays>(candidates[i]); },
              kSearchSeconds);
        })];
    bench_.note("threads", static_cast<std::int64_t>(shape.threads));
    bench_.note("unroll", std::int64_t{shape.unroll});
    return shape;
  }

  CudaBench& bench_;
  int steps_;
  std::size_t words_;
  DeviceBuffer<float> arrays_;  // contiguous
  std::array<DeviceBuffer<float>, 2> sums_;
};

}  // namespace

void fusion_chain(CudaBench& bench) {
  const std::int64_t steps = bench.integer("steps");
  const std::size_t array_bytes = bench.beyond_l2(kLargeBytes, kLargeL2s);
  const auto bytes = static_cast<std::size_t>(steps + 3) * array_bytes;
  bench.fitting_memory(bytes, bytes);
  const Chain chain(bench, steps, static_cast<std::int64_t>(array_bytes));
  const bool fused = bench.text("kernels") == "fused";
  const Launch launch = fused ? chain.fused() : chain.separate();
  bench.verify([&] { return chain.find_mismatch(launch, fused); });
  bench.measure(fused ? chain.fused_work() : chain.separate_work(), launch);
}

void fusion_small(CudaBench& bench) {
  const Chain chain(bench, kSmallSteps, bench.integer("bytes"));
  const std::string kernels = bench.text("kernels");
  const bool fused = kernels == "fused";
  const Launch chained = fused ? chain.fused() : chain.separate();
  const cuda::Graph graph(bench.stream(), chained.enqueue);
  const Launch launch =
      kernels == "graph" ? Launch([&](cudaStream_t stream) { graph.launch(stream); }) : chained;
  bench.verify([&] { return chain.find_mismatch(launch, fused); });
  const std::int64_t chains = bench.sampler().repeats(kChainsInARow);
  // All variants count what a fused kernel moves, so that their rates compare as speeds.
  Work work = chain.fused_work();
  work.bytes_read *= static_cast<double>(chains);
  work.bytes_written *= static_cast<double>(chains);
  bench.measure_on_host(work, [&] {
    for (std::int64_t i = 0; i < chains; ++i) launch(bench.stream());
    bench.sampler().synchronize();
  });
}

}  // namespace peakline::bench
