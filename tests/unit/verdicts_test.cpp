// False alarms and findings of verdicts, over real runs of healthy cards and drawn ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "harness/judge/population.hpp"
#include "harness/judge/yardsticks.hpp"
#include "harness/profile/population_file.hpp"
#include "tests/unit/contributed.hpp"
#include "tests/unit/drawn_runs.hpp"

namespace peakline {
namespace {

using Runs = std::vector<CardRun>;

// Runs of a model's cards in a mode, by card.
std::map<std::string, Runs> cards_of(std::string_view model, std::string_view mode) {
  static const Runs kAll = contributed_runs(PEAKLINE_SOURCE_DIR);
  std::map<std::string, Runs> cards;
  for (const CardRun& run : kAll)
    if (!run.facts.gpus && run.facts.model == model && run.mode == mode)
      cards[run.card].push_back(run);
  return cards;
}

std::vector<Population> known_without(std::string_view model) {
  std::vector<Population> others;
  for (const Population& p : bundled_populations())
    if (p.facts.model.find(model) == std::string::npos) others.push_back(p);
  return others;
}

struct Model {
  std::string name, mode;
  std::map<std::string, Runs> cards;
};
// Models with several known cards, in each mode.
const std::vector<Model>& models() {
  static const std::vector<Model> kModels = [] {
    std::vector<Model> all;
    for (const char* name : {"NVIDIA H200", "NVIDIA H100 80GB HBM3"})
      for (const char* mode : {"quick", "full"}) all.push_back({name, mode, cards_of(name, mode)});
    return all;
  }();
  return kModels;
}

TEST(Verdicts, RestOnRealCards) {
  std::vector<std::size_t> cards;
  for (const Model& model : models()) cards.push_back(model.cards.size());
  EXPECT_THAT(cards, testing::ElementsAre(testing::Ge(18), testing::Ge(16), testing::Ge(5),
                                          testing::Ge(6)));
}

// Each card is judged by the others, as a new one would be, and by the other model.
TEST(Verdicts, AccuseNoHealthyCard) {
  for (const Model& model : models()) {
    SCOPED_TRACE(model.name + ' ' + model.mode);
    const std::vector<Population> other_models = known_without(model.name);
    for (const auto& [card, runs] : model.cards) {
      Runs others;
      for (const auto& [other, of_other] : model.cards)
        if (other != card) others.insert(others.end(), of_other.begin(), of_other.end());
      const std::vector<Population> populations = populations_of(others);
      for (const CardRun& run : runs) {
        const Known by_cards = known_of(populations, populations, run.facts, run.mode),
                    by_model = known_of({}, other_models, run.facts, run.mode);
        ASSERT_NE(by_cards.population, nullptr) << card;
        ASSERT_NE(by_model.donor, nullptr) << card;
        for (const Known& known : {by_cards, by_model})
          EXPECT_EQ(rejected(run, known), std::set<std::string>()) << card;
      }
    }
  }
}

// A reference with few cards, one of them slow, names that one and fails no healthy one.
TEST(Verdicts, OfSmallReferencesAccuseNoHealthyCard) {
  for (const Model& model : models()) {
    SCOPED_TRACE(model.name + ' ' + model.mode);
    std::mt19937_64 random(7);
    std::vector<std::string> names;
    for (const auto& [card, runs] : model.cards) names.push_back(card);
    for (std::size_t n = 1; n <= std::min<std::size_t>(12, names.size() - 1); ++n) {
      for (const double loss : {0.0, 0.05, 0.2, 0.5}) {
        if (loss > 0 && n < 3) continue;
        std::ranges::shuffle(names, random);
        Runs known;
        for (std::size_t i = 0; i < n; ++i) {
          for (CardRun run : model.cards.at(names[i])) {
            if (i == 0)
              for (RunFigure& figure : run.figures)
                if (figure.resource.starts_with("hbm.")) figure.value *= 1 - loss;
            known.push_back(std::move(run));
          }
        }
        const std::vector<Population> populations = populations_of(known);
        ASSERT_EQ(populations.size(), 1U);
        EXPECT_EQ(populations[0].left_out.size(), loss > 0 ? 1U : 0U) << n << ' ' << loss;
        for (std::size_t i = n; i < names.size(); ++i)
          for (const CardRun& run : model.cards.at(names[i]))
            EXPECT_EQ(rejected(run, {.population = &populations[0]}), std::set<std::string>())
                << n << ' ' << names[i];
      }
    }
  }
}

// All slow parts of a fleet are named, and nothing else, if anything defines the level.
TEST(Verdicts, OfFleetsNameAllThatIsSlowAndNothingElse) {
  for (const Model& model : models()) {
    SCOPED_TRACE(model.name + ' ' + model.mode);
    const std::vector<Population> others = known_without(model.name);
    for (const bool model_known : {false, true}) {
      for (std::size_t slow = 0; slow <= model.cards.size(); ++slow) {
        Runs runs;
        for (const auto& [card, of_card] : model.cards) {
          runs.push_back(of_card[0]);
          if (runs.size() > slow) continue;
          for (RunFigure& figure : runs.back().figures)
            if (!figure.beside_siblings) figure.value *= 0.8;
        }
        std::vector<const CardRun*> pointers;
        for (const CardRun& run : runs) pointers.push_back(&run);
        const Population peers = population_of(runs[0].facts, pointers);
        for (std::size_t i = 0; i < runs.size(); ++i) {
          Known known = model_known ? known_of({}, others, runs[i].facts, runs[i].mode) : Known{};
          known.peers = &peers;
          const bool accused = !rejected(runs[i], known).empty();
          // Among peers alone, half are no majority.
          const bool told = model_known || 2 * slow < runs.size();
          EXPECT_TRUE(accused == (i < slow) || (!told && i < slow)) << slow << " slow, " << i;
        }
      }
    }
  }
}

// The share of runs, averaged over cards, that find a loss of one figure of a class. Another model
// need not have the figure: newer versions measure more.
double found(const std::map<std::string, Runs>& cards, double loss,
             const std::function<Known(const CardRun&)>& known_by, double least_between,
             double most_between) {
  double share = 0, count = 0;
  for (const auto& [card, runs] : cards) {
    double tried = 0, hit = 0;
    for (const CardRun& run : runs) {
      const Known known = known_by(run);
      for (RunFigure figure : run.figures) {
        const double between = reading_of(figure, run.facts).usual->between_cards;
        const bool clock_known = figure.clock_share > 0.95;
        if (figure.beside_siblings || part_of(figure.resource) == "l2" ||
            (known.population == nullptr && known.donor == nullptr && !clock_known) ||
            neighbours_may_slow(run.facts, figure.resource, 0.5) || between < least_between ||
            between > most_between ||
            (known.donor != nullptr && find_figure(*known.donor, figure) == nullptr))
          continue;
        figure.value *= 1 - loss;
        ++tried;
        hit += judge(reading_of(figure, run.facts), yardsticks_for(known, run.facts, figure),
                     run.figures.size())
                   .outcome == Outcome::kFail;
      }
    }
    if (tried == 0) continue;
    share += hit / tried;
    ++count;
  }
  return share / count;
}
constexpr double kSteady = 0.004;  // HBM, L1, links, CUDA cores; all else depends on the power cap

TEST(Verdicts, FindLosses) {
  for (const Model& model : models()) {
    SCOPED_TRACE(model.name + ' ' + model.mode);
    const std::vector<Population> others = known_without(model.name);
    const auto known = [](const CardRun& run) {
      return known_of(bundled_populations(), bundled_populations(), run.facts, run.mode);
    };
    EXPECT_GE(found(model.cards, 0.03, known, 0, kSteady), 0.4);
    EXPECT_GE(found(model.cards, 0.05, known, 0, kSteady), 0.99);
    EXPECT_GE(found(model.cards, 0.08, known, kSteady, 1), 0.8);
    EXPECT_GE(found(model.cards, 0.10, known, kSteady, 1), 0.95);
    // By the other model.
    const auto by_other = [&](const CardRun& run) {
      return known_of({}, others, run.facts, run.mode);
    };
    EXPECT_GE(found(model.cards, 0.10, by_other, 0, kSteady), 0.99);
    EXPECT_GE(found(model.cards, 0.10, by_other, kSteady, 1), 0.75);
    EXPECT_GE(found(model.cards, 0.15, by_other, kSteady, 1), 0.99);
    // Half speed by floors alone.
    EXPECT_GE(found(
                  model.cards, 0.5, [](const CardRun&) { return Known{}; }, 0, 1),
              0.95);
  }
}

// One of a thousand healthy runs may fail, however many cards are known.
TEST(DrawnCards, OneHealthyRunInAThousandFails) {
  constexpr int kPopulations = 60, kNew = 500;
  std::mt19937_64 random(5);
  for (const int cards : {1, 2, 3, 6, 14}) {
    int failed = 0;
    for (int i = 0; i < kPopulations; ++i) {
      const std::vector<Population> populations = populations_of(drawn_runs(cards, random));
      for (const CardRun& run : drawn_runs(kNew, random))
        failed += !rejected(run, {.population = &populations[0]}).empty();
    }
    EXPECT_LE(failed, 0.0015 * kPopulations * kNew) << cards << " known cards";
  }
}

}  // namespace
}  // namespace peakline
