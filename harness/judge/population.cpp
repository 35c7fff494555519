#include "harness/judge/population.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "harness/judge/rules.hpp"
#include "harness/judge/yardsticks.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// A ratio to siblings must scatter by less than this share of the figure's own scatter.
constexpr double kMostOfSiblings = 0.5;
// Distance of two levels, in standard deviations of the scatter around them. Splitting one level of
// fourteen cards reaches three.
constexpr double kBetweenStates = 6;
constexpr std::size_t kFewestOfState = 2;
constexpr double kFarthestStates = 0.04;
// Window of one level: a share, or a multiple of the class's deviation.
constexpr double kLeastWindow = 0.03, kWindowDeviations = 6;

// A list per card, in order; empty without values.
using CardValues = std::vector<std::vector<double>>;

double deviation(std::span<const double> values) {
  const double center = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - center) * (value - center);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// The index of the upper of two levels in sorted values; else their end.
std::size_t upper_state(std::span<const double> sorted) {
  std::size_t best = sorted.size();
  double widest = 0;
  for (std::size_t i = kFewestOfState; i + kFewestOfState <= sorted.size(); ++i) {
    if (sorted[i] - sorted[i - 1] <= widest) continue;
    widest = sorted[i] - sorted[i - 1];
    best = i;
  }
  if (best == sorted.size()) return best;
  const double within =
      std::hypot(deviation(sorted.first(best)), deviation(sorted.subspan(best))) / std::sqrt(2);
  const bool near = sorted.back() <= (1 + kFarthestStates) * sorted.front();
  return near && widest > kBetweenStates * within ? best : sorted.size();
}

// The window with most values. sorted: ascending.
std::span<const double> densest(std::span<const double> sorted, const UsualSpread& usual) {
  const double width = std::max(kLeastWindow, kWindowDeviations * usual.between_cards);
  std::span<const double> best;
  for (std::size_t first = 0, end = 0; first < sorted.size(); ++first) {
    while (end < sorted.size() && sorted[end] <= sorted[first] * (1 + width)) ++end;
    if (end - first >= best.size()) best = sorted.subspan(first, end - first);
  }
  return best;
}

// One figure over the included cards.
struct Level {
  PopulationFigure figure;
  std::size_t within = 0;        // cards in the window
  std::vector<double> of_cards;  // medians; NaN: none
};

Level level_of(const FigureKey& key, const CardValues& values, const std::vector<bool>& out,
               const UsualSpread& usual) {
  Level level;
  PopulationFigure& f = level.figure;
  static_cast<FigureKey&>(f) = key;
  std::vector<double> sorted;
  double squares = 0;
  std::size_t degrees = 0;
  for (std::size_t card = 0; card < values.size(); ++card) {
    const std::vector<double>& runs = values[card];
    level.of_cards.push_back(runs.empty() || out[card] ? std::nan("") : median(runs));
    if (runs.empty() || out[card]) continue;
    ++f.cards;
    f.runs += runs.size();
    sorted.push_back(level.of_cards.back());
    if (runs.size() < 2) continue;
    squares += std::pow(deviation(runs) / mean(runs), 2) * static_cast<double>(runs.size() - 1);
    degrees += runs.size() - 1;
  }
  if (sorted.empty()) return level;
  std::ranges::sort(sorted);
  if (degrees > 0) f.between_runs = std::sqrt(squares / static_cast<double>(degrees));
  const std::span<const double> window = densest(sorted, usual);
  level.within = window.size();
  f.median = median(window);
  const std::size_t upper = upper_state(window);
  const std::span<const double> low = window.first(upper), high = window.subspan(upper);
  f.lowest_state = median(low);
  f.highest_state = high.empty() ? f.lowest_state : median(high);
  double within = 0;
  for (std::size_t i = 0; i < window.size(); ++i)
    within += std::pow((window[i] - (i < upper ? f.lowest_state : f.highest_state)) / f.median, 2);
  const auto free = static_cast<double>(window.size()) - (high.empty() ? 1 : 2);
  if (free > 0) f.between_cards = std::sqrt(within / free);
  return level;
}

// Values by figure and card.
struct Collected {
  std::vector<std::string> cards;
  std::vector<FigureKey> order;
  std::map<FigureKey, CardValues> values;
  std::map<FigureKey, const RunFigure*> examples;
};

Collected collect(std::span<const CardRun* const> runs) {
  Collected all;
  std::map<std::string, std::size_t> places;
  for (const CardRun* run : runs)
    if (places.try_emplace(run->card, places.size()).second) all.cards.push_back(run->card);
  for (const CardRun* run : runs) {
    for (const RunFigure& figure : run->figures) {
      const FigureKey& key = figure;
      const auto [found, added] = all.values.try_emplace(key, all.cards.size());
      if (added) all.order.push_back(key);
      // Only the newest method counts.
      const RunFigure*& example = all.examples[key];
      if (example == nullptr || example->method_version < figure.method_version) {
        found->second.assign(all.cards.size(), {});
        example = &figure;
      }
      if (example->method_version != figure.method_version || !same_siblings(*example, figure))
        continue;
      found->second[places.at(run->card)].push_back(figure.value);
    }
  }
  return all;
}

// Excludes cards with a fault, and repeatedly those below the others' limits, or as far above.
std::vector<LeftOutCard> leave_out(const Collected& all, std::span<const CardRun* const> runs,
                                   const CardFacts& facts, std::vector<bool>& out) {
  std::vector<LeftOutCard> left;
  for (std::size_t card = 0; card < all.cards.size(); ++card) {
    const auto faulty = std::ranges::find_if(runs, [&](const CardRun* run) {
      return run->card == all.cards[card] && !run->fault.empty();
    });
    if (faulty == runs.end()) continue;
    out[card] = true;
    left.push_back({.card = all.cards[card], .figure = (*faulty)->fault});
  }
  const double tail = kFalseAlarms / static_cast<double>(all.order.size());
  for (bool again = true; again;) {
    again = false;
    std::map<std::size_t, LeftOutCard> found;
    for (const FigureKey& key : all.order) {
      const UsualSpread& usual = usual_of(key, facts);
      const Level level = level_of(key, all.values.at(key), out, usual);
      if (level.figure.cards < 2) continue;
      Yardstick yardstick = yardstick_of(level.figure);
      yardstick.cards = level.within;
      yardstick.card_degrees = level.within - 1;
      const double limit =
          limit_by(yardstick, {.least = least_loss(key.resource), .usual = &usual}, tail);
      for (std::size_t card = 0; card < level.of_cards.size(); ++card) {
        const double share = level.of_cards[card] / level.figure.lowest_state;
        const bool apart =
            level.of_cards[card] < limit ||
            level.of_cards[card] > yardstick.centre / limit * level.figure.highest_state;
        if (!apart || neighbours_may_slow(facts, key.resource, share)) continue;
        const auto [place, added] = found.try_emplace(card);
        if (added || std::abs(std::log(share)) > std::abs(std::log(*place->second.share)))
          place->second = {all.cards[card], to_string(key),
                           std::stod(fmt::format("{:.3g}", share))};
      }
    }
    for (auto& [card, why] : found) {
      out[card] = again = true;
      left.push_back(std::move(why));
    }
  }
  return left;
}

void round_figure(PopulationFigure& f) {
  // More digits than any population supports.
  for (double* value :
       {&f.median, &f.lowest_state, &f.highest_state, &f.between_cards, &f.between_runs, &f.limit})
    *value = std::stod(fmt::format("{:.5g}", *value));
}

}  // namespace

Population population_of(const CardFacts& facts, std::span<const CardRun* const> runs) {
  Population population{.facts = facts, .mode = runs[0]->mode};
  const Collected all = collect(runs);
  std::vector<bool> out(all.cards.size());
  population.left_out = leave_out(all, runs, facts, out);
  population.cards = all.cards.size() - population.left_out.size();
  std::set<std::string> drivers, revisions, created;
  for (const CardRun* run : runs) {
    if (out[static_cast<std::size_t>(std::ranges::find(all.cards, run->card) - all.cards.begin())])
      continue;
    ++population.runs;
    drivers.insert(run->driver);
    revisions.insert(run->revision);
    created.insert(run->created);
  }
  for (std::set<std::string>* texts : {&drivers, &revisions}) texts->erase("");
  population.drivers.assign(drivers.begin(), drivers.end());
  population.revisions.assign(revisions.begin(), revisions.end());
  if (!created.empty() && !created.contains(""))  // each run has its time
    std::tie(population.first, population.last) = std::pair(*created.begin(), *created.rbegin());
  std::map<FigureKey, double> spreads;
  for (const FigureKey& key : all.order) {
    Level level = level_of(key, all.values.at(key), out, usual_of(key, facts));
    PopulationFigure& f = level.figure;
    if (f.cards == 0) continue;
    const double spread = spreads[key] = std::hypot(f.between_cards, f.between_runs);
    // Unrelated precisions say nothing about each other.
    if (key.beside_siblings && f.cards > 1 &&
        spread > kMostOfSiblings * spreads.at({key.resource, key.basis}))
      continue;
    const RunFigure& example = *all.examples.at(key);
    std::tie(f.unit, f.method_version) = std::tie(example.unit, example.method_version);
    std::tie(f.theory, f.datasheet) = std::tie(example.theory, example.datasheet);
    population.figures.push_back(std::move(f));
  }
  const double tail = kFalseAlarms / static_cast<double>(all.order.size());
  population.limit_deviations = std::stod(
      fmt::format("{:.5g}", student_quantile(tail, kClassDegrees + population.cards - 1)));
  for (PopulationFigure& f : population.figures) {
    const UsualSpread& usual = usual_of(f, facts);
    f.limit = limit_by(yardstick_of(f), {.least = least_loss(f.resource), .usual = &usual}, tail);
    round_figure(f);
  }
  return population;
}

std::string text_of(const LeftOutCard& card) {
  return fmt::format("{} ({}{})", card.card, card.figure,
                     card.share ? ' ' + format_signed_percent(*card.share - 1) : std::string());
}

std::vector<Population> populations_of(std::span<const CardRun> runs) {
  struct Group {
    CardFacts facts;
    std::string mode;
    std::vector<const CardRun*> runs;
  };
  std::vector<Group> groups;
  for (const CardRun& run : runs) {
    auto found = std::ranges::find_if(groups, [&](const Group& group) {
      return group.mode == run.mode && agree(group.facts, run.facts);
    });
    if (found == groups.end()) found = groups.insert(found, {run.facts, run.mode, {}});
    complete(found->facts, run.facts);
    found->runs.push_back(&run);
  }
  std::vector<Population> populations;
  for (const Group& group : groups) {
    Population population = population_of(group.facts, group.runs);
    if (!population.figures.empty()) populations.push_back(std::move(population));
  }
  return populations;
}

std::vector<Population> populations_of_gpus(std::span<const Profile* const> profiles,
                                            const std::set<std::string>& without,
                                            const std::map<std::string, std::string>& faults) {
  return populations_of(runs_of_gpus(profiles, without, faults));
}

}  // namespace peakline
