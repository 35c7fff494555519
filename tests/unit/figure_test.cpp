#include "harness/values/figure.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/conclude/curves.hpp"
#include "harness/values/benchmark.hpp"
#include "harness/values/units.hpp"
#include "tests/unit/figures.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

Figure a_figure(std::string name, Params by, double value, std::string role = {}) {
  return {.id = "copy.rate",
          .name = std::move(name),
          .by = std::move(by),
          .value = value,
          .unit = "B/s",
          .role = std::move(role)};
}

TEST(FigureQuery, SelectsWhatHasAllThatItNames) {
  const std::vector<Figure> figures = {
      a_figure("rate", {{"way", "plain"}, {"tile", 512}}, 1),
      a_figure("rate", {{"way", "bulk"}, {"tile", 512}}, 2, role::kFullRate),
      a_figure("rate", {{"way", "bulk"}, {"tile", 1024}}, 3), a_figure("time", {}, 4)};
  EXPECT_EQ(figure_of(figures, {}), 1);
  EXPECT_EQ(figure_of(figures, {.name = "time"}), 4);
  EXPECT_EQ(figure_of(figures, {.role = role::kFullRate}), 2);
  EXPECT_EQ(figure_of(figures, {.name = "rate", .by = {{"tile", 1024}}}), 3);
  EXPECT_EQ(figure_of(figures, {.by = {{"tile", 512}, {"way", "bulk"}}}), 2);  // in any order
  EXPECT_EQ(find_figure(figures, {.name = "time", .by = {{"tile", 512}}}), nullptr);
  EXPECT_EQ(find_figure(figures, {.by = {{"tile", "512"}}}), nullptr);  // text
  EXPECT_EQ(find_figure(figures, {.id = "copy", .name = "rate"}), nullptr);
  EXPECT_EQ(find_figure({}, {}), nullptr);
}

TEST(Sentence, TakesFiguresThatTheRuleDeclares) {
  const std::vector<FigureKind> kinds = {{"rate", "B/s"},
                                         {"rate", "GB/s", {"way", "tile"}, role::kFullRate}};
  Sentence sentence("copy.rate", kinds);
  sentence.figure("rate", 1);
  sentence.figure("rate", 2, {{"way", "bulk"}, {"tile", 512}});
  ASSERT_EQ(sentence.figures().size(), 2u);
  EXPECT_EQ(sentence.figures()[0], a_figure("rate", {}, 1));
  EXPECT_EQ(sentence.figures()[1].unit, "GB/s");
  EXPECT_EQ(sentence.figures()[1].role, role::kFullRate);
  EXPECT_THROW(sentence.figure("time", 1), std::logic_error);
  EXPECT_THROW(sentence.figure("rate", 1, {{"way", "bulk"}}), std::logic_error);
  EXPECT_THROW(sentence.figure("rate", 1, {{"tile", 512}, {"way", "bulk"}}), std::logic_error);
  EXPECT_EQ(sentence.figures().size(), 2u);
}

// Two benchmarks of one topic; the first declares its title.
class Titles : public testing::Test {
 protected:
  Titles() {
    for (const char* id : {"made.up.one", "made.up.other"}) {
      Benchmark& benchmark = benchmarks_.emplace_back();
      benchmark.id = id;
      benchmark.curves = {
          {"made up", {{"time", "s"}}, [id](const CurveView& curve, Sentence& sentence) {
             const double time_s = *curve.points.front()->value;
             sentence.add(fmt::format("{} {}", id, format_time(time_s)));
             sentence.figure("time", time_s);
           }}};
      profile_.measurements.push_back(sample::measurement(id, {}, Quantity::kTime, 2e-6));
    }
    profile_.devices = {sample::h200()};
  }
  void declare(const std::string& topic, std::function<std::string(const TitleView&)> title) {
    benchmarks_.front().topics.push_back({.name = topic, .title = std::move(title)});
  }
  std::vector<Curve> curves() const { return derive_curves(profile_, benchmarks_); }

  std::vector<Benchmark> benchmarks_;
  Profile profile_;
};

TEST_F(Titles, AreMadeOfTheFiguresOfAllBenchmarksOfTheTopic) {
  declare("made up", [](const TitleView& view) {
    const std::size_t times = view.all({.name = "time"}).size();  // the host has none
    return std::to_string(times) + " times on " + view.facts->name;
  });
  ASSERT_EQ(curves().size(), 1u);
  EXPECT_EQ(curves()[0].title, "2 times on NVIDIA H200");
  EXPECT_EQ(curves()[0].sentence, "made.up.one 2.00 us; made.up.other 2.00 us");
}

TEST_F(Titles, AreEmptyWhereAnythingOfThemIsMissing) {
  declare("made up", [](const TitleView& view) {
    EXPECT_EQ(view.find({.name = "rate"}), nullptr);
    EXPECT_THROW(view.value({.name = "rate"}), Missing);
    EXPECT_THROW(view.ceiling("hbm.read", Basis::kMeasured), Missing);
    EXPECT_EQ(view.measurement("made.up"), nullptr);
    view.all({.name = "rate"});
    return std::string("not reached");
  });
  ASSERT_EQ(curves().size(), 1u);
  EXPECT_EQ(curves()[0].title, "");
  EXPECT_NE(curves()[0].sentence, "");
}

// Anything but Missing is a mistake in the title.
TEST_F(Titles, CostTheirTopicIfTheyThrow) {
  declare("made up", [](const TitleView&) -> std::string { throw std::out_of_range("beyond"); });
  EXPECT_THROW(curves(), std::out_of_range);
  std::vector<BrokenTopic> broken;
  EXPECT_TRUE(derive_curves(profile_, benchmarks_, &broken).empty());
  const auto of_gpu = std::ranges::find(broken, sample::kUuid, &BrokenTopic::device);
  ASSERT_NE(of_gpu, broken.end());
  EXPECT_EQ(of_gpu->topic, "made up");
  EXPECT_EQ(of_gpu->why, "its title: beyond");
}

TEST_F(Titles, NeedNoSentence) {
  declare("another", [](const TitleView& view) {
    return view.measurement("made.up.other") != nullptr ? "It was measured" : "";
  });
  ASSERT_EQ(curves().size(), 2u);
  EXPECT_EQ(curves()[0].topic, "another");
  EXPECT_EQ(curves()[0].title, "It was measured");
  EXPECT_EQ(curves()[0].sentence, "");
  // Nothing to say: no curve.
  profile_.measurements.clear();
  EXPECT_TRUE(curves().empty());
}

}  // namespace
}  // namespace peakline
