// How fast are the links between GPUs? Each pair, by size, direction, and who copies.

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <span>

#include "bench/latency.hpp"
#include "bench/pair_copy.cuh"
#include "bench/pairs.hpp"
#include "harness/core/limits.hpp"
#include "harness/core/node_curves.hpp"
#include "kernels/latency.cuh"
#include "kernels/peer.cuh"
#include "kernels/stream.cuh"

namespace peakline::bench {
namespace {

constexpr std::size_t kSmallest = 4 << 10, kLargest = std::size_t{1} << 30;

// Who copies: the copy engines of the GPU that measures, or its SMs.
enum class By { kEngine, kSm };

struct Shape {
  unsigned threads;  // of a block
  int unroll;        // loads of 16 bytes in flight in a thread
};
constexpr std::array<Shape, 6> kShapes{
    {{256, 4}, {512, 4}, {1024, 4}, {256, 8}, {512, 8}, {1024, 8}}};
// Large enough to tell the shapes apart. Between two H200s they are within 1 % of one another for
// large copies; for small ones the first, of the most blocks, is up to twice as fast.
constexpr std::size_t kSearchBytes = std::size_t{256} << 20;
constexpr double kSearchSeconds = 0.05;
constexpr double kEqualShapes = 0.01;

template <int kUnroll>
void launch_copy(const PairCopy& copy, unsigned threads, cudaStream_t stream) {
  const std::size_t count = copy.bytes() / sizeof(uint4);
  kernels::stream_copy<uint4, kUnroll>
      <<<kernels::stream_blocks(count, threads, kUnroll), threads, 0, stream>>>(
          reinterpret_cast<const uint4*>(copy.source()), reinterpret_cast<uint4*>(copy.target()),
          count);
}

void enqueue(const PairCopy& copy, By by, const Shape& shape, cudaStream_t stream) {
  if (by == By::kEngine) {
    PEAKLINE_CUDA(
        cudaMemcpyAsync(copy.target(), copy.source(), copy.bytes(), cudaMemcpyDefault, stream));
  } else if (shape.unroll == 4) {
    launch_copy<4>(copy, shape.threads, stream);
  } else {
    launch_copy<8>(copy, shape.threads, stream);
  }
}

std::size_t bytes_of(const NodeBench& bench) {
  return static_cast<std::size_t>(bench.integer("bytes"));
}

// Arrays of so many bytes fit into both GPUs' memory, with one to verify by.
void need_arrays(const NodeBench& bench, std::size_t arrays, std::size_t bytes) {
  bench.need_memory((arrays + 1) * bytes);
}

// reads: the first GPU, which measures, reads from the second; else it writes to it.
PairCopy copy_of(NodeBench& bench, bool reads, std::size_t bytes) {
  const NodeGpu& self = *bench.gpus()[0];
  const NodeGpu& other = *bench.gpus()[1];
  return {reads ? other : self, reads ? self : other, bytes, bench.seed()};
}

// Of the SMs' copies; found once for each GPU that measures.
const Shape& shape_of(NodeBench& bench, bool reads) {
  return bench.remember<Shape>(reads ? "p2p.shape.read" : "p2p.shape.write", [&] {
    const PairCopy copy = copy_of(bench, reads, kSearchBytes);
    const auto launch_of = [&](std::size_t i) {
      return CudaBench::Launch(
          [&copy, i](cudaStream_t stream) { enqueue(copy, By::kSm, kShapes[i], stream); });
    };
    const Shape& best = kShapes[bench.search(kShapes.size(), launch_of, kSearchSeconds,
                                             {.tolerance = kEqualShapes})];
    bench.note("block", static_cast<std::int64_t>(best.threads));
    bench.note("unroll", static_cast<std::int64_t>(best.unroll));
    return best;
  });
}

void one_way(NodeBench& bench, bool reads, By by) {
  bench.connect();
  need_arrays(bench, 1, std::max(bytes_of(bench), kSearchBytes));
  const Shape shape = by == By::kSm ? shape_of(bench, reads) : Shape{};
  const PairCopy copy = copy_of(bench, reads, bytes_of(bench));
  const auto launch = [&](cudaStream_t stream) { enqueue(copy, by, shape, stream); };
  bench.verify([&] {
    copy.poison();
    bench.launch_once(launch);
    return copy.find_mismatch();
  });
  bench.measure({.bytes_read = static_cast<double>(copy.bytes())}, launch);
}

// Both GPUs copy at once, timed until both are done: each reads from the other, or writes to it.
class BothWays {
 public:
  BothWays(NodeBench& bench, By by, std::size_t bytes)
      : other_(*bench.gpus()[1]),
        by_(by),
        shapes_{by == By::kSm ? shape_of(bench, false) : Shape{},
                by == By::kSm ? shape_of(bench, true) : Shape{}},
        copies_(std::clamp<std::size_t>(
            (nvlinks_to(bench.device(), other_.index) > 0 ? kLeastPerLaunch : kLeastOverPcie) /
                bytes,
            1, kMostCopies)),
        in_(other_, *bench.gpus()[0], bytes, bench.seed()),
        out_(*bench.gpus()[0], other_, bytes, bench.seed() + 1),
        fork_(std::array{&other_}) {}

  std::size_t copies() const { return copies_; }
  CudaBench::Launch launch(bool reads) const {
    const auto enqueue_all = [this, reads](cudaStream_t stream) {
      fork_.begin(stream);
      for (std::size_t i = 0; i < copies_; ++i) {
        enqueue(reads ? in_ : out_, by_, shapes_[reads], stream);
        const CurrentGpu current(other_);
        enqueue(reads ? out_ : in_, by_, shapes_[reads], fork_.stream(0));
      }
      fork_.end(stream);
    };
    return {enqueue_all,
            {.operations = static_cast<std::int64_t>(2 * copies_) + Fork::kOperations}};
  }
  void poison() const {
    in_.poison();
    out_.poison();
  }
  std::string find_mismatch() const {
    const std::string wrong = in_.find_mismatch();
    return wrong.empty() ? out_.find_mismatch() : wrong;
  }

 private:
  // Fewest bytes per launch and direction: with less, forking and joining the streams would show.
  static constexpr std::size_t kLeastPerLaunch = std::size_t{4} << 30,
                               kLeastOverPcie = std::size_t{256} << 20;
  static constexpr std::size_t kMostCopies = 64;

  const NodeGpu& other_;
  By by_;
  std::array<Shape, 2> shapes_;  // of writes and of reads
  std::size_t copies_;           // per launch and direction
  PairCopy in_, out_;
  Fork fork_;
};

void both_ways(NodeBench& bench, By by) {
  bench.connect();
  need_arrays(bench, 2, std::max(bytes_of(bench), kSearchBytes));
  const bool reads =
      bench.remember<bool>(by == By::kSm ? "p2p.both.sm" : "p2p.both.ce", [&]() -> bool {
        const BothWays ways(bench, by, kSearchBytes);
        const bool best =
            bench.search(
                2, [&](std::size_t i) { return ways.launch(i == 1); }, kSearchSeconds) == 1;
        bench.note("copies_by", std::string(best ? "reading" : "writing"));
        return best;
      });
  const std::size_t bytes = bytes_of(bench);
  const BothWays ways(bench, by, bytes);
  if (by == By::kSm) shape_of(bench, reads);  // notes the one of the two that is used
  const CudaBench::Launch launch = ways.launch(reads);
  bench.verify([&] {
    ways.poison();
    bench.launch_once(launch);
    return ways.find_mismatch();
  });
  bench.note("copies_per_launch", static_cast<std::int64_t>(ways.copies()));
  const double moved = static_cast<double>(bytes * ways.copies());
  bench.measure({.bytes_read = moved, .bytes_written = moved}, launch);
}

// From one GPU to another, both by index among the point's.
using Way = std::pair<std::size_t, std::size_t>;

// All ways at once: each sender's copies, in the order of its ways, one after the other, by its
// copy engines. (All of a sender's at once would meet those of others at some receivers while
// others wait: with three ways each, four H200s send 57 % of what they do in turns.)
void all_at_once(NodeBench& bench, const std::vector<Way>& ways) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  // In a row, so that forking and joining the streams does not show.
  constexpr std::size_t kInARow = 4;
  bench.connect();
  need_arrays(bench, 2 * (bench.gpus().size() - 1), kBytes);
  std::vector<std::unique_ptr<PairCopy>> copies;
  for (const auto& [from, to] : ways) {
    copies.push_back(std::make_unique<PairCopy>(*bench.gpus()[from], *bench.gpus()[to], kBytes,
                                                bench.seed() + copies.size()));
  }
  const Fork fork(std::vector<const NodeGpu*>(bench.gpus().begin(), bench.gpus().end()));
  const auto launch_all = [&](cudaStream_t stream) {
    fork.begin(stream);
    for (std::size_t i = 0; i < kInARow * copies.size(); ++i) {
      const std::size_t way = i % copies.size();
      enqueue(*copies[way], By::kEngine, {}, fork.stream(ways[way].first));
    }
    fork.end(stream);
  };
  const CudaBench::Launch launch(
      launch_all,
      {.operations = static_cast<std::int64_t>(kInARow * copies.size()) + Fork::kOperations});
  bench.verify([&]() -> std::string {
    for (const auto& copy : copies) copy->poison();
    bench.launch_once(launch);
    for (const auto& copy : copies)
      if (std::string wrong = copy->find_mismatch(); !wrong.empty()) return wrong;
    return "";
  });
  bench.measure({.bytes_read = static_cast<double>(kBytes * kInARow * copies.size())}, launch);
}

void all_to_all(NodeBench& bench) {
  const std::size_t gpus = bench.gpus().size();
  std::vector<Way> ways;
  // At each distance every GPU receives from one other.
  for (std::size_t distance = 1; distance < gpus; ++distance)
    for (std::size_t from = 0; from < gpus; ++from)
      ways.emplace_back(from, (from + distance) % gpus);
  all_at_once(bench, ways);
}

void bisection(NodeBench& bench) {
  const std::size_t half = bench.gpus().size() / 2;
  std::vector<Way> ways;
  for (std::size_t i = 0; i < half; ++i) {
    ways.emplace_back(i, half + i);
    ways.emplace_back(half + i, i);
  }
  all_at_once(bench, ways);
}

void latency(NodeBench& bench) {
  // Beyond every L1, and within the part of the other GPU's L2 that holds it: what remains is the
  // way there and back.
  constexpr std::uint64_t kBytes = 2 << 20;
  bench.connect();
  const NodeBuffer<char> memory(*bench.gpus()[1], kBytes);
  measure_peer_latency(bench, memory.data(), kBytes / kernels::kLineBytes);
}

// A write, and its sight by the other GPU: half of a round of a ping-pong.
void visibility(NodeBench& bench) {
  if (bench.options().profile) throw Skipped("a profiler runs one kernel at a time");
  bench.connect();
  const NodeGpu& other = *bench.gpus()[1];
  const NodeBuffer<std::uint32_t> own(*bench.gpus()[0], 1), others(other, 1);
  const cuda::PinnedBuffer<ClockReading> stamps(2);
  const std::span<ClockReading, 2> readings(stamps.data(), 2);
  // Their code is loaded here: the first waits for the second, whose loading may wait for the
  // first.
  cudaFuncAttributes loaded{};
  PEAKLINE_CUDA(cudaFuncGetAttributes(&loaded, kernels::ping<ClockReading>));
  PEAKLINE_CUDA(cudaMemset(own.data(), 0, sizeof(std::uint32_t)));
  PEAKLINE_CUDA(cudaDeviceSynchronize());
  {
    const CurrentGpu current(other);
    PEAKLINE_CUDA(cudaFuncGetAttributes(&loaded, kernels::pong));
    PEAKLINE_CUDA(cudaMemset(others.data(), 0, sizeof(std::uint32_t)));
    PEAKLINE_CUDA(cudaDeviceSynchronize());
  }
  const Fork fork(std::array{&other});
  std::uint32_t count = 0;
  const auto launch_of = [&](std::uint64_t steps) -> CudaBench::Launch {
    const auto rounds = static_cast<std::uint32_t>(steps / 2);
    return [&, rounds](cudaStream_t stream) {
      fork.begin(stream);
      kernels::ping<<<1, 1, 0, stream>>>(own.data(), others.data(), count, rounds, stamps.data());
      {
        const CurrentGpu current(other);
        kernels::pong<<<1, 1, 0, fork.stream(0)>>>(others.data(), own.data(), count, rounds);
      }
      count += rounds + 1;
      fork.end(stream);
    };
  };
  bench.verify([&]() -> std::string {
    constexpr std::uint64_t kFew = 64;
    bench.launch_once(launch_of(kFew));
    std::uint32_t seen = 0;
    PEAKLINE_CUDA(cudaMemcpy(&seen, own.data(), sizeof(seen), cudaMemcpyDeviceToHost));
    return seen == count ? "" : "the last flag did not arrive";
  });
  bench.measure_stamped(launch_of, readings);
}

// Of the first pair every size; of all pairs the large one. Of more than two GPUs the other pairs
// are sampled briefly, so that many take not much longer than two.
std::vector<Point> points(const std::vector<int>& gpus, bool directed, bool ceiling) {
  std::vector<Point> all;
  for (std::size_t bytes = kSmallest; bytes < kLargest; bytes *= 4)
    all.push_back({.params = {{"pair", pair_name({gpus[0], gpus[1]})},
                              {"bytes", static_cast<std::int64_t>(bytes)}},
                   .phase = Phase::kNode,
                   .seconds = 0.02,
                   .gpus = {gpus[0], gpus[1]}});
  const Point large{.params = {{"bytes", static_cast<std::int64_t>(kLargest)}},
                    .phase = Phase::kNode,
                    .quick = ceiling,
                    .seconds = 0.08};
  for (Point& point : pair_points(gpus, directed, large)) {
    if (ceiling && std::max(point.gpus[0], point.gpus[1]) == std::max(gpus[0], gpus[1]) &&
        std::min(point.gpus[0], point.gpus[1]) == std::min(gpus[0], gpus[1])) {
      point.rule = Rule::kFull;
      point.round = 0;
      point.seconds = 0.35;
    }
    all.push_back(std::move(point));
  }
  return all;
}

// Whether NVLinks are what was measured; while it is planned, they may be.
bool over_nvlinks(const Measurement& m, const DeviceFacts* gpu) {
  return gpu == nullptr || nvlinks_to(*gpu, second_gpu(m.params)) > 0;
}

// That of each pair, and of the node: that of its best pair. Only where NVLinks connect the two.
std::vector<CeilingRule> ceilings(const std::string& name, const std::vector<Point>& points) {
  const auto counts = [](const std::string& pair) {
    return [pair, large = at_least("bytes", kCeilingCopyBytes)](const Measurement& m,
                                                                const DeviceFacts* gpu) {
      return large(m, gpu) && (pair.empty() || text_param(m.params, "pair") == pair) &&
             over_nvlinks(m, gpu);
    };
  };
  std::vector<CeilingRule> rules = {{.resource = resource(name), .counts = counts("")}};
  for (const Point& point : points) {
    if (int_param(point.params, "bytes") != static_cast<std::int64_t>(kLargest)) continue;
    const std::string pair = *text_param(point.params, "pair");
    Resource of_pair = resource(name);
    of_pair.name += "." + pair;
    of_pair.label += " " + pair;
    rules.push_back({.resource = std::move(of_pair), .counts = counts(pair)});
  }
  return rules;
}

}  // namespace

void register_p2p(Registry& registry, const std::vector<int>& gpus) {
  constexpr const char* kTopic = "GPU to GPU";
  const auto add = [&](const char* id, const char* what, const char* work, int directions,
                       const char* ceiling, std::vector<CurveRule> curves,
                       std::function<void(NodeBench&)> run) {
    std::vector<Point> all = points(gpus, directions == 1, ceiling != nullptr);
    auto rules = ceiling != nullptr ? ceilings(ceiling, all) : std::vector<CeilingRule>();
    registry.add({.id = id,
                  .what = what,
                  .work = work,
                  .quantity = Quantity::kByteRate,
                  .loads = Loads::kLink,
                  .limit = nvlink(directions),
                  .ceilings = std::move(rules),
                  .curves = std::move(curves),
                  .points = std::move(all)},
                 std::move(run));
  };
  constexpr const char* kOnce = "bytes over the link, counted once";
  constexpr const char* kBoth = "bytes of both directions, timed until both are done";
  add("p2p.read.ce", "Bandwidth of reads from another GPU by the copy engines, by size", kOnce, 1,
      "nvlink.read", {pair_rate_curve(kTopic, "reads", "read")},
      [](NodeBench& bench) { one_way(bench, true, By::kEngine); });
  add("p2p.write.ce", "Bandwidth of writes to another GPU by the copy engines, by size", kOnce, 1,
      "nvlink.write", {pair_rate_curve(kTopic, "writes", "write")},
      [](NodeBench& bench) { one_way(bench, false, By::kEngine); });
  add("p2p.bidirectional.ce", "Bandwidth between two GPUs both ways by the copy engines, by size",
      kBoth, 2, "nvlink.bidirectional", {pair_rate_curve(kTopic, "both ways", "bidirectional")},
      [](NodeBench& bench) { both_ways(bench, By::kEngine); });
  add("p2p.read.sm", "Bandwidth of reads from another GPU by a kernel, by size", kOnce, 1, nullptr,
      {pair_rate_curve(kTopic, "reads by a kernel", "read_sm")},
      [](NodeBench& bench) { one_way(bench, true, By::kSm); });
  add("p2p.write.sm", "Bandwidth of writes to another GPU by a kernel, by size", kOnce, 1, nullptr,
      {pair_rate_curve(kTopic, "writes by a kernel", "write_sm")},
      [](NodeBench& bench) { one_way(bench, false, By::kSm); });
  add("p2p.bidirectional.sm", "Bandwidth between two GPUs both ways by kernels, by size", kBoth, 2,
      nullptr, {pair_rate_curve(kTopic, "both ways by kernels", "bidirectional_sm")},
      [](NodeBench& bench) { both_ways(bench, By::kSm); });

  const auto add_time = [&](const char* id, const char* what, const char* work, const char* label,
                            const char* name, void (*run)(NodeBench&)) {
    const Point each{.params = {}, .phase = Phase::kNode, .quick = true, .seconds = 0.03};
    std::vector<Point> points = pair_points(gpus, false, each);
    // One by one: while a kernel waits for one of another GPU, a call of another thread that waits
    // for all GPUs could keep that one from being launched.
    for (Point& point : points) point.round = 0;
    registry.add({.id = id,
                  .what = what,
                  .work = work,
                  .quantity = Quantity::kTime,
                  .loads = Loads::kLink,
                  .limit = no_limit("a time has no upper limit"),
                  .curves = {pair_time_curve(kTopic, label, name)},
                  .points = std::move(points)},
                 std::function<void(NodeBench&)>(run));
  };
  add_time("p2p.latency", "Latency of another GPU's memory",
           "seconds of one load, each of which waits for the one before", "latency", "latency_s",
           latency);
  add_time("p2p.visibility", "Time until another GPU sees a write to its memory",
           "half the seconds of a flag's way there and of its answer's back",
           "a flag is seen after", "visibility_s", visibility);

  const auto add_all = [&](const char* id, const char* what, const char* label, const char* name,
                           const char* resource_name, void (*run)(NodeBench&)) {
    registry.add({.id = id,
                  .what = what,
                  .work = "bytes that all GPUs send, timed until all have arrived",
                  .quantity = Quantity::kByteRate,
                  .loads = Loads::kLink,
                  .limit = nvlink(1),
                  .ceilings = {{.resource = resource(resource_name), .counts = over_nvlinks}},
                  .curves = {all_gpus_curve(kTopic, label, name)},
                  .points = {{.params = {{"gpus", std::ssize(gpus)}},
                              .phase = Phase::kNode,
                              .rule = Rule::kFull,
                              .seconds = 0.6,
                              .gpus = gpus}}},
                 std::function<void(NodeBench&)>(run));
  };
  add_all("p2p.all_to_all", "Bandwidth of all GPUs sending to all others at once", "all to all",
          "all_to_all", "nvlink.all_to_all", all_to_all);
  // Between two GPUs it is p2p.bidirectional.
  if (gpus.size() >= 4 && gpus.size() % 2 == 0)
    add_all("p2p.bisection", "Bandwidth between two halves of the GPUs, both ways", "bisection",
            "bisection", "nvlink.bisection", bisection);
}

}  // namespace peakline::bench
