#include "bench/p2p/pair_copy.cuh"
#include "bench/pcie/host_memory.hpp"
#include "bench/soak/enqueue.hpp"
#include "bench/soak/links.hpp"

namespace peakline::bench {
namespace {

constexpr std::size_t kBytes = std::size_t{256} << 20;
constexpr std::size_t kWords = kBytes / sizeof(std::uint32_t);
// Copies alternate between them, so that lost data leave those of the previous copy.
constexpr std::size_t kSources = 2;

void compare_copy(const std::uint32_t* sent, const std::uint32_t* arrived,
                  const Differences& differences, cudaStream_t stream) {
  compare(reinterpret_cast<const std::byte*>(sent), reinterpret_cast<const std::byte*>(arrived),
          kBytes, differences.data(), stream);
}

// Skips the point if the sources and the target exceed the device's memory.
cuda::DeviceBuffer<std::uint32_t> sources(const CudaBench& bench) {
  constexpr std::size_t kAll = (kSources + 1) * kBytes;
  bench.fitting_memory(kAll, kAll);
  return random_words(kSources * kWords, bench.seed());
}

}  // namespace

RoundTrip::RoundTrip(CudaBench& bench)
    : host_(kWords), source_(sources(bench)), target_(kWords), seed_(bench.seed()) {}

void RoundTrip::once(CudaBench& bench, const std::function<void(std::uint32_t*)>& between) {
  const auto copy = [&](std::uint32_t* to, const std::uint32_t* from, cudaMemcpyKind kind) {
    PEAKLINE_CUDA(cudaMemcpyAsync(to, from, kBytes, kind, bench.stream()));
  };
  const std::uint64_t first = trips_ % kSources * kWords;
  const std::uint32_t* const sent = source_.data() + first;
  copy(host_.data(), sent, cudaMemcpyDeviceToHost);
  if (between) {
    bench.sampler().synchronize();
    between(host_.data());
  }
  copy(target_.data(), host_.data(), cudaMemcpyHostToDevice);
  compare_copy(sent, target_.data(), differences_, bench.stream());
  bench.sampler().synchronize();
  ++trips_;
  if (!lost_.empty()) return;
  const kernels::DifferenceLog log = differences_.read();
  if (log.count == 0) return;
  // Tells the direction now: the next trip overwrites the evidence.
  const std::uint64_t word = first_of(log).word;
  const auto right = static_cast<std::uint32_t>(kernels::random_bits(seed_, first + word));
  lost_ = host_.data()[word] == right ? "on the way to the device"
                                      : "on the way to the host, or in its memory";
}

Work RoundTrip::work() const { return {.bytes_read = kBytes, .bytes_written = kBytes}; }

void RoundTrip::report(CudaBench& bench) const {
  report_differences(bench, differences_.read(),
                     static_cast<double>(kWords) * static_cast<double>(trips_),
                     [&](const kernels::Difference& difference) {
                       return byte_of(difference.word, "a copy, " + lost_);
                     });
}

void soak_host_link(CudaBench& bench) {
  const auto near = bind_near(bench);
  RoundTrip trip(bench);
  bench.note("bytes", static_cast<std::int64_t>(kBytes));
  trip.differences().count_from_load(bench);
  bench.measure_calls(trip.work(), [&] { trip.once(bench); });
  trip.report(bench);
}

void soak_pair(NodeBench& bench) {
  bench.connect();
  need_arrays(bench, 1, kSources * kBytes);
  const PairCopy pair(*bench.gpus()[1], *bench.gpus()[0], kSources * kBytes, bench.seed());
  const auto sent = random_words(kSources * kWords, bench.seed());
  const Differences differences;
  std::int64_t copies = 0;
  differences.count_from_load(bench);
  bench.note("bytes", static_cast<std::int64_t>(kBytes));
  bench.measure({.bytes_read = kBytes}, [&](cudaStream_t stream) {
    const std::size_t first = static_cast<std::size_t>(copies) % kSources * kWords;
    PEAKLINE_CUDA(
        cudaMemcpyAsync(pair.target(), pair.source() + first, kBytes, cudaMemcpyDefault, stream));
    compare_copy(sent.data() + first, pair.target(), differences, stream);
    ++copies;
  });
  report_differences(bench, differences.read(),
                     static_cast<double>(kWords) * static_cast<double>(copies),
                     [](const kernels::Difference& difference) {
                       return byte_of(difference.word, "a copy between the GPUs");
                     });
}

}  // namespace peakline::bench
