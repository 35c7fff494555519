#pragma once

// The yardsticks of a card's figures: they follow from populations, the architecture and floors.

#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/hardware/usual_spread.hpp"
#include "harness/judge/card_runs.hpp"
#include "harness/judge/engine.hpp"
#include "harness/values/population.hpp"

namespace peakline {

// Populations that a card is compared with; nullptr: there is none.
struct Known {
  const Population* population = nullptr;  // of its model
  const Population* donor = nullptr;       // of the compute capability, for priors
  const Population* peers = nullptr;       // of the fleet that it is one of
};
// donors: populations that priors may be taken from, which are trusted.
Known known_of(std::span<const Population> populations, std::span<const Population> donors,
               const CardFacts& card, std::string_view mode);
std::vector<Yardstick> yardsticks_for(const Known& known, const CardFacts& card,
                                      const RunFigure& figure);
// The figure as the engine takes it.
Reading reading_of(const RunFigure& figure, const CardFacts& card, double least = kLeastLoss);

// Whether a value below a limit is no proof: of PCIe both ways or by several GPUs in a virtual
// machine, whose neighbours use the same memory; and, down to kLossByNeighbours, of one direction.
// On one host, copies to an H200 lay 4.4 to 4.9 % below the others' for minutes, and both ways 14
// to 20 %. A link that is trained down loses half.
inline constexpr double kLossByNeighbours = 0.1;
bool neighbours_may_slow(const CardFacts& card, std::string_view resource, double share);

// How far a card lies from others of its model.
struct CardScatter {
  double deviation = 0;   // standard deviation, a share
  std::size_t cards = 0;  // that it is known of; 0: not known
  std::string assumed_from = {};
};
// Returns that of a ceiling; without a resource, the most that any has. A model of which fewer than
// kFewCards are known has twice what is known of another one.
CardScatter card_scatter(std::span<const Population> populations, const CardFacts& card,
                         std::string_view mode, std::string_view resource = {},
                         Basis basis = Basis::kMeasured);

// The scatter of the figure's class.
const UsualSpread& usual_of(std::string_view resource, Basis basis, bool beside_siblings,
                            const CardFacts& facts);
// The least loss that is judged: the L2 has two levels.
double least_loss(std::string_view resource, double least = kLeastLoss);
Yardstick yardstick_of(const PopulationFigure& figure);

// Whether two figures are beside the same siblings, whose peaks are part of their theory.
bool same_siblings(const auto& a, const auto& b) {
  constexpr double kExact = 1e-3;
  return !a.beside_siblings || !a.theory || !b.theory ||
         std::abs(*a.theory / *b.theory - 1) < kExact;
}

}  // namespace peakline
