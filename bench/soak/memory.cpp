#include "bench/soak/memory.hpp"

#include <array>

#include "bench/soak/enqueue.hpp"

namespace peakline::bench {
namespace {

using kernels::Content;
using kernels::Pattern;

constexpr std::array kPatterns = {Pattern::kAddress, Pattern::kRandom, Pattern::kStripes,
                                  Pattern::kSolid};
// A pattern, its inverse, and the pattern again.
constexpr std::uint64_t kStepsPerPattern = 3;

Content content_after(std::uint64_t step, std::uint64_t seed) {
  const std::uint64_t pattern = step / kStepsPerPattern;
  return {.pattern = kPatterns[pattern % kPatterns.size()],
          .inverted = step % kStepsPerPattern == 1,
          .seed = seed + pattern};
}

// About 2 ms for an L2 of 60 MB, so that a launch costs little.
constexpr unsigned kCacheRounds = 255;
// The other half of the L2 is left to other traffic.
constexpr double kShareOfL2 = 0.5;
constexpr unsigned kSharedRounds = 256;
constexpr std::size_t kVectorBytes = 16;

}  // namespace

PatternedMemory::PatternedMemory(CudaBench& bench, std::size_t bytes, unsigned rounds)
    : seed_(bench.seed()), rounds_(rounds), memory_(bytes / kVectorBytes * kVectorBytes) {
  write_pattern(memory_.data(), memory_.size(), content_after(0, seed_), nullptr);
  PEAKLINE_CUDA(cudaDeviceSynchronize());
}

CudaBench::Launch PatternedMemory::launch() const {
  return [this](cudaStream_t stream) {
    replace_pattern(memory_.data(), memory_.size(),
                    {.now = content_after(step_, seed_),
                     .next = content_after(step_ + 1, seed_),
                     .rounds = rounds_,
                     .downward = step_ % kStepsPerPattern == 1},
                    differences_.data(), stream);
    ++step_;
  };
}

Work PatternedMemory::work() const {
  const double bytes = static_cast<double>(memory_.size()) * rounds_;
  return {.bytes_read = bytes, .bytes_written = bytes};
}

void PatternedMemory::report(CudaBench& bench, const std::string& what) const {
  report_differences(
      bench, differences_.read(),
      work().bytes_read / sizeof(std::uint32_t) * static_cast<double>(step_),
      [&](const kernels::Difference& difference) { return byte_of(difference.word, what); });
}

PatternedSharedMemory::PatternedSharedMemory(CudaBench& bench, std::uint32_t flips)
    : seed_(bench.seed()),
      flips_(flips),
      blocks_(bench.sm_count()),
      bytes_(most_shared_bytes() / kVectorBytes * kVectorBytes) {}

CudaBench::Launch PatternedSharedMemory::launch() const {
  return [this](cudaStream_t stream) {
    check_shared({.blocks = blocks_,
                  .bytes = bytes_,
                  .seed = seed_ + launches_++,
                  .rounds = kSharedRounds,
                  .flips = flips_},
                 differences_.data(), stream);
  };
}

Work PatternedSharedMemory::work() const {
  const double bytes = static_cast<double>(bytes_) * blocks_ * kSharedRounds;
  return {.bytes_read = bytes, .bytes_written = bytes};
}

void PatternedSharedMemory::report(CudaBench& bench) const {
  const kernels::DifferenceLog log = differences_.read();
  report_differences(bench, log,
                     work().bytes_read / sizeof(std::uint32_t) * static_cast<double>(launches_),
                     [](const kernels::Difference& difference) {
                       return byte_of(difference.word, "the shared memory");
                     });
  if (log.count > 0) bench.note("sm", "SM " + std::to_string(first_of(log).sm));
}

void soak_memory(CudaBench& bench) {
  const std::size_t bytes = bench.whole_memory(kVectorBytes);
  bench.note("memory_tested_bytes", static_cast<std::int64_t>(bytes));
  const PatternedMemory memory(bench, bytes, 1);
  memory.differences().count_from_load(bench);
  bench.measure(memory.work(), memory.launch());
  memory.report(bench, "the memory that was free");
}

void soak_l2(CudaBench& bench) {
  const auto l2_bytes = bench.device().l2_bytes;
  if (!l2_bytes) throw Skipped("the size of the L2 is not known");
  const auto bytes = static_cast<std::size_t>(kShareOfL2 * static_cast<double>(*l2_bytes));
  bench.note("bytes", static_cast<std::int64_t>(bytes));
  const PatternedMemory memory(bench, bytes, kCacheRounds);
  memory.differences().count_from_load(bench);
  bench.measure(memory.work(), memory.launch());
  memory.report(bench, "what the L2 held");
}

void soak_shared(CudaBench& bench) {
  const PatternedSharedMemory memory(bench);
  memory.differences().count_from_load(bench);
  bench.measure(memory.work(), memory.launch());
  memory.report(bench);
}

}  // namespace peakline::bench
