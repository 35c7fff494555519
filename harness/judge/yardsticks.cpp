#include "harness/judge/yardsticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "harness/values/resources.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

bool within(std::optional<double> a, std::optional<double> b, double share) {
  return a && b && *b > 0 && std::abs(*a / *b - 1) <= share;
}

std::optional<double> power_per_sm(const CardFacts& card) {
  if (!card.power_limit_w || card.sm_count.value_or(0) == 0) return std::nullopt;
  return *card.power_limit_w / *card.sm_count;
}

// Tolerated difference of two models' documented share of theory, or of power.
constexpr double kAlike = 0.05;

// Factor from a donor's figure to the card's: of theories, or for L2 of memory bus and clock.
std::optional<double> carried_over(const Population& donor, const PopulationFigure& known,
                                   const CardFacts& card, const RunFigure& figure) {
  if (part_of(known.resource) == "l2") {
    const CardFacts& from = donor.facts;
    if (!card.memory_bus_bits || !from.memory_bus_bits || !card.sm_clock_max_hz ||
        !from.sm_clock_max_hz || !within(card.sm_count, from.sm_count, kAlike))
      return std::nullopt;
    return static_cast<double>(*card.memory_bus_bits) / *from.memory_bus_bits *
           *card.sm_clock_max_hz / *from.sm_clock_max_hz;
  }
  if (!figure.theory || !known.theory) return std::nullopt;
  // Copies between two GPUs are alike in nodes of any size; joint work of all GPUs is not.
  const bool together = part_of(known.resource) == "nccl" || known.resource == "nvlink.all_to_all";
  if (together && donor.facts.gpus != card.gpus) return std::nullopt;
  if (part_of(known.resource) == "tensor") {
    if (!figure.datasheet || !within(power_per_sm(card), power_per_sm(donor.facts), kAlike))
      return std::nullopt;
  }
  if (figure.datasheet && known.datasheet &&
      !within(*figure.datasheet / *figure.theory, *known.datasheet / *known.theory, kAlike))
    return std::nullopt;
  return *figure.theory / *known.theory;
}

std::optional<double> floor_of(const CardFacts& card, const RunFigure& figure) {
  if (figure.beside_siblings) return std::nullopt;
  if (figure.resource == "l2.read" && card.sm_count && card.sm_clock_max_hz)
    return kL2FloorPerClock * *card.sm_count * *card.sm_clock_max_hz;
  const double share = usual_of(figure, card).floor;
  if (share == 0 || !figure.theory || figure.clock_share == 0) return std::nullopt;
  const bool cut = part_of(figure.resource) == "tensor" && !figure.datasheet;
  // A product may have less than its architecture, such as half the rate with FP32 sums.
  const double peak = std::min(*figure.theory, figure.datasheet.value_or(*figure.theory));
  return (cut ? kFloorOfUnknownTensorCores : share) * peak * figure.clock_share;
}

}  // namespace

const UsualSpread& usual_of(const FigureKey& figure, const CardFacts& facts) {
  const auto& [resource, basis, beside_siblings] = figure;
  if (beside_siblings) return usual_spread_beside_siblings();
  // FP32 GEMMs barely reach the power cap: a card keeps its highest clock, or loses some percent; a
  // hot one of 17 H100s lost 6.2 %.
  if (resource == "gemm.fp32" && basis == Basis::kSustained) {
    static const UsualSpread kAtOnsetOfPowerCap = [] {
      UsualSpread usual = usual_spread("gemm.fp32", Basis::kSustained, {});
      usual.between_cards = 0.015;
      return usual;
    }();
    return kAtOnsetOfPowerCap;
  }
  constexpr std::array<std::string_view, 4> kOfHosts = {"cpu", "memory", "storage", "input"};
  return usual_spread(resource, basis,
                      {.is_host = std::ranges::find(kOfHosts, part_of(resource)) != kOfHosts.end(),
                       .virtual_machine = facts.virtual_machine.value_or(true)});
}

double least_loss(std::string_view resource, double least) {
  return part_of(resource) == "l2" ? std::max(least, kLeastLossOfFew) : least;
}

Yardstick yardstick_of(const PopulationFigure& f) {
  return {.kind = YardstickKind::kPopulation,
          .centre = f.lowest_state,
          .cards = f.cards,
          .between_cards = f.between_cards,
          .between_runs = f.between_runs,
          .card_degrees = f.cards - 1,
          .run_degrees = f.runs - f.cards};
}

Known known_of(std::span<const Population> populations, std::span<const Population> donors,
               const CardFacts& card, std::string_view mode) {
  Known known{.population = find_population(populations, card, mode)};
  if (known.population == nullptr) {
    known.population = find_population(donors, card, mode);
    known.built_in = known.population != nullptr;
  }
  for (const Population& donor : donors) {
    const bool alike = donor.mode == mode && card.compute_capability &&
                       donor.facts.compute_capability == card.compute_capability &&
                       donor.facts.gpus.has_value() == card.gpus.has_value();
    if (!alike || (known.population != nullptr && donor == *known.population)) continue;
    const auto better = [&](const Population& a, const Population& b) {
      return std::tuple(a.facts.gpus == card.gpus, a.facts.model == card.model, a.cards) >
             std::tuple(b.facts.gpus == card.gpus, b.facts.model == card.model, b.cards);
    };
    if (known.donor == nullptr || better(donor, *known.donor)) known.donor = &donor;
  }
  return known;
}

Reading reading_of(const RunFigure& figure, const CardFacts& card, double least) {
  return {.value = figure.value,
          .own = figure.own,
          .least = least_loss(figure.resource, least),
          .usual = &usual_of(figure, card)};
}

std::vector<Yardstick> yardsticks_for(const Known& known, const CardFacts& card,
                                      const RunFigure& figure) {
  std::vector<Yardstick> all;
  const auto find = [&](const Population* population) {
    const PopulationFigure* f = population == nullptr ? nullptr : find_figure(*population, figure);
    return f != nullptr && same_siblings(*f, figure) && same_method(*f, figure) ? f : nullptr;
  };
  if (const PopulationFigure* f = find(known.population)) {
    const std::size_t out = known.population->left_out.size(), in = known.population->cards;
    Yardstick& y = all.emplace_back(yardstick_of(*f));
    y.may_fail = out < in;       // fewer than half were excluded
    y.may_pass = 2 * out <= in;  // at most a third
    y.source = format_count(static_cast<std::int64_t>(f->cards), card.gpus ? "node" : "card");
  }
  if (const PopulationFigure* f = find(known.peers)) {
    Yardstick& y = all.emplace_back(yardstick_of(*f));
    y.kind = YardstickKind::kPeers;
    y.may_fail = known.peers->left_out.size() < known.peers->cards;
    y.may_pass = false;
    y.source = format_count(static_cast<std::int64_t>(f->cards), "peer");
  }
  if (const PopulationFigure* f = find(known.donor)) {
    if (const auto factor = carried_over(*known.donor, *f, card, figure)) {
      Yardstick& y = all.emplace_back(yardstick_of(*f));
      y.kind = YardstickKind::kPrior;
      y.centre *= *factor;
      y.margin = reading_of(figure, card).usual->prior_margin;
      y.source = fmt::format("the {}'s shares of theory", known.donor->facts.model);
    }
  }
  if (const auto floor = floor_of(card, figure))
    all.push_back({.kind = YardstickKind::kFloor,
                   .centre = *floor,
                   .may_pass = false,
                   .source = "the floor of any model"});
  return all;
}

bool neighbours_may_slow(const CardFacts& card, std::string_view resource, double share) {
  const bool one_way = resource == "pcie.h2d" || resource == "pcie.d2h";
  return part_of(resource) == "pcie" && card.virtual_machine.value_or(true) &&
         share > 1 - (one_way ? kLossByNeighbours : kLossByNeighboursTogether);
}

CardScatter card_scatter(std::span<const Population> populations, const CardFacts& card,
                         std::string_view mode, std::string_view resource, Basis basis) {
  const auto known_well = [&](const Population& population) {
    return population.mode == mode && population.cards >= kFewCards;
  };
  const Population* population = find_population(populations, card, mode);
  CardScatter scatter;
  double factor = 1;
  if (population == nullptr || !known_well(*population)) {
    const auto other = std::ranges::max_element(
        populations, {}, [&](const Population& each) { return known_well(each) ? each.cards : 0; });
    if (other == populations.end() || !known_well(*other)) return scatter;
    population = &*other;
    scatter.assumed_from = population->facts.model;
    factor = kWiderWhereAssumed;
  }
  // Each card may be on either of two levels.
  const auto deviation = [](const PopulationFigure& figure) {
    return std::hypot(figure.between_cards,
                      (figure.highest_state - figure.lowest_state) / 2 / figure.median);
  };
  const PopulationFigure* const known = find_figure(*population, {std::string(resource), basis});
  for (const PopulationFigure& figure : population->figures) {
    if (figure.beside_siblings || (known != nullptr && known != &figure)) continue;
    if (known == nullptr && neighbours_may_slow(population->facts, figure.resource, 0.5)) continue;
    scatter.deviation = std::max(scatter.deviation, factor * deviation(figure));
    scatter.cards = std::max(scatter.cards, figure.cards);
  }
  return scatter;
}

}  // namespace peakline
