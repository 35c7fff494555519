// Copies of batches beside the kernel that works on the previous batch, in turns: each turn starts
// when all of the last one has ended.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "bench/pcie/host_memory.hpp"
#include "bench/pipeline.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "harness/host/affinity.hpp"
#include "harness/statistics/statistics.hpp"
#include "kernels/overlap.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

// Linear congruential generator of Numerical Recipes.
constexpr kernels::Generator kGenerator{1664525, 1013904223};
// Steps from which the time of one follows: few enough for the largest batch, enough for the
// smallest.
constexpr unsigned kFewSteps = 64, kManySteps = 1024;
constexpr unsigned kVerifiedSteps = 1009;
// Verifies only this much of each batch, since the host takes seconds for the largest.
constexpr std::size_t kVerifiedWords = std::size_t{1} << 20;
constexpr double kWarmUpSeconds = 3e-3;
// Fewer samples for pageable memory, which the CPU copies.
constexpr std::size_t kAloneSamples = 7, kAloneSamplesPageable = 3;

std::uint32_t* host_memory(CudaBench& bench, bool pinned, const char* use) {
  return pinned ? pcie::locked_memory(bench, pcie::Memory::kPinned, use)
                : pcie::pageable_memory(bench, use);
}

// Two places on the device: while the batch in one is worked on, the next comes into the other, and
// the previous result leaves.
class Pipeline {
 public:
  // results: destination; nullptr: results stay on the device.
  Pipeline(std::size_t words, std::uint32_t* batch, std::uint32_t* results)
      : words_(words), batch_(batch), results_(results) {
    for (std::size_t place : {0, 1}) {
      in_[place] = DeviceBuffer<std::uint32_t>(words);
      out_[place] = DeviceBuffer<std::uint32_t>(words);
      PEAKLINE_CUDA(cudaMemset(out_[place].data(), 0xff, bytes()));
    }
    PEAKLINE_CUDA(cudaDeviceSynchronize());
  }

  void copy_in(cudaStream_t stream) const {
    PEAKLINE_CUDA(
        cudaMemcpyAsync(in_[1 - place_].data(), batch_, bytes(), cudaMemcpyHostToDevice, stream));
  }
  void copy_out(cudaStream_t stream) const {
    PEAKLINE_CUDA(cudaMemcpyAsync(results_, out_[1 - place_].data(), bytes(),
                                  cudaMemcpyDeviceToHost, stream));
  }
  void work(cudaStream_t stream, unsigned steps) const {
    const auto blocks = static_cast<unsigned>((words_ + kAnyThreads - 1) / kAnyThreads);
    kernels::work_on_batch<<<blocks, kAnyThreads, 0, stream>>>(
        in_[place_].data(), out_[place_].data(), words_, steps, kGenerator);
  }

  // Runs all three parts at once, then swaps the places. The kernel goes first, since a pageable
  // copy blocks the host.
  void turn(cudaStream_t stream, unsigned steps) {
    fork_.record(stream);
    work(stream, steps);
    beside(inwards_, [&] { copy_in(inwards_.stream.get()); });
    if (results_ != nullptr) beside(outwards_, [&] { copy_out(outwards_.stream.get()); });
    PEAKLINE_CUDA(cudaStreamWaitEvent(stream, inwards_.done.get()));
    if (results_ != nullptr) PEAKLINE_CUDA(cudaStreamWaitEvent(stream, outwards_.done.get()));
    place_ = 1 - place_;
  }
  std::int64_t operations() const { return results_ == nullptr ? 6 : 10; }

  std::size_t bytes() const { return words_ * sizeof(std::uint32_t); }
  const DeviceBuffer<std::uint32_t>& result() const { return out_[1 - place_]; }

 private:
  struct Lane {
    cuda::Stream stream;
    cuda::Event done{cudaEventDisableTiming};
  };
  template <class Copy>
  void beside(const Lane& lane, Copy copy) const {
    PEAKLINE_CUDA(cudaStreamWaitEvent(lane.stream.get(), fork_.get()));
    copy();
    lane.done.record(lane.stream.get());
  }

  std::size_t words_;
  std::uint32_t *batch_, *results_;
  std::array<DeviceBuffer<std::uint32_t>, 2> in_, out_;
  std::size_t place_ = 0;  // place of the batch that is worked on
  Lane inwards_, outwards_;
  cuda::Event fork_{cudaEventDisableTiming};
};

// Checks that each batch leaves as it came in, worked on.
std::string find_wrong_batch(CudaBench& bench, Pipeline& pipeline, std::uint32_t* batch,
                             std::uint32_t* results) {
  const std::size_t verified = std::min(pipeline.bytes() / sizeof(std::uint32_t), kVerifiedWords);
  const auto word = [&](std::uint64_t nth, std::size_t i) {
    return static_cast<std::uint32_t>(kernels::random_bits(bench.seed() + nth, i));
  };
  kernels::Generator all{1, 0};
  for (unsigned step = 0; step < kVerifiedSteps; ++step) all = kGenerator.after(all);
  if (results != nullptr) std::memset(results, 0xff, verified * sizeof(std::uint32_t));
  // Batch `nth` comes in at turn `nth`, is worked on in the next turn, and leaves in the one after.
  const std::uint64_t latency = results != nullptr ? 2 : 1;
  for (std::uint64_t nth = 0; nth < 4; ++nth) {
    for (std::size_t i = 0; i < verified; ++i) batch[i] = word(nth, i);
    bench.launch_once([&](cudaStream_t stream) { pipeline.turn(stream, kVerifiedSteps); });
    if (nth < latency) continue;
    const std::vector<std::uint32_t> found =
        results != nullptr ? std::vector<std::uint32_t>(results, results + verified)
                           : pipeline.result().to_host(0, verified);
    for (std::size_t i = 0; i < verified; ++i)
      if (found[i] != all(word(nth - latency, i)))
        return "batch " + std::to_string(nth) + ": word " + std::to_string(i) + " differs";
  }
  return "";
}

auto waited_for(CudaBench& bench, const CudaBench::Launch& launch) {
  return [&bench, launch] {
    launch(bench.stream());
    bench.sampler().synchronize();
  };
}

// Timed like all parts together.
double seconds_of(CudaBench& bench, bool pinned, const CudaBench::Launch& launch) {
  if (pinned) {
    const double roughly_s = bench.sampler().warm_up_for(launch, kWarmUpSeconds);
    const auto launches = bench.sampler().launches_for(launch, cuda::kSampleSeconds, roughly_s);
    return estimated(bench.sampler().time_batches(launch, launches, kAloneSamples).launch_s,
                     kOverlapEstimate);
  }
  std::vector<double> samples;
  for (std::size_t i = 0; i <= bench.sampler().repeats(kAloneSamplesPageable); ++i)
    samples.push_back(cuda::time_on_host(waited_for(bench, launch), 1));
  return estimated(samples, kOverlapEstimate);
}

// Steps for which the kernel takes as long as the slower copy, the most there is to hide. Notes
// each part's time alone.
unsigned matching_steps(CudaBench& bench, bool pinned, const Pipeline& pipeline, bool both_ways) {
  const auto work_s = [&](unsigned steps) {
    return seconds_of(bench, pinned,
                      [&, steps](cudaStream_t stream) { pipeline.work(stream, steps); });
  };
  const auto note = [&](const char* name, double seconds) {
    bench.note(name, static_cast<std::int64_t>(std::llround(seconds * 1e9)));
  };
  const double in_s =
      seconds_of(bench, pinned, [&](cudaStream_t stream) { pipeline.copy_in(stream); });
  note(kCopyInNs, in_s);
  double slower_s = in_s;
  if (both_ways) {
    const double out_s =
        seconds_of(bench, pinned, [&](cudaStream_t stream) { pipeline.copy_out(stream); });
    note(kCopyOutNs, out_s);
    slower_s = std::max(slower_s, out_s);
  }
  const StepsTiming few{kFewSteps, work_s(kFewSteps)}, many{kManySteps, work_s(kManySteps)};
  const unsigned steps = steps_that_take(slower_s, few, many);
  note(kKernelNs, work_s(steps));
  return steps;
}

}  // namespace

void overlap_copies(CudaBench& bench, bool both_ways) {
  const bool pinned = bench.text("memory") == "pinned";
  const auto words = static_cast<std::size_t>(bench.integer("chunk")) / sizeof(std::uint32_t);
  bench.fitting_memory(4 * words * sizeof(std::uint32_t), 4 * words * sizeof(std::uint32_t));
  const auto near = bind_near(bench);
  std::uint32_t* const batch = host_memory(bench, pinned, "one");
  std::uint32_t* const results = both_ways ? host_memory(bench, pinned, "other") : nullptr;
  Pipeline pipeline(words, batch, results);
  bench.verify([&] { return find_wrong_batch(bench, pipeline, batch, results); });
  const unsigned steps = matching_steps(bench, pinned, pipeline, both_ways);
  const auto bytes = static_cast<double>(pipeline.bytes());
  const Work work{.bytes_read = bytes, .bytes_written = both_ways ? bytes : 0};
  const CudaBench::Launch turn([&](cudaStream_t stream) { pipeline.turn(stream, steps); },
                               {.operations = pipeline.operations()});
  if (pinned)
    bench.measure(work, turn);
  else
    bench.measure_on_host(work, waited_for(bench, turn));
}

}  // namespace peakline::bench
