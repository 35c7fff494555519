// One unbroken load on each GPU, and a collective of all GPUs that is switched on and off beside
// it.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/beside.hpp"
#include "bench/collective_arrays.cuh"
#include "bench/gemm/product.hpp"
#include "bench/gemm/search.hpp"
#include "harness/statistics/sm_clock.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/clock.hpp"
#include "kernels/stream.cuh"

namespace peakline::bench {
namespace {

using T = __nv_bfloat16;
using cuda::Event;

// As in gemm.concurrent.
constexpr GemmShape kShape{.m = 8192, .n = 8192, .k = 8192};
constexpr double kSearchSeconds = 0.05;
constexpr std::size_t kCopiedBytes = std::size_t{512} << 20;
constexpr unsigned kCopyThreads = 512;
constexpr int kCopyUnroll = 4;

// The load alone, with the collective, and both again. What follows a switch does not count: clocks
// move, and work that was enqueued before still runs.
constexpr int kPeriods = 4;
constexpr double kPeriodSeconds = 0.1, kUncountedSeconds = 0.025;
constexpr double kCollectiveAloneSeconds = 0.05;
// Launches that wait behind the running one.
constexpr std::size_t kAhead = 2;
// Launches of a block, which is timed as one.
constexpr std::size_t kLaunchesOfBlock = 8;

// A GPU repeats its load.
class Load {
 public:
  virtual ~Load() = default;
  virtual void launch(cudaStream_t stream) const = 0;
  virtual void poison(cudaStream_t stream) const = 0;
  virtual std::string find_mismatch() const = 0;
  virtual Work work() const = 0;
  virtual std::string algorithm() const { return ""; }  // where a library chose one
};

class GemmLoad : public Load {
 public:
  // sms: see Gemm.
  GemmLoad(CudaBench& bench, unsigned sms)
      : seed_(bench.seed()),
        product_(bench, soak_format(bench.device()), kShape, sms),
        algorithm_(bench.remember<GemmAlgorithm>(
            "beside/" + std::to_string(sms),
            [&] { return product_.best_algorithm(bench, kSearchedAlgorithms, kSearchSeconds); })),
        launch_(product_.launch(algorithm_)) {}
  void launch(cudaStream_t stream) const override { launch_(stream); }
  void poison(cudaStream_t stream) const override { product_.poison(stream); }
  std::string find_mismatch() const override { return product_.find_mismatch(seed_); }
  Work work() const override { return product_.work(); }
  std::string algorithm() const override { return algorithm_.describe(); }

 private:
  std::uint64_t seed_;
  Product product_;
  GemmAlgorithm algorithm_;
  cuda::Launch launch_;
};

class CopyLoad : public Load {
 public:
  explicit CopyLoad(CudaBench& bench)
      : from_(random_words(kCopiedBytes / sizeof(std::uint32_t), bench.seed())),
        to_(from_.size()) {}
  void launch(cudaStream_t stream) const override {
    constexpr std::size_t kVectors = kCopiedBytes / sizeof(uint4);
    kernels::stream_copy<uint4, kCopyUnroll>
        <<<kernels::stream_blocks(kVectors, kCopyThreads, kCopyUnroll), kCopyThreads, 0, stream>>>(
            reinterpret_cast<const uint4*>(from_.data()), reinterpret_cast<uint4*>(to_.data()),
            kVectors);
  }
  void poison(cudaStream_t stream) const override { bench::poison(to_, stream); }
  std::string find_mismatch() const override {
    return count_differences("copy", [&](unsigned long long* differences) {
      kernels::reference_compare<<<kAnyBlocks, kAnyThreads>>>(from_.data(), to_.data(),
                                                              from_.size(), differences);
    });
  }
  Work work() const override {
    return {.bytes_read = static_cast<double>(kCopiedBytes),
            .bytes_written = static_cast<double>(kCopiedBytes)};
  }

 private:
  cuda::DeviceBuffer<std::uint32_t> from_, to_;
};

// Moments of a stream, in order.
class Moments {
 public:
  void record(cudaStream_t stream) {
    events_.push_back(std::make_unique<Event>());
    events_.back()->record(stream);
  }
  std::size_t size() const { return events_.size(); }
  // How many have not come.
  std::size_t pending() {
    while (passed_ < size() && cudaEventQuery(events_[passed_]->get()) == cudaSuccess) ++passed_;
    return size() - passed_;
  }
  // Seconds from `origin` to each.
  std::vector<double> since(const Event& origin) const {
    std::vector<double> seconds;
    for (const auto& event : events_) seconds.push_back(cuda::elapsed_s(origin, *event));
    return seconds;
  }

 private:
  std::vector<std::unique_ptr<Event>> events_;
  std::size_t passed_ = 0;
};

int highest_priority() {
  int lowest = 0, highest = 0;
  PEAKLINE_CUDA(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  return highest;
}

// One GPU's streams and what happened on them. Must be current during construction.
struct Lane {
  Lane(NodeGpu& of_gpu, std::unique_ptr<Load> of_load, bool collective_first)
      : gpu(of_gpu),
        load(std::move(of_load)),
        collectives(collective_first ? highest_priority() : 0),
        sms(static_cast<std::size_t>(*of_gpu.session.facts.sm_count)),
        clocks(2 * kPeriods * sms) {
    std::fill_n(clocks.data(), clocks.size(), ClockReading{});
  }
  std::span<ClockReading> clock(std::size_t slot) const {
    return {clocks.data() + slot * sms, sms};
  }

  NodeGpu& gpu;
  std::unique_ptr<Load> load;
  cuda::Stream launches, collectives;
  Event origin;
  Moments loaded, collected;
  std::size_t sms;
  cuda::PinnedBuffer<ClockReading> clocks;  // before and after each period
};

// Collects how long launches take, between a first and a last moment that count: the mean, and
// seconds of one for blocks of launches.
class Pace {
 public:
  void add(std::span<const double> moments, double from_s, double to_s) {
    const std::vector<double> within(std::ranges::lower_bound(moments, from_s),
                                     std::ranges::upper_bound(moments, to_s));
    for (std::size_t i = 0; i + kLaunchesOfBlock < within.size(); i += kLaunchesOfBlock)
      blocks_.push_back((within[i + kLaunchesOfBlock] - within[i]) / kLaunchesOfBlock);
    if (within.size() < 2) return;
    seconds_ += within.back() - within.front();
    count_ += within.size() - 1;
  }
  // Throws std::runtime_error if nothing ran.
  double mean() const {
    if (count_ == 0) throw std::runtime_error("nothing ran from one switch to the next");
    return seconds_ / static_cast<double>(count_);
  }
  const std::vector<double>& blocks() const { return blocks_; }

 private:
  double seconds_ = 0;
  std::size_t count_ = 0;
  std::vector<double> blocks_;
};

struct Paces {
  Pace load_alone, load_beside, collective_beside;
  std::vector<double> clock_alone_hz, clock_beside_hz;
};

class Both {
 public:
  Both(std::vector<std::unique_ptr<Lane>> lanes, const CollectiveArrays<T>& arrays,
       Collective collective, NcclGroup& group)
      : lanes_(std::move(lanes)), arrays_(arrays), collective_(collective), group_(group) {}

  // Loads code, and leaves results to compare.
  void run_once() {
    arrays_.fill();
    on_each([](Lane& lane) {
      lane.load->poison(lane.launches.get());
      lane.load->launch(lane.launches.get());
    });
    enqueue_collective();
    synchronize();
  }
  std::string find_mismatch() {
    std::string wrong;
    on_each([&](Lane& lane) {
      if (wrong.empty()) wrong = lane.load->find_mismatch();
    });
    return wrong.empty() ? arrays_.find_mismatch() : wrong;
  }

  // Seconds of a collective without a load.
  double time_collective() {
    begin();
    const double until_s = now_s() + kCollectiveAloneSeconds;
    while (now_s() < until_s) keep_collecting();
    synchronize();
    Pace pace;
    const std::vector<double> moments = lanes_.front()->collected.since(lanes_.front()->origin);
    pace.add(moments, moments.at(1), moments.back());
    return pace.mean();
  }

  // Returns the paces of each GPU.
  std::vector<Paces> time_both() {
    begin();
    std::vector<Switched> switched;  // of periods with collectives
    for (std::size_t period = 0; period < kPeriods; ++period) {
      const bool collects = period % 2 == 1;
      if (collects) {
        switched.push_back({.on = lanes_.front()->collected.size()});
        mark_collectives();
      }
      const double start_s = now_s();
      run_until(start_s + kUncountedSeconds, collects);
      read_clocks(2 * period);
      run_until(start_s + kPeriodSeconds, collects);
      read_clocks(2 * period + 1);
      if (collects) switched.back().off = lanes_.front()->collected.size() - 1;
    }
    synchronize();
    std::vector<Paces> paces;
    on_each([&](const Lane& lane) { paces.push_back(paces_of(lane, switched)); });
    return paces;
  }

 private:
  // Indexes say which of the collectives' moments were their begin and their end.
  struct Switched {
    std::size_t on = 0, off = 0;
  };

  void on_each(const auto& what) {
    for (const auto& lane : lanes_) {
      const CurrentGpu current(lane->gpu);
      what(*lane);
    }
  }
  void synchronize() {
    on_each([](Lane& lane) {
      lane.launches.synchronize();
      lane.collectives.synchronize();
    });
  }
  void begin() {
    on_each([](Lane& lane) {
      lane.loaded = {};
      lane.collected = {};
      lane.origin.record(lane.launches.get());
    });
  }
  void mark_collectives() {
    on_each([](Lane& lane) { lane.collected.record(lane.collectives.get()); });
  }
  void enqueue_collective() {
    group_.ranks.enqueue([&](int rank, cuda::nccl::Communicator* communicator) {
      return bench::enqueue_collective(group_.nccl, collective_, arrays_, rank, group_.ranks.size(),
                                       communicator,
                                       lanes_[static_cast<std::size_t>(rank)]->collectives.get());
    });
    mark_collectives();
  }
  void keep_collecting() {
    if (lanes_.front()->collected.pending() <= kAhead) enqueue_collective();
  }
  void run_until(double time_s, bool collects) {
    while (now_s() < time_s) {
      on_each([](Lane& lane) {
        if (lane.loaded.pending() > kAhead) return;
        lane.load->launch(lane.launches.get());
        lane.loaded.record(lane.launches.get());
      });
      if (collects) keep_collecting();
    }
  }
  void read_clocks(std::size_t slot) {
    on_each([&](Lane& lane) { read_sm_clocks(lane.launches.get(), lane.clock(slot)); });
  }

  static Paces paces_of(const Lane& lane, std::span<const Switched> switched) {
    const std::vector<double> loaded = lane.loaded.since(lane.origin),
                              collected = lane.collected.since(lane.origin);
    Paces paces;
    double quiet_from_s = loaded.front();
    for (const auto& [on, off] : switched) {
      const double on_s = collected[on], off_s = collected[off];
      paces.load_alone.add(loaded, quiet_from_s + kUncountedSeconds, on_s);
      paces.load_beside.add(loaded, on_s + kUncountedSeconds, off_s);
      paces.collective_beside.add(collected, on_s + kUncountedSeconds, off_s);
      quiet_from_s = off_s;
    }
    for (std::size_t period = 0; period < kPeriods; ++period)
      if (const auto hz = clock_between(lane.clock(2 * period), lane.clock(2 * period + 1)))
        (period % 2 == 1 ? paces.clock_beside_hz : paces.clock_alone_hz).push_back(*hz);
    return paces;
  }

  std::vector<std::unique_ptr<Lane>> lanes_;
  const CollectiveArrays<T>& arrays_;
  Collective collective_;
  NcclGroup& group_;
};

double mean_of(std::span<const Paces> paces, const auto& value) {
  double sum = 0;
  for (const Paces& of_gpu : paces) sum += value(of_gpu);
  return sum / static_cast<double>(paces.size());
}

// Mean over GPUs, block by block.
std::vector<double> blocks_of(std::span<const Paces> paces) {
  std::vector<double> blocks = paces.front().load_beside.blocks();
  for (const Paces& of_gpu : paces)
    blocks.resize(std::min(blocks.size(), of_gpu.load_beside.blocks().size()));
  for (std::size_t i = 0; i < blocks.size(); ++i)
    blocks[i] = mean_of(paces, [&](const Paces& p) { return p.load_beside.blocks()[i]; });
  return blocks;
}

std::unique_ptr<Load> make_load(CudaBench& bench, BesideLoad load, int channels) {
  switch (load) {
    case BesideLoad::kCopy:
      return std::make_unique<CopyLoad>(bench);
    case BesideLoad::kGemm:
      return std::make_unique<GemmLoad>(bench, 0);
    case BesideLoad::kYieldingGemm:
      return std::make_unique<GemmLoad>(bench, bench.sm_count() - static_cast<unsigned>(channels));
  }
  return nullptr;
}

// Thread blocks of the collective, as the log says.
std::optional<int> channels_of(NcclGroup& group, const CollectiveArrays<T>& arrays,
                               Collective collective, std::span<NodeGpu* const> gpus) {
  group.nccl.take_choice();
  group.ranks.enqueue([&](int rank, cuda::nccl::Communicator* communicator) {
    return enqueue_collective(group.nccl, collective, arrays, rank, group.ranks.size(),
                              communicator,
                              gpus[static_cast<std::size_t>(rank)]->session.sampler.stream());
  });
  for (const NodeGpu* gpu : gpus) gpu->session.sampler.synchronize();
  const auto choice = group.nccl.take_choice();
  return choice ? choice->channels : std::nullopt;
}

}  // namespace

void measure_beside(NodeBench& bench, const Beside& beside) {
  const std::string asked = bench.text("collective");
  const Collective collective =
      *std::ranges::find_if(kCollectives, [&](Collective one) { return to_string(one) == asked; });
  if (bench.options().profile) throw Skipped("profilers run no kernels side by side");
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  const std::span<NodeGpu* const> gpus = bench.gpus();
  bench.need_memory(4 * kBytes + 2 * kCopiedBytes);
  bench.connect();
  const bool limited = !bench.find_text("ctas");
  NcclGroup& group = nccl_group(bench, limited ? static_cast<int>(bench.integer("ctas")) : 0);
  const std::size_t ranks = gpus.size(), granule = ranks * sizeof(T) * 8;
  const CollectiveArrays<T> arrays(gpus, {.collective = collective},
                                   kBytes / granule * granule / sizeof(T));
  const auto channels = channels_of(group, arrays, collective, gpus);
  if (channels) bench.note("channels", std::int64_t{*channels});
  if (beside.load == BesideLoad::kYieldingGemm && !channels)
    throw Skipped("NCCL's log does not say how many thread blocks it uses");
  bench.note("nccl", group.nccl.version());
  bench.note("nvls", cuda::Nccl::nvls());

  std::vector<std::unique_ptr<Lane>> lanes;
  for (NodeGpu* gpu : gpus) {
    const CurrentGpu current(*gpu);
    CudaBench of_gpu = bench.of(*gpu);
    lanes.push_back(std::make_unique<Lane>(
        *gpu, make_load(of_gpu, beside.load, channels.value_or(0)), beside.collective_first));
  }
  const Work work = lanes.front()->load->work();
  if (const std::string algorithm = lanes.front()->load->algorithm(); !algorithm.empty())
    bench.note("gemm", algorithm);
  Both both(std::move(lanes), arrays, collective, group);
  both.run_once();
  bench.verify([&] { return both.find_mismatch(); });

  const double collective_alone_s = both.time_collective();
  both.run_once();  // its results are poisoned before
  std::vector<Paces> paces;
  bench.measure_blocks(work, [&] {
    paces = both.time_both();
    return blocks_of(paces);
  });
  bench.verify([&] { return both.find_mismatch(); });
  const auto note_ns = [&](const char* name, double seconds) {
    bench.note(name, static_cast<std::int64_t>(std::llround(seconds * 1e9)));
  };
  note_ns(kCollectiveAloneNs, collective_alone_s);
  note_ns(kLoadAloneNs, mean_of(paces, [](const Paces& p) { return p.load_alone.mean(); }));
  note_ns(kLoadBesideNs, mean_of(paces, [](const Paces& p) { return p.load_beside.mean(); }));
  note_ns(kCollectiveBesideNs,
          mean_of(paces, [](const Paces& p) { return p.collective_beside.mean(); }));
  if (std::ranges::any_of(paces, [](const Paces& p) {
        return p.clock_alone_hz.empty() || p.clock_beside_hz.empty();
      }))
    return;
  const auto note_hz = [&](const char* name, const auto& clocks) {
    bench.note(name, static_cast<std::int64_t>(std::llround(
                         mean_of(paces, [&](const Paces& p) { return mean(clocks(p)); }))));
  };
  note_hz(
      kClockAloneHz, [](const Paces& p) -> const auto& { return p.clock_alone_hz; });
  note_hz(
      kClockBesideHz, [](const Paces& p) -> const auto& { return p.clock_beside_hz; });
}

}  // namespace peakline::bench
