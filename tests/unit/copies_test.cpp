#include "bench/copies.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/unit/sample_profile.hpp"

namespace peakline::bench {
namespace {

constexpr double kGB = 1e9;
constexpr std::int64_t kMiB = 1 << 20;

// Holds what one rule says of measurements.
struct Said {
  Quantity quantity = Quantity::kByteRate;
  std::vector<Measurement> points = {};

  void add(Params params, double value) {
    points.push_back(sample::measurement("x", std::move(params), quantity, value));
  }
  Sentence of(const CurveRule& rule) const {
    CurveView view;
    for (const Measurement& m : points) view.points.push_back(&m);
    Sentence sentence;
    rule.summarize(view, sentence);
    return sentence;
  }
};

std::map<std::string, double> figures(const Sentence& sentence) {
  return {sentence.values.begin(), sentence.values.end()};
}

TEST(CopyRateCurve, SaysFromWhichTileEachWayComesNearToTheBest) {
  Said said;
  said.add({{"way", "plain"}, {"tile", 512}}, 3000 * kGB);
  said.add({{"way", "plain"}, {"tile", 2048}}, 3500 * kGB);
  said.add({{"way", "tensor_1d"}, {"tile", 2048}}, 4000 * kGB);
  said.add({{"way", "tensor_1d"}, {"tile", 128}}, 1000 * kGB);
  const Sentence sentence = said.of(copy_rate_curve("from memory", "hbm"));
  ASSERT_EQ(sentence.pieces.size(), 1u);
  EXPECT_EQ(sentence.pieces[0],
            "from memory: plain loads 3500 GB/s, 1D tensor 4000 GB/s, 90 % of the best from 2 KiB "
            "(1D tensor)");
  EXPECT_EQ(figures(sentence),
            (std::map<std::string, double>{{"hbm_plain_bytes_per_s", 3500 * kGB},
                                           {"hbm_tensor_1d_bytes_per_s", 4000 * kGB},
                                           {"hbm_tensor_1d_enough_bytes", 2048}}));
}

TEST(CopyLatencyCurve, ComparesTheWaysAtEachSize) {
  Said said{.quantity = Quantity::kTime};
  said.add({{"way", "plain"}, {"tile", 512}}, 300e-9);
  said.add({{"way", "plain"}, {"tile", 8192}}, 700e-9);
  said.add({{"way", "bulk"}, {"tile", 512}}, 600e-9);
  const Sentence sentence = said.of(copy_latency_curve());
  EXPECT_EQ(sentence.pieces,
            (std::vector<std::string>{"one copy of 512 B: plain loads 300 ns, bulk 600 ns",
                                      "one copy of 8 KiB: plain loads 700 ns"}));
  EXPECT_EQ(figures(sentence).at("latency_bulk_512_s"), 600e-9);
}

TEST(LinkWayCurve, NamesMemoryAndDirection) {
  Said said;
  said.add({{"bytes", 4096}}, kGB);
  said.add({{"bytes", 64 * kMiB}}, 50 * kGB);
  const Sentence sentence = said.of(link_way_curve("write_combined", "h2d"));
  EXPECT_EQ(sentence.pieces, std::vector<std::string>{"write-combined to device 50.0 GB/s"});
  EXPECT_EQ(figures(sentence).at("write_combined_h2d_bytes_per_s"), 50 * kGB);
}

TEST(PiecesCurve, HoldsTheSmallestPiecesAgainstOneCopy) {
  Said said;
  said.add({{"piece", 4096}}, 1);
  said.add({{"piece", 16 * kMiB}}, 1);
  said.points[0].summary = Summary{.median = 8e-3};
  EXPECT_TRUE(Said{.points = {said.points[0]}}.of(pieces_curve()).pieces.empty());
  said.points[1].summary = Summary{.median = 3e-4};
  const Sentence sentence = said.of(pieces_curve());
  EXPECT_EQ(sentence.pieces,
            std::vector<std::string>{"16 MiB to device at once in 300 us, in pieces of 4 KiB in "
                                     "8.00 ms"});
  EXPECT_EQ(figures(sentence), (std::map<std::string, double>{{"pieces_whole_s", 3e-4},
                                                              {"pieces_smallest_s", 8e-3},
                                                              {"pieces_smallest_bytes", 4096}}));
}

TEST(NodeCurve, SaysBothDirectionsOfEachNode) {
  Said said;
  said.add({{"node", 1}, {"direction", "h2d"}}, 40 * kGB);
  said.add({{"node", 0}, {"direction", "h2d"}}, 55 * kGB);
  said.add({{"node", 0}, {"direction", "d2h"}}, 54 * kGB);
  const Sentence sentence = said.of(node_curve());
  EXPECT_EQ(
      sentence.pieces,
      std::vector<std::string>{"node 0 h2d 55.0 GB/s, node 0 d2h 54.0 GB/s, node 1 h2d 40.0 GB/s"});
  EXPECT_EQ(figures(sentence).at("node_1_h2d_bytes_per_s"), 40 * kGB);
}

TEST(SizeCostCurve, SaysTheSmallestAndTheLargest) {
  Said said{.quantity = Quantity::kTime};
  said.add({{"bytes", 4096}}, 2e-6);
  EXPECT_EQ(said.of(size_cost_curve("cudaMalloc", "malloc")).pieces,
            std::vector<std::string>{"cudaMalloc 4 KiB in 2.00 us"});
  said.add({{"bytes", 1024 * kMiB}}, 4e-4);
  said.add({{"bytes", 16 * kMiB}}, 1e-4);
  const Sentence sentence = said.of(size_cost_curve("cudaMalloc", "malloc"));
  EXPECT_EQ(sentence.pieces,
            std::vector<std::string>{"cudaMalloc 4 KiB in 2.00 us, 1 GiB in 400 us"});
  EXPECT_EQ(figures(sentence).at("malloc_1073741824_s"), 4e-4);
}

TEST(GibCostCurve, ScalesTheLargestAndTellsPagesApart) {
  Said said{.quantity = Quantity::kTime};
  said.add({{"bytes", 16 * kMiB}}, 1);
  said.add({{"bytes", 256 * kMiB}}, 0.1);
  EXPECT_EQ(said.of(gib_cost_curve("cudaHostAlloc", "pinned")).pieces,
            std::vector<std::string>{"cudaHostAlloc 400 ms per GiB"});
  Said pages{.quantity = Quantity::kTime};
  pages.add({{"pages", "small"}, {"bytes", 256 * kMiB}}, 0.1);
  pages.add({{"pages", "huge"}, {"bytes", 256 * kMiB}}, 0.01);
  const Sentence sentence = pages.of(gib_cost_curve("first touch", "first_touch"));
  EXPECT_EQ(sentence.pieces,
            std::vector<std::string>{
                "first touch 400 ms per GiB in small pages, 40.0 ms per GiB in huge pages"});
  EXPECT_DOUBLE_EQ(figures(sentence).at("first_touch_huge_pages_s_per_gib"), 0.04);
}

}  // namespace
}  // namespace peakline::bench
