#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/p2p/pair_copy.cuh"

namespace peakline::bench {
namespace {

// From one GPU to another, both by index among the point's.
using Way = std::pair<std::size_t, std::size_t>;

// Copies of one sender run one after the other: all at once would collide at some receivers while
// others wait (with three ways each, four H200s then send 57 % as much).
void all_at_once(NodeBench& bench, const std::vector<Way>& ways) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  // Copies in a row hide forking and joining the streams.
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
      copies[way]->enqueue(fork.stream(ways[way].first));
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

}  // namespace

void send_all_to_all(NodeBench& bench) {
  const std::size_t gpus = bench.gpus().size();
  std::vector<Way> ways;
  // At each distance, every GPU receives from one other.
  for (std::size_t distance = 1; distance < gpus; ++distance)
    for (std::size_t from = 0; from < gpus; ++from)
      ways.emplace_back(from, (from + distance) % gpus);
  all_at_once(bench, ways);
}

void send_across_bisection(NodeBench& bench) {
  const std::size_t half = bench.gpus().size() / 2;
  std::vector<Way> ways;
  for (std::size_t i = 0; i < half; ++i) {
    ways.emplace_back(i, half + i);
    ways.emplace_back(half + i, i);
  }
  all_at_once(bench, ways);
}

}  // namespace peakline::bench
