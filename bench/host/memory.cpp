// How fast do the host's threads read, copy and combine arrays in memory?

#include "kernels/host/memory.hpp"

#include <cstring>

#include "bench/host/kernels.hpp"
#include "bench/question.hpp"
#include "harness/benchmark/host_bench.hpp"

namespace peakline::bench {
namespace {

// Whole pages, and whole steps of every kernel.
constexpr std::size_t kGranule = 4096;
static_assert(kGranule % kernels::kStreamGranule == 0);

// Small integers: their products and sums are exact, so a triad is too, fused or not.
constexpr double kScale = 3;
double small_integer(std::uint64_t seed, std::uint64_t place) {
  return static_cast<double>(random_word(seed, place) >> 44);
}

// Each thread's on its own cache line, against false sharing.
struct alignas(64) ThreadSum {
  std::uint64_t value = 0;
};

std::uint64_t place_of(int thread, std::size_t slice_words, std::size_t i) {
  return static_cast<std::uint64_t>(thread) * slice_words + i;
}

template <class Count>
std::string find_wrong(HostBench& bench, int threads, std::string_view what, Count count) {
  std::vector<ThreadSum> wrong(static_cast<std::size_t>(threads));
  bench.team(threads).run(
      [&](int thread) { wrong[static_cast<std::size_t>(thread)].value = count(thread); });
  std::uint64_t total = 0;
  for (const ThreadSum& one : wrong) total += one.value;
  return total == 0 ? "" : fmt::format("{} words of the {} differ", total, what);
}

void describe(HostBench& bench, const HostKernels& kernels, const HostArrays& arrays, bool stores) {
  bench.note("vector", std::string(to_string(kernels.extension)));
  if (stores) bench.note("stores", std::string(kernels.streaming_stores ? "streaming" : "plain"));
  arrays.describe(bench);
}

void read(HostBench& bench) {
  const auto threads = static_cast<int>(bench.integer("threads"));
  const HostKernels& kernels = widest_host_kernels();
  const HostArrays arrays(bench, 1, threads, kGranule);
  const std::size_t words = arrays.slice_bytes() / sizeof(std::uint64_t);
  std::vector<ThreadSum> written(static_cast<std::size_t>(threads)), read(written.size());
  bench.team(threads).run([&](int thread) {
    auto* const data = arrays.slice<std::uint64_t>(0, thread);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < words; ++i)
      sum += data[i] = random_word(bench.seed(), place_of(thread, words, i));
    written[static_cast<std::size_t>(thread)].value = sum;
  });
  const auto launch = [&](int thread) {
    read[static_cast<std::size_t>(thread)].value =
        kernels.read_sum(arrays.slice<std::uint64_t>(0, thread), words);
  };
  bench.verify([&] {
    bench.team(threads).run(launch);
    for (std::size_t thread = 0; thread < read.size(); ++thread)
      if (read[thread].value != written[thread].value)
        return fmt::format("thread {} read a sum of {:#x}, not {:#x}", thread, read[thread].value,
                           written[thread].value);
    return std::string();
  });
  describe(bench, kernels, arrays, false);
  bench.measure({.bytes_read = static_cast<double>(arrays.array_bytes())}, launch, threads);
}

void copy(HostBench& bench) {
  const auto threads = static_cast<int>(bench.integer("threads"));
  const HostKernels& kernels = widest_host_kernels();
  const HostArrays arrays(bench, 2, threads, kGranule);
  const std::size_t words = arrays.slice_bytes() / sizeof(std::uint64_t);
  bench.team(threads).run([&](int thread) {
    auto* const from = arrays.slice<std::uint64_t>(0, thread);
    auto* const to = arrays.slice<std::uint64_t>(1, thread);
    for (std::size_t i = 0; i < words; ++i)
      from[i] = random_word(bench.seed(), place_of(thread, words, i));
    std::memset(to, 0xff, arrays.slice_bytes());
  });
  const auto launch = [&](int thread) {
    kernels.copy(arrays.slice<std::uint64_t>(1, thread), arrays.slice<std::uint64_t>(0, thread),
                 words);
  };
  bench.verify([&] {
    return find_wrong(bench, threads, "copy", [&](int thread) {
      launch(thread);
      const auto* const from = arrays.slice<std::uint64_t>(0, thread);
      const auto* const to = arrays.slice<std::uint64_t>(1, thread);
      std::uint64_t count = 0;
      for (std::size_t i = 0; i < words; ++i) count += to[i] != from[i];
      return count;
    });
  });
  describe(bench, kernels, arrays, true);
  const auto bytes = static_cast<double>(arrays.array_bytes());
  bench.measure({.bytes_read = bytes, .bytes_written = bytes}, launch, threads);
}

void triad(HostBench& bench) {
  const auto threads = static_cast<int>(bench.integer("threads"));
  const HostKernels& kernels = widest_host_kernels();
  const HostArrays arrays(bench, 3, threads, kGranule);
  const std::size_t count = arrays.slice_bytes() / sizeof(double);
  const auto slice = [&](int array, int thread) { return arrays.slice<double>(array, thread); };
  bench.team(threads).run([&](int thread) {
    for (std::size_t i = 0; i < count; ++i) {
      slice(1, thread)[i] = small_integer(bench.seed(), place_of(thread, count, i));
      slice(2, thread)[i] = small_integer(~bench.seed(), place_of(thread, count, i));
    }
    std::memset(slice(0, thread), 0xff, arrays.slice_bytes());  // NaN
  });
  const auto launch = [&](int thread) {
    kernels.triad(slice(0, thread), slice(1, thread), slice(2, thread), kScale, count);
  };
  bench.verify([&] {
    return find_wrong(bench, threads, "triad", [&](int thread) {
      launch(thread);
      std::uint64_t differences = 0;
      for (std::size_t i = 0; i < count; ++i)
        differences += slice(0, thread)[i] != slice(1, thread)[i] + kScale * slice(2, thread)[i];
      return differences;
    });
  });
  describe(bench, kernels, arrays, true);
  const auto bytes = static_cast<double>(arrays.array_bytes());
  bench.measure({.bytes_read = 2 * bytes, .bytes_written = bytes}, launch, threads);
}

// All threads give the ceiling. A curve adds 1, 4, 16, ...; not every power of two, since filling
// the arrays takes longer than measuring.
std::vector<Point> thread_points(int threads, bool curve) {
  std::vector<Point> points;
  if (curve)
    points = points_over("threads", multiples(1, threads - 1, 4),
                         {.phase = Phase::kHost, .seconds = 0.15});
  points.push_back({.params = {{"threads", threads}},
                    .phase = Phase::kHost,
                    .timing = Timing::kFull,
                    .quick = true,
                    .seconds = 0.5});
  return points;
}

}  // namespace

void register_host_memory(Registry& registry, int threads) {
  const auto add = [&](const std::string& name, const char* what, const char* work,
                       void (*run)(HostBench&), std::vector<CurveRule> curves = {}) {
    const bool curve = !curves.empty();
    registry.add({.id = "host.memory." + name,
                  .what = what,
                  .work = work,
                  .quantity = Quantity::kByteRate,
                  .loads = Loads::kHost,
                  .limit = no_limit("the clock and bus width of the memory are not known"),
                  .ceilings = {{.resource = resource("memory." + name)}},
                  .curves = std::move(curves),
                  .points = thread_points(threads, curve)},
                 run);
  };
  add("read", "Host memory read bandwidth, by thread count", "bytes read", read,
      {thread_curve("threads", Quantity::kByteRate)});
  add("copy", "Host memory copy bandwidth, by thread count",
      "bytes read plus bytes written; stores bypass the caches where the CPU can, so that no line "
      "is read before it is overwritten",
      copy);
  add("triad", "Host memory bandwidth of a = b + 3 c in FP64, by thread count",
      "bytes read (b, c) plus bytes written (a); stores as in host.memory.copy", triad);
}

}  // namespace peakline::bench
