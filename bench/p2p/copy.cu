#include <algorithm>
#include <array>

#include "bench/p2p/links.hpp"
#include "bench/p2p/pair_copy.cuh"
#include "kernels/stream.cuh"

namespace peakline::bench {
namespace {

struct Shape {
  unsigned threads;  // per block
  int unroll;        // 16-byte loads in flight per thread
};
constexpr std::array<Shape, 6> kShapes{
    {{256, 4}, {512, 4}, {1024, 4}, {256, 8}, {512, 8}, {1024, 8}}};
// Large enough to tell the shapes apart. Between two H200s they are within 1 % of one another; for
// small copies the first, with the most blocks, is up to twice as fast.
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

void enqueue(const PairCopy& copy, CopiesBy by, const Shape& shape, cudaStream_t stream) {
  if (by == CopiesBy::kEngine) {
    copy.enqueue(stream);
  } else if (shape.unroll == 4) {
    launch_copy<4>(copy, shape.threads, stream);
  } else {
    launch_copy<8>(copy, shape.threads, stream);
  }
}

std::size_t bytes_of(const NodeBench& bench) {
  return static_cast<std::size_t>(bench.integer("bytes"));
}

// reads: the first GPU, which measures, reads from the second; otherwise it writes to it.
PairCopy copy_of(NodeBench& bench, bool reads, std::size_t bytes) {
  const NodeGpu& self = *bench.gpus()[0];
  const NodeGpu& other = *bench.gpus()[1];
  return {reads ? other : self, reads ? self : other, bytes, bench.seed()};
}

const Shape& shape_of(NodeBench& bench, bool reads) {
  return bench.remember<Shape>(reads ? "p2p.shape.read" : "p2p.shape.write", [&] {
    const PairCopy copy = copy_of(bench, reads, kSearchBytes);
    const auto launch_of = [&](std::size_t i) {
      return CudaBench::Launch(
          [&copy, i](cudaStream_t stream) { enqueue(copy, CopiesBy::kSm, kShapes[i], stream); });
    };
    const Shape& best = kShapes[bench.search(kShapes.size(), launch_of, kSearchSeconds,
                                             {.tolerance = kEqualShapes})];
    bench.note("block", static_cast<std::int64_t>(best.threads));
    bench.note("unroll", static_cast<std::int64_t>(best.unroll));
    return best;
  });
}

// Both GPUs read from, or write to, each other at once, timed until both are done.
class BothWays {
 public:
  BothWays(NodeBench& bench, CopiesBy by, std::size_t bytes)
      : other_(*bench.gpus()[1]),
        by_(by),
        shapes_{by == CopiesBy::kSm ? shape_of(bench, false) : Shape{},
                by == CopiesBy::kSm ? shape_of(bench, true) : Shape{}},
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
  // Fewest bytes per launch and direction that hide forking and joining the streams.
  static constexpr std::size_t kLeastPerLaunch = std::size_t{4} << 30,
                               kLeastOverPcie = std::size_t{256} << 20;
  static constexpr std::size_t kMostCopies = 64;

  const NodeGpu& other_;
  CopiesBy by_;
  std::array<Shape, 2> shapes_;  // of writes and of reads
  std::size_t copies_;           // per launch and direction
  PairCopy in_, out_;
  Fork fork_;
};

}  // namespace

void copy_pair_one_way(NodeBench& bench, bool reads, CopiesBy by) {
  bench.connect();
  need_arrays(bench, 1, std::max(bytes_of(bench), kSearchBytes));
  const Shape shape = by == CopiesBy::kSm ? shape_of(bench, reads) : Shape{};
  const PairCopy copy = copy_of(bench, reads, bytes_of(bench));
  const auto launch = [&](cudaStream_t stream) { enqueue(copy, by, shape, stream); };
  bench.verify([&] {
    copy.poison();
    bench.launch_once(launch);
    return copy.find_mismatch();
  });
  bench.measure({.bytes_read = static_cast<double>(copy.bytes())}, launch);
}

void copy_pair_both_ways(NodeBench& bench, CopiesBy by) {
  bench.connect();
  need_arrays(bench, 2, std::max(bytes_of(bench), kSearchBytes));
  const bool reads =
      bench.remember<bool>(by == CopiesBy::kSm ? "p2p.both.sm" : "p2p.both.ce", [&]() -> bool {
        const BothWays ways(bench, by, kSearchBytes);
        const bool best =
            bench.search(
                2, [&](std::size_t i) { return ways.launch(i == 1); }, kSearchSeconds) == 1;
        bench.note("copies_by", std::string(best ? "reading" : "writing"));
        return best;
      });
  const std::size_t bytes = bytes_of(bench);
  const BothWays ways(bench, by, bytes);
  if (by == CopiesBy::kSm) shape_of(bench, reads);  // notes only the shape that is used
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

}  // namespace peakline::bench
