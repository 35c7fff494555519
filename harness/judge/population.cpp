#include "harness/judge/population.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "harness/hardware/usual_spread.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/cards.hpp"
#include "harness/values/resources.hpp"

namespace peakline {
namespace {

constexpr std::size_t kFewestSiblings = 3;
// A figure beside siblings has to scatter by less than this share of the figure itself.
constexpr double kMostOfSiblings = 0.5;
// A rule that scatters by less cannot lie kLeastLoss below its median.
constexpr double kLeastScatter = kLeastLoss / 8;
// Below this, k would rest on a few lucky cards.
constexpr double kLeastDeviations = 3;
// Levels are this many standard deviations apart, as of the scatter around them. Fourteen cards
// around one level come no further apart than three.
constexpr double kBetweenStates = 6;
constexpr std::size_t kFewestOfState = 2;
// The simulation takes time by the square of the cards, and more of them hardly change k.
constexpr std::size_t kMostCardsDrawn = 32;

using FigureKey = std::tuple<std::string, Basis, bool>;

// There is a list for each card, in their order, empty where the card has no value.
using CardValues = std::vector<std::vector<double>>;

double deviation(std::span<const double> values) {
  const double center = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - center) * (value - center);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// Five digits say more than any population knows.
double rounded_figure(double value) { return std::stod(fmt::format("{:.5g}", value)); }

// Sorted values that lie around two levels, at the first of the upper one; else their end.
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
  return widest > kBetweenStates * within ? best : sorted.size();
}

struct Scatter {
  double median = 0, lowest_state = 0, highest_state = 0, between_cards = 0, between_runs = 0;
  std::vector<double> residuals;  // by card, in standard deviations; NaN where it has no value
};

Scatter scatter_over(const CardValues& values) {
  std::vector<double> medians, sorted;
  double squares = 0;
  std::size_t degrees = 0;
  for (const std::vector<double>& runs : values) {
    medians.push_back(runs.empty() ? std::nan("") : median(runs));
    if (runs.empty()) continue;
    sorted.push_back(medians.back());
    if (runs.size() < 2) continue;
    squares += std::pow(deviation(runs) / mean(runs), 2) * static_cast<double>(runs.size() - 1);
    degrees += runs.size() - 1;
  }
  std::ranges::sort(sorted);
  Scatter scatter{.median = median(sorted), .residuals = {}};
  if (degrees > 0) scatter.between_runs = std::sqrt(squares / static_cast<double>(degrees));
  const std::size_t upper = upper_state(sorted);
  const std::span<const double> low(sorted.data(), upper),
      high(sorted.data() + upper, sorted.size() - upper);
  scatter.lowest_state = median(low);
  const double high_median = high.empty() ? scatter.lowest_state : median(high);
  scatter.highest_state = high_median;
  double within = 0;
  for (const double value : sorted)
    within +=
        std::pow((value < (high.empty() ? INFINITY : high.front()) ? value - scatter.lowest_state
                                                                   : value - high_median) /
                     scatter.median,
                 2);
  const auto free = static_cast<double>(sorted.size()) - (high.empty() ? 1 : 2);
  if (free > 0) scatter.between_cards = std::sqrt(within / free);
  for (const double value : medians) {
    const double level =
        !high.empty() && value >= high.front() ? high_median : scatter.lowest_state;
    scatter.residuals.push_back((value - level) / scatter.median /
                                std::max(scatter.between_cards, 1e-9));
  }
  return scatter;
}

// How cards' figures move together.
class Correlation {
 public:
  // There is a row for each figure, with a column for each card.
  explicit Correlation(const std::vector<std::vector<double>>& residuals)
      : cards_(residuals[0].size()), figures_(residuals.size()) {
    // A standard deviation of 1 over those cards that have the figure.
    for (const std::vector<double>& of_figure : residuals) {
      double squares = 0;
      for (const double value : of_figure) squares += std::isnan(value) ? 0 : value * value;
      for (const double value : of_figure)
        rows_.push_back(std::isnan(value) || squares == 0 ? 0 : value / std::sqrt(squares));
    }
    double variances = 0, squares = 0;
    for (std::size_t i = 0; i < figures_; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        double r = 0;
        for (std::size_t card = 0; card < cards_; ++card) r += at(i, card) * at(j, card);
        squares += r * r;
        variances += std::pow(1 - r * r, 2) / static_cast<double>(cards_ - 1);
      }
    }
    shrunk_ = squares > 0 ? std::min(1.0, variances / squares) : 1;
  }

  // A card's figures, each of standard deviation 1.
  template <class Random>
  void draw(Random& random, std::span<double> figures) {
    std::normal_distribution<double> normal;
    std::vector<double>& common = drawn_;
    common.resize(cards_);
    for (double& value : common) value = normal(random);
    for (std::size_t i = 0; i < figures_; ++i) {
      double shared = 0;
      for (std::size_t card = 0; card < cards_; ++card) shared += at(i, card) * common[card];
      figures[i] = std::sqrt(1 - shrunk_) * shared + std::sqrt(shrunk_) * normal(random);
    }
  }

 private:
  double at(std::size_t figure, std::size_t card) const { return rows_[figure * cards_ + card]; }

  std::size_t cards_, figures_;
  std::vector<double> rows_;
  std::vector<double> drawn_;
  double shrunk_ = 1;
};

// So many of the values, from beginning to end.
std::vector<double> spread_over(const std::vector<double>& values, std::size_t count) {
  std::vector<double> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(values[i * values.size() / count]);
  return some;
}

// k, for figures that scatter so.
double limit_deviations(std::span<const Scatter> scatters, int trials) {
  std::vector<const Scatter*> relevant;
  std::vector<std::vector<double>> residuals;
  for (const Scatter& s : scatters) {
    if (std::hypot(s.between_cards, s.between_runs) < kLeastScatter) continue;
    relevant.push_back(&s);
    residuals.push_back(s.residuals);
  }
  if (relevant.empty()) return kLeastDeviations;
  if (residuals[0].size() < kFewestCards) return kBetweenStates;
  for (std::vector<double>& of_figure : residuals)
    if (of_figure.size() > kMostCardsDrawn) of_figure = spread_over(of_figure, kMostCardsDrawn);
  const std::size_t cards = residuals[0].size(), figures = relevant.size();
  Correlation correlation(residuals);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> drawn((cards + 1) * figures), column(cards), worst;
  for (int trial = 0; trial < trials; ++trial) {
    for (std::size_t card = 0; card <= cards; ++card)
      correlation.draw(random, std::span(drawn).subspan(card * figures, figures));
    double lowest = 0;
    for (std::size_t i = 0; i < figures; ++i) {
      for (std::size_t card = 0; card < cards; ++card)
        column[card] = drawn[card * figures + i] * relevant[i]->between_cards;
      const double run = drawn[cards * figures + i] * relevant[i]->between_cards +
                         normal(random) * relevant[i]->between_runs;
      const double spread = std::hypot(deviation(column), relevant[i]->between_runs);
      std::ranges::nth_element(column, column.begin() + static_cast<std::ptrdiff_t>(cards / 2));
      const double loss = column[cards / 2] - run;
      if (loss > kLeastLoss) lowest = std::max(lowest, loss / spread);
    }
    worst.push_back(lowest);
  }
  return std::max(kLeastDeviations, quantile(worst, 1 - kFalseAlarms));
}

Population population_of(const CardFacts& facts, std::span<const CardRun* const> runs, int trials) {
  Population population{.facts = facts, .mode = runs[0]->mode, .runs = runs.size()};
  std::map<std::string, std::size_t> cards;
  std::set<std::string> drivers, revisions, created;
  for (const CardRun* run : runs) {
    cards.try_emplace(run->card, cards.size());
    drivers.insert(run->driver);
    revisions.insert(run->revision);
    created.insert(run->created);
  }
  for (std::set<std::string>* texts : {&drivers, &revisions}) texts->erase("");
  population.cards = cards.size();
  population.drivers.assign(drivers.begin(), drivers.end());
  population.revisions.assign(revisions.begin(), revisions.end());
  if (!created.contains(""))  // each run says when it was made
    std::tie(population.first, population.last) = std::pair(*created.begin(), *created.rbegin());

  std::vector<FigureKey> order;
  std::map<FigureKey, CardValues> values;
  std::map<FigureKey, const RunFigure*> examples;
  for (const CardRun* run : runs) {
    for (const RunFigure& figure : run->figures) {
      const FigureKey key{figure.resource, figure.basis, figure.beside_siblings};
      const auto [found, added] = values.try_emplace(key, cards.size());
      if (added) order.push_back(key);
      // The newest method counts, and what another one gave says nothing of it.
      const RunFigure*& example = examples[key];
      if (example == nullptr || example->method_version < figure.method_version) {
        found->second.assign(cards.size(), {});
        example = &figure;
      }
      if (example->method_version != figure.method_version) continue;
      found->second[cards.at(run->card)].push_back(figure.value);
    }
  }
  std::vector<Scatter> scatters;
  std::map<FigureKey, double> spreads;
  for (const FigureKey& key : order) {
    const Scatter s = scatter_over(values.at(key));
    const auto& [resource, basis, beside_siblings] = key;
    const double spread = spreads[key] = std::hypot(s.between_cards, s.between_runs);
    // Precisions that do not move together say nothing of each other.
    if (beside_siblings && spread > kMostOfSiblings * spreads.at({resource, basis, false}))
      continue;
    PopulationFigure& figure = population.figures.emplace_back();
    std::tie(figure.resource, figure.basis, figure.beside_siblings) = key;
    figure.unit = examples.at(key)->unit;
    figure.method_version = examples.at(key)->method_version;
    for (const std::vector<double>& of_card : values.at(key)) {
      figure.cards += !of_card.empty();
      figure.runs += of_card.size();
    }
    figure.median = rounded_figure(s.median);
    figure.lowest_state = rounded_figure(s.lowest_state);
    figure.highest_state = rounded_figure(s.highest_state);
    figure.between_cards = rounded_figure(s.between_cards);
    figure.between_runs = rounded_figure(s.between_runs);
    if (!only_warns(population, figure)) scatters.push_back(s);
  }
  population.limit_deviations = rounded_figure(limit_deviations(scatters, trials));
  for (PopulationFigure& figure : population.figures)
    figure.limit = rounded_figure(
        figure.lowest_state *
        (1 - std::max(kLeastLoss, population.limit_deviations * scatter_of(figure))));
  return population;
}

}  // namespace

void add_siblings(std::vector<RunFigure>& figures) {
  std::map<std::pair<std::string, Basis>, std::vector<const RunFigure*>> parts;
  for (const RunFigure& figure : figures)
    if (!figure.beside_siblings && part_of(figure.resource) == "tensor")
      parts[{std::string(part_of(figure.resource)), figure.basis}].push_back(&figure);
  std::vector<RunFigure> added;
  for (const auto& [part, members] : parts) {
    if (members.size() < kFewestSiblings) continue;
    for (const RunFigure* figure : members) {
      std::vector<double> others;
      for (const RunFigure* other : members)
        if (other != figure) others.push_back(other->value);
      RunFigure& beside = added.emplace_back(*figure);
      beside.beside_siblings = true;
      beside.unit = "1";
      beside.value = figure->value / geometric_mean(others);
    }
  }
  figures.insert(figures.end(), added.begin(), added.end());
}

CardRun card_run(const DeviceView& gpu, std::string card) {
  const Profile& profile = *gpu.profile;
  CardRun run{.card = std::move(card),
              .facts = card_facts(gpu),
              .mode = profile.mode,
              .driver = profile.software.driver,
              .revision = profile.software.git_revision,
              .created = profile.created,
              .figures = {}};
  for (const Ceiling* row : gpu.ceilings) {
    if (row->measurement.empty() || row->value <= 0) continue;
    const Measurement* source = gpu.source(*row);
    run.figures.push_back(
        {.resource = row->resource,
         .basis = row->basis,
         .unit = row->unit,
         .method_version = source ? std::optional(source->method_version) : std::nullopt,
         .value = row->value});
  }
  add_siblings(run.figures);
  return run;
}

std::vector<Population> populations_of(std::span<const CardRun> runs, int trials) {
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
  for (const Group& group : groups)
    populations.push_back(population_of(group.facts, group.runs, trials));
  return populations;
}

std::vector<CardRun> runs_of_gpus(std::span<const Profile* const> profiles,
                                  const std::set<std::string>& without) {
  Cards cards;
  for (const Profile* profile : profiles) cards.add(*profile);
  std::set<std::string> excluded;
  for (const std::string& uuid : without) excluded.insert(short_uuid(uuid));
  std::vector<CardRun> runs;
  for (const Profile* profile : profiles) {
    for (const DeviceView& view : device_views(*profile)) {
      if (view.facts == nullptr || excluded.contains(short_uuid(view.facts->uuid))) continue;
      CardRun run = card_run(view, cards.card_of(view.facts->uuid));
      if (!run.figures.empty()) runs.push_back(std::move(run));
    }
  }
  return runs;
}

std::vector<Population> populations_of_gpus(std::span<const Profile* const> profiles,
                                            const std::set<std::string>& without) {
  return populations_of(runs_of_gpus(profiles, without));
}

bool neighbours_may_slow(const Population& population, const PopulationFigure& figure,
                         double value) {
  return part_of(figure.resource) == "pcie" && population.facts.virtual_machine.value_or(true) &&
         value > (1 - kLossByNeighbours) * figure.lowest_state;
}

bool only_warns(const Population& population, const PopulationFigure& figure) {
  const bool shared =
      figure.resource == "pcie.bidirectional" && population.facts.virtual_machine.value_or(true);
  return shared || figure.cards < kFewestCards;
}

double scatter_of(const PopulationFigure& figure) {
  return std::hypot(figure.between_cards, figure.between_runs);
}

CardScatter card_scatter(std::span<const Population> populations, const CardFacts& card,
                         std::string_view mode, std::string_view resource, Basis basis) {
  const auto known_well = [&](const Population& population) {
    return population.mode == mode && population.cards >= kFewestCards;
  };
  const Population* population = find_population(populations, card, mode);
  CardScatter scatter;
  double factor = 1;
  if (population == nullptr || !known_well(*population)) {
    const auto other = std::ranges::find_if(populations, known_well);
    if (other == populations.end()) return scatter;
    population = &*other;
    scatter.assumed_from = population->facts.model;
    factor = kWiderWhereAssumed;
  }
  // Each card may be on either of two levels.
  const auto deviation = [](const PopulationFigure& figure) {
    return std::hypot(figure.between_cards,
                      (figure.highest_state - figure.lowest_state) / 2 / figure.median);
  };
  const PopulationFigure* const known = find_figure(*population, resource, basis, false);
  for (const PopulationFigure& figure : population->figures) {
    if (figure.beside_siblings || (known != nullptr && known != &figure)) continue;
    if (known == nullptr && only_warns(*population, figure)) continue;
    scatter.deviation = std::max(scatter.deviation, factor * deviation(figure));
    scatter.cards = std::max(scatter.cards, figure.cards);
  }
  return scatter;
}

}  // namespace peakline
