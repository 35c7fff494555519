#pragma once

// Yardsticks of a card's figures, from populations, the architecture and floors.

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

// Populations to compare a card with, or nullptr.
struct Known {
  const Population* population = nullptr;  // its model
  bool built_in = false;                   // that is one of the donors
  const Population* donor = nullptr;       // its compute capability, for priors
  const Population* peers = nullptr;       // its fleet
};
// donors: trusted populations for cards that `populations` do not know, and for priors.
Known known_of(std::span<const Population> populations, std::span<const Population> donors,
               const CardFacts& card, std::string_view mode);
std::vector<Yardstick> yardsticks_for(const Known& known, const CardFacts& card,
                                      const RunFigure& figure);
// The figure for the engine.
Reading reading_of(const RunFigure& figure, const CardFacts& card, double least = kLeastLoss);

// Whether a value below its limit proves nothing, since a virtual machine's neighbours use its
// memory: up to kLossByNeighbours one way, up to kLossByNeighboursTogether both ways or by several
// GPUs. On one host, copies to an H200 were 4.4 to 4.9 % slower for minutes, both ways 14 to 20 %.
// A link that is trained down loses half.
inline constexpr double kLossByNeighbours = 0.1, kLossByNeighboursTogether = 0.6;
bool neighbours_may_slow(const CardFacts& card, std::string_view resource, double share);

// Scatter of a card about others of its model.
struct CardScatter {
  double deviation = 0;   // standard deviation, share
  std::size_t cards = 0;  // behind it; 0: unknown
  std::string assumed_from = {};
};
// The scatter of a ceiling; without resource, the widest of any. With fewer than kFewCards cards,
// twice another model's.
CardScatter card_scatter(std::span<const Population> populations, const CardFacts& card,
                         std::string_view mode, std::string_view resource = {},
                         Basis basis = Basis::kMeasured);

const UsualSpread& usual_of(const FigureKey& figure, const CardFacts& facts);
// The least loss judged; larger for L2, which has two levels.
double least_loss(std::string_view resource, double least = kLeastLoss);
Yardstick yardstick_of(const PopulationFigure& figure);

// Figures of different methods are not comparable.
bool same_method(const auto& a, const auto& b) {
  return !a.method_version || !b.method_version || a.method_version == b.method_version;
}

// Whether two figures have the same siblings, whose peaks are part of their theory.
bool same_siblings(const auto& a, const auto& b) {
  constexpr double kExact = 1e-3;
  return !a.beside_siblings || !a.theory || !b.theory ||
         std::abs(*a.theory / *b.theory - 1) < kExact;
}

}  // namespace peakline
