#include <gtest/gtest.h>

#include "tests/unit/figures.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline::bench {
namespace {

constexpr double kGB = 1e9;
constexpr std::int64_t kMiB = 1 << 20;

// Applies one rule to measurements.
struct Said {
  Quantity quantity = Quantity::kByteRate;
  std::vector<Measurement> points = {};

  void add(Params params, double value) {
    points.push_back(sample::measurement("x", std::move(params), quantity, value));
  }
  Statement of(const CurveRule& rule) const { return said_by(rule, points); }
};

TEST(CopyRateCurve, SaysFromWhichTileEachWayComesNearToTheBest) {
  Said said;
  said.add({{"way", "plain"}, {"tile", 512}}, 3000 * kGB);
  said.add({{"way", "plain"}, {"tile", 2048}}, 3500 * kGB);
  said.add({{"way", "tensor_1d"}, {"tile", 2048}}, 4000 * kGB);
  said.add({{"way", "tensor_1d"}, {"tile", 128}}, 1000 * kGB);
  const Statement sentence = said.of(sample::rule_of("copy.hbm"));
  ASSERT_EQ(sentence.pieces.size(), 1u);
  EXPECT_EQ(sentence.pieces[0],
            "from memory: plain loads 3500 GB/s, 1D tensor 4000 GB/s, 90 % of the best from 2 KiB "
            "(1D tensor)");
  EXPECT_EQ(values_of(sentence), (FigureValues{{"rate/way:plain", 3500 * kGB},
                                               {"rate/way:tensor_1d", 4000 * kGB},
                                               {"enough_from/way:tensor_1d", 2048}}));
}

TEST(CopyLatencyCurve, ComparesTheWaysAtEachSize) {
  Said said{.quantity = Quantity::kTime};
  said.add({{"way", "plain"}, {"tile", 512}}, 300e-9);
  said.add({{"way", "plain"}, {"tile", 8192}}, 700e-9);
  said.add({{"way", "bulk"}, {"tile", 512}}, 600e-9);
  const Statement sentence = said.of(sample::rule_of("copy.latency"));
  EXPECT_EQ(sentence.pieces,
            (std::vector<std::string>{"one copy of 512 B: plain loads 300 ns, bulk 600 ns",
                                      "one copy of 8 KiB: plain loads 700 ns"}));
  EXPECT_EQ(figure_of(sentence, {.name = "latency", .by = {{"way", "bulk"}, {"tile", 512}}}),
            600e-9);
}

TEST(LinkWayCurve, NamesMemoryAndDirection) {
  Said said;
  said.add({{"bytes", 4096}}, kGB);
  said.add({{"bytes", 64 * kMiB}}, 50 * kGB);
  const Statement sentence = said.of(sample::rule_of("pcie.h2d.write_combined"));
  EXPECT_EQ(sentence.pieces, std::vector<std::string>{"write-combined H2D 50.0 GB/s"});
  EXPECT_EQ(figure_of(sentence, {.name = "largest_size_rate"}), 50 * kGB);
}

TEST(PiecesCurve, HoldsTheSmallestPiecesAgainstOneCopy) {
  Said said;
  said.add({{"piece", 4096}}, 1);
  said.add({{"piece", 16 * kMiB}}, 1);
  said.points[0].summary = Summary{.median = 8e-3};
  EXPECT_TRUE(
      Said{.points = {said.points[0]}}.of(sample::rule_of("pcie.h2d.pieces")).pieces.empty());
  said.points[1].summary = Summary{.median = 3e-4};
  const Statement sentence = said.of(sample::rule_of("pcie.h2d.pieces"));
  EXPECT_EQ(sentence.pieces,
            std::vector<std::string>{"16 MiB H2D at once in 300 us, in pieces of 4 KiB in "
                                     "8.00 ms"});
  EXPECT_EQ(values_of(sentence),
            (FigureValues{{"whole", 3e-4}, {"in_pieces", 8e-3}, {"smallest_piece", 4096}}));
}

TEST(NumaCurve, SaysBothDirectionsOfEachNode) {
  Said said;
  said.add({{"node", 1}, {"direction", "h2d"}}, 40 * kGB);
  said.add({{"node", 0}, {"direction", "h2d"}}, 55 * kGB);
  said.add({{"node", 0}, {"direction", "d2h"}}, 54 * kGB);
  const Statement sentence = said.of(sample::rule_of("pcie.node"));
  EXPECT_EQ(
      sentence.pieces,
      std::vector<std::string>{"node 0 h2d 55.0 GB/s, node 0 d2h 54.0 GB/s, node 1 h2d 40.0 GB/s"});
  EXPECT_EQ(figure_of(sentence, {.name = "rate", .by = {{"node", 1}, {"direction", "h2d"}}}),
            40 * kGB);
}

TEST(SizeCostCurve, SaysTheSmallestAndTheLargest) {
  Said said{.quantity = Quantity::kTime};
  said.add({{"bytes", 4096}}, 2e-6);
  EXPECT_EQ(said.of(sample::rule_of("allocation.malloc")).pieces,
            std::vector<std::string>{"cudaMalloc 4 KiB in 2.00 us"});
  said.add({{"bytes", 1024 * kMiB}}, 4e-4);
  said.add({{"bytes", 16 * kMiB}}, 1e-4);
  const Statement sentence = said.of(sample::rule_of("allocation.malloc"));
  EXPECT_EQ(sentence.pieces,
            std::vector<std::string>{"cudaMalloc 4 KiB in 2.00 us, 1 GiB in 400 us"});
  EXPECT_EQ(figure_of(sentence, {.name = "time", .by = {{"bytes", 1024 * kMiB}}}), 4e-4);
}

TEST(GibCostCurve, ScalesTheLargestAndTellsPagesApart) {
  Said said{.quantity = Quantity::kTime};
  said.add({{"bytes", 16 * kMiB}}, 1);
  said.add({{"bytes", 256 * kMiB}}, 0.1);
  EXPECT_EQ(said.of(sample::rule_of("allocation.pinned")).pieces,
            std::vector<std::string>{"cudaHostAlloc 400 ms per GiB"});
  Said pages{.quantity = Quantity::kTime};
  pages.add({{"pages", "small"}, {"bytes", 256 * kMiB}}, 0.1);
  pages.add({{"pages", "huge"}, {"bytes", 256 * kMiB}}, 0.01);
  const Statement sentence = pages.of(sample::rule_of("allocation.first_touch"));
  EXPECT_EQ(sentence.pieces,
            std::vector<std::string>{
                "first touch 400 ms per GiB in small pages, 40.0 ms per GiB in huge pages"});
  EXPECT_DOUBLE_EQ(figure_of(sentence, {.name = "time_per_gib", .by = {{"pages", "huge"}}}), 0.04);
}

}  // namespace
}  // namespace peakline::bench
