#include "harness/judge/population.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/yardsticks.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"
#include "tests/unit/contributed.hpp"
#include "tests/unit/drawn_runs.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

const std::vector<CardRun>& h200s() {
  static const std::vector<CardRun> kRuns = [] {
    std::vector<CardRun> runs = contributed_runs(PEAKLINE_SOURCE_DIR);
    std::erase_if(runs, [](const CardRun& run) { return run.facts.model != "NVIDIA H200"; });
    return runs;
  }();
  return kRuns;
}

const Population& h200_population(std::string_view mode) {
  const Population* const found = find_population(bundled_populations(), h200s()[0].facts, mode);
  if (found == nullptr) throw std::logic_error("the program has no population of H200s");
  return *found;
}

std::set<std::string> rejected(const CardRun& run, const Population& population) {
  return rejected(run, Known{.population = &population});
}

TEST(Population, RareModelBorrowsDoubledScatter) {
  CardFacts other = h200s()[0].facts;
  other.model = "NVIDIA A100-SXM4-80GB";
  for (const char* resource : {"", "hbm.read"}) {
    const auto of = [&](std::span<const Population> known, const CardFacts& card) {
      return card_scatter(known, card, "full", resource);
    };
    const CardScatter known = of(bundled_populations(), h200s()[0].facts);
    const CardScatter assumed = of(bundled_populations(), other);
    EXPECT_EQ(known.assumed_from, "");
    EXPECT_GT(known.deviation, 0);
    EXPECT_EQ(assumed.assumed_from, "NVIDIA H200");
    EXPECT_DOUBLE_EQ(assumed.deviation, 2 * known.deviation);
    EXPECT_EQ(assumed.cards, known.cards);
    EXPECT_EQ(of({}, other).cards, 0);
  }
}

TEST(Population, OfTheProgramIsThatOfTheRuns) {
  std::vector<Population> anew;
  for (const auto& [name, populations] : populations_by_file(contributed_runs(PEAKLINE_SOURCE_DIR)))
    anew.insert(anew.end(), populations.begin(), populations.end());
  EXPECT_EQ(bundled_populations(), anew)
      << "build/cpu/tests/tools/peakline_population writes reports/reference/populations anew";
}

TEST(Population, ACardThatReportedAnErrorIsLeftOut) {
  std::vector<Profile> profiles(3, sample::reference());
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const std::string uuid = fmt::format("GPU-0000000{}", i);
    for (Measurement& m : profiles[i].measurements)
      if (m.device == profiles[i].devices[0].uuid) m.device = uuid;
    for (Ceiling& row : profiles[i].ceilings)
      if (row.device == profiles[i].devices[0].uuid) row.device = uuid;
    profiles[i].devices[0].uuid = uuid;
  }
  Finding& error = profiles[1].findings.emplace_back();
  error.code = "xid";
  error.severity = Severity::kError;
  error.device = profiles[1].devices[0].uuid;
  const std::vector<const Profile*> all = {&profiles[0], &profiles[1], &profiles[2]};
  const std::vector<Population> populations = populations_of_gpus(all, {});
  ASSERT_EQ(populations.size(), 1u);
  EXPECT_EQ(populations[0].cards, 2u);
  ASSERT_EQ(populations[0].left_out.size(), 1u);
  EXPECT_EQ(text_of(populations[0].left_out[0]), "GPU-00000001 (health/xid)");
}

// A loss of 4 % in one precision, as much as cards differ.
TEST(Population, APrecisionIsHeldAgainstItsSiblings) {
  const Population& population = h200_population("quick");
  int tried = 0, found = 0;
  for (const CardRun& run : h200s()) {
    if (run.mode != "quick") continue;
    CardRun slow = run;
    std::erase_if(slow.figures, [](const RunFigure& figure) { return figure.beside_siblings; });
    for (RunFigure& figure : slow.figures)
      if (figure.resource == "tensor.fp8" && figure.basis == Basis::kBurst) figure.value *= 0.96;
    add_siblings(slow.figures);
    ++tried;
    found += rejected(slow, population).contains("tensor.fp8/burst");
  }
  EXPECT_GE(found, 0.95 * tried);
}

TEST(Population, CardsAroundTwoLevelsAreHeldAgainstTheLower) {
  const PopulationFigure* const read = find_figure(h200_population("full"), {"hbm.read"});
  ASSERT_NE(read, nullptr);
  // Two levels 1.7 % apart, with 0.1 % around each.
  EXPECT_LT(read->between_cards, 0.002);
  EXPECT_LE(read->lowest_state, read->median);
}

TEST(Population, RunsWhoseFactsContradictAreApart) {
  std::mt19937_64 random(1);
  std::vector<CardRun> runs = drawn_runs(6, random);
  runs[0].facts.power_limit_w = 700;
  runs[1].facts.power_limit_w = 500;
  const std::vector<Population> populations = populations_of(runs);
  ASSERT_EQ(populations.size(), 2u);
  EXPECT_EQ(populations[0].cards, 5u);
  EXPECT_EQ(populations[0].facts.power_limit_w, 700);
}

// Another method's figures do not count.
TEST(Population, TheNewestMethodCounts) {
  std::mt19937_64 random(1);
  std::vector<CardRun> runs = drawn_runs(6, random);
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].figures[0].method_version = i < 2 ? 1 : 2;
  const Population population = populations_of(runs)[0];
  EXPECT_EQ(population.figures[0].cards, 4u);
  EXPECT_EQ(population.figures[0].method_version, 2);
}

TEST(PopulationFile, IsReadAsItWasWritten) {
  const std::vector<Population>& populations = bundled_populations();
  EXPECT_EQ(populations_from_json(to_json(populations), "file"), populations);
  EXPECT_TRUE(is_population(to_json(populations)));
}

}  // namespace
}  // namespace peakline
