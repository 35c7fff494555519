#include "harness/values/population.hpp"

#include <algorithm>
#include <utility>

namespace peakline {
namespace {

// Visits all facts but the model.
template <class Visit>
void each_fact(Visit visit) {
  visit(&CardFacts::sm_count);
  visit(&CardFacts::memory_bytes);
  visit(&CardFacts::power_limit_w);
  visit(&CardFacts::sm_clock_max_hz);
  visit(&CardFacts::memory_clock_max_hz);
  visit(&CardFacts::ecc_enabled);
  visit(&CardFacts::mig_enabled);
  visit(&CardFacts::pcie_generation);
  visit(&CardFacts::pcie_width);
  visit(&CardFacts::nvlinks);
  visit(&CardFacts::virtual_machine);
  visit(&CardFacts::compute_capability);
  visit(&CardFacts::memory_bus_bits);
  visit(&CardFacts::l2_bytes);
  visit(&CardFacts::gpus);
}

}  // namespace

bool agree(const CardFacts& a, const CardFacts& b) {
  bool alike = a.model == b.model;
  each_fact(
      [&](auto fact) { alike = alike && (!(a.*fact) || !(b.*fact) || *(a.*fact) == *(b.*fact)); });
  return alike;
}

void complete(CardFacts& into, const CardFacts& other) {
  each_fact([&](auto fact) {
    if (!(into.*fact)) into.*fact = other.*fact;
  });
}

CardFacts facts_of_most(std::span<const CardFacts> cards) {
  CardFacts usual;
  usual.model = cards[0].model;
  each_fact([&](auto fact) {
    for (const CardFacts& card : cards) {
      const auto alike = std::ranges::count_if(
          cards, [&](const CardFacts& other) { return other.*fact == card.*fact; });
      if (2 * alike > std::ssize(cards)) {
        usual.*fact = card.*fact;
        return;
      }
    }
  });
  return usual;
}

CardFacts card_facts(const DeviceFacts& facts, const HostFacts& host) {
  CardFacts card{.model = facts.name,
                 .sm_count = facts.sm_count,
                 .memory_bytes = facts.memory_bytes,
                 .power_limit_w = facts.power_limit_w,
                 .sm_clock_max_hz = facts.sm_clock_max_hz,
                 .memory_clock_max_hz = facts.memory_clock_max_hz,
                 .ecc_enabled = facts.ecc_enabled,
                 .mig_enabled = facts.mig_enabled,
                 .virtual_machine = in_virtual_machine(host),
                 .memory_bus_bits = facts.memory_bus_bits,
                 .l2_bytes = facts.l2_bytes};
  if (facts.compute_major > 0)
    card.compute_capability = 10 * facts.compute_major + facts.compute_minor;
  if (facts.pcie_read_under_load) {
    card.pcie_generation = facts.pcie.generation;
    card.pcie_width = facts.pcie.width;
  }
  if (facts.nvlinks.count > 0) card.nvlinks = facts.nvlinks.up();
  return card;
}

const Population* find_population(std::span<const Population> populations, const CardFacts& card,
                                  std::string_view mode) {
  const Population* best = nullptr;
  const auto better = [&](const Population& a, const Population& b) {
    return std::pair(agree(a.facts, card), a.cards) > std::pair(agree(b.facts, card), b.cards);
  };
  for (const Population& population : populations) {
    if (population.facts.model != card.model || population.mode != mode) continue;
    if (best == nullptr || better(population, *best)) best = &population;
  }
  return best;
}

const PopulationFigure* find_figure(const Population& population, const FigureKey& key) {
  const auto found = std::ranges::find_if(population.figures,
                                          [&](const FigureKey& figure) { return figure == key; });
  return found == population.figures.end() ? nullptr : &*found;
}

KeptSpread kept_spread(std::span<const Population> kept, const CardFacts& card,
                       std::string_view mode, std::string_view resource, Basis basis) {
  const Population* const population = find_population(kept, card, mode);
  if (population == nullptr) return {};
  const PopulationFigure* const figure = find_figure(*population, {std::string(resource), basis});
  if (figure == nullptr) return {};
  return {.deviation = figure->between_runs, .degrees = figure->runs - figure->cards};
}

}  // namespace peakline
