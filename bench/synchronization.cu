#include <string>
#include <vector>

#include "bench/clusters.cuh"
#include "harness/benchmark/cuda_data.cuh"
#include "kernels/synchronization.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;
using cuda::PinnedBuffer;

constexpr int kDependentLaunchSince = 9;  // compute capability
constexpr unsigned kThreads = 256;
// Odd, so that after this many meetings members are far from where they began.
constexpr std::uint64_t kVerifiedMeetings = 1009;
// Far longer than anything else, so that a missing wait shows.
constexpr std::uint64_t kVerifiedWaitNs = 2'000'000;
constexpr std::uint32_t kSignal = 0x5eed;
constexpr std::uint32_t kVerifiedCounts = 101;
// Calls in a row before the queue is drained; a call blocks at about a thousand.
constexpr std::int64_t kSubmitted = 128;

// Measures the barriers of a grid of `threads` threads, `members` at each; the mean of all
// barriers. exchanging, meeting: enqueue kernels::meetings, with and without the exchange, with the
// given arguments on the given stream.
template <class Exchanging, class Meeting>
void barriers(CudaBench& bench, unsigned threads, unsigned members, const Exchanging& exchanging,
              const Meeting& meeting) {
  const DeviceBuffer<std::uint32_t> board(2 * threads), numbers(threads);
  const DeviceBuffer<ClockReading> stamps(2 * (threads / members));
  const auto launch_of = [&](const auto& enqueue, std::uint64_t meetings) -> CudaBench::Launch {
    return [&, meetings](cudaStream_t stream) {
      enqueue(stream, meetings, members, board.data(), numbers.data(), stamps.data());
    };
  };
  const auto find_mismatch = [&](const auto& enqueue, bool exchange) -> std::string {
    poison(numbers, bench.stream());
    bench.launch_once(launch_of(enqueue, kVerifiedMeetings));
    const std::vector<std::uint32_t> found = numbers.to_host();
    for (unsigned thread = 0; thread < found.size(); ++thread) {
      const unsigned from =
          kernels::partner_after(thread, members, exchange ? kVerifiedMeetings : 0);
      if (found[thread] != from + kVerifiedMeetings)
        return "thread " + std::to_string(thread) + " did not meet the others";
    }
    return "";
  };
  bench.verify([&] {
    std::string wrong = find_mismatch(exchanging, true);
    return wrong.empty() ? find_mismatch(meeting, false) : wrong;
  });
  bench.measure_stamped([&](std::uint64_t meetings) { return launch_of(meeting, meetings); },
                        stamps);
}

// A single barrier, of all threads of the grid.
template <class Barrier>
void barrier(CudaBench& bench, LaunchShape shape,
             std::vector<cudaLaunchAttribute> attributes = {}) {
  const auto enqueue = [&](auto kernel) {
    return [&, kernel](cudaStream_t stream, auto... arguments) {
      launch_with(attributes, shape, stream, kernel, arguments...);
    };
  };
  const unsigned threads = shape.blocks * shape.threads;
  barriers(bench, threads, threads, enqueue(kernels::meetings<Barrier, true, ClockReading>),
           enqueue(kernels::meetings<Barrier, false, ClockReading>));
}

// On all SMs, since a cluster's time depends on its place (on an H200, 41 to 47 ns for two blocks).
template <class Barrier>
void cluster_barriers(CudaBench& bench) {
  const auto size = static_cast<unsigned>(bench.integer("blocks"));
  const Clusters exchanging(bench, kernels::meetings<Barrier, true, ClockReading>, size, kThreads),
      meeting(bench, kernels::meetings<Barrier, false, ClockReading>, size, kThreads);
  const auto enqueue = [](const auto& clusters) {
    return [&](cudaStream_t stream, auto... arguments) { clusters.launch(stream, arguments...); };
  };
  barriers(bench, meeting.blocks() * kThreads, size * kThreads, enqueue(exchanging),
           enqueue(meeting));
}

}  // namespace

void synchronization_wait(CudaBench& bench) {
  const std::string by = bench.text("by");
  const cuda::Event event(cudaEventDisableTiming |
                          (by == "blocking_event" ? cudaEventBlockingSync : 0u));
  const PinnedBuffer<std::uint32_t> host_word(1);
  const DeviceBuffer<std::uint32_t> device_word(1);
  std::uint32_t read = 0;
  const auto launch = [&](std::uint64_t nanoseconds, std::uint32_t* word) {
    kernels::signal_after<<<1, 1, 0, bench.stream()>>>(nanoseconds, word, kSignal);
  };
  const auto wait = [&] {
    if (by == "device") {
      PEAKLINE_CUDA(cudaDeviceSynchronize());
    } else if (by == "event" || by == "blocking_event") {
      event.record(bench.stream());
      event.synchronize();
    } else {
      // To ordinary memory, as frameworks do it.
      if (by == "read_back")
        PEAKLINE_CUDA(cudaMemcpyAsync(&read, device_word.data(), sizeof(read),
                                      cudaMemcpyDeviceToHost, bench.stream()));
      PEAKLINE_CUDA(cudaStreamSynchronize(bench.stream()));
    }
  };
  bench.verify([&]() -> std::string {
    volatile std::uint32_t* const seen = by == "read_back" ? &read : host_word.data();
    *seen = 0;
    poison(device_word, bench.stream());
    launch(kVerifiedWaitNs, by == "read_back" ? device_word.data() : host_word.data());
    wait();
    return *seen == kSignal ? "" : "the host did not wait for the kernel";
  });
  bench.measure_on_host({}, [&] {
    launch(0, device_word.data());
    wait();
  });
}

void synchronization_event_record(CudaBench& bench) {
  const cuda::Event event(cudaEventDisableTiming);
  bench.verify([&]() -> std::string {
    const PinnedBuffer<std::uint32_t> word(1);
    volatile std::uint32_t* const seen = word.data();
    *seen = 0;
    kernels::signal_after<<<1, 1, 0, bench.stream()>>>(kVerifiedWaitNs, word.data(), kSignal);
    event.record(bench.stream());
    event.synchronize();
    return *seen == kSignal ? "" : "the event came ahead of the kernel before it";
  });
  bench.measure_on_host(
      {}, [&] { event.record(bench.stream()); }, kSubmitted,
      [&] { bench.sampler().synchronize(); });
}

void synchronization_dependent_launch(CudaBench& bench) {
  const bool programmatic = bench.text("start") == "programmatic";
  if (programmatic && bench.device().compute_major < kDependentLaunchSince)
    throw Skipped("there is programmatic dependent launch from compute capability 9.0 on");
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  const std::size_t attributes = programmatic ? 1 : 0;
  const DeviceBuffer<std::uint32_t> count(1);
  const auto launch = [&](cudaStream_t stream) {
    launch_with({&early, attributes}, {1, 1}, stream, kernels::count_in_turn, count.data());
  };
  bench.verify([&]() -> std::string {
    count.from_host(std::vector<std::uint32_t>{0});
    bench.launch_once([&](cudaStream_t stream) {
      for (std::uint32_t i = 0; i < kVerifiedCounts; ++i) launch(stream);
    });
    return count.to_host()[0] == kVerifiedCounts ? "" : "a kernel did not wait for the one before";
  });
  bench.measure({}, launch);
}

void synchronization_block(CudaBench& bench) {
  const auto threads = static_cast<unsigned>(bench.integer("threads"));
  barrier<kernels::BlockBarrier>(bench, {.blocks = 1, .threads = threads});
}

void synchronization_cluster(CudaBench& bench) { cluster_barriers<kernels::ClusterBarrier>(bench); }

void synchronization_cluster_relaxed(CudaBench& bench) {
  cluster_barriers<kernels::RelaxedClusterBarrier>(bench);
}

void synchronization_grid(CudaBench& bench) {
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  barrier<kernels::GridBarrier>(bench, {.blocks = bench.sm_count(), .threads = kThreads},
                                {cooperative});
}

}  // namespace peakline::bench
