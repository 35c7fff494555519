#pragma once

// How the healthy cards of one model scatter, which a card's figures are compared with.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/values/facts.hpp"
#include "harness/values/measurement.hpp"

namespace peakline {

// Facts about a card that are known before anything is measured, and have to be alike where figures
// are compared. nullopt: unknown, or not equal in all runs.
struct CardFacts {
  std::string model;  // "NVIDIA H200"
  std::optional<int> sm_count = {};
  std::optional<double> memory_bytes = {}, power_limit_w = {}, sm_clock_max_hz = {},
                        memory_clock_max_hz = {};
  std::optional<bool> ecc_enabled = {}, mig_enabled = {};
  std::optional<int> pcie_generation = {}, pcie_width = {};  // of the link under load
  std::optional<int> nvlinks = {};                           // that are up
  std::optional<bool> virtual_machine = {};
  std::optional<int> compute_capability = {};  // 90 of 9.0
  std::optional<int> memory_bus_bits = {};
  std::optional<int> gpus = {};  // of a node, whose other facts are its first GPU's

  bool operator==(const CardFacts&) const = default;
};

// A ceiling over the cards of a population. Shares are of the median.
struct PopulationFigure {
  std::string resource;  // "hbm.read"
  Basis basis = Basis::kMeasured;
  // The figure is the ceiling over the geometric mean of the part's other ceilings of the basis:
  // BF16 beside FP16, FP8 and TF32. It finds what is wrong with one precision alone.
  bool beside_siblings = false;
  std::string unit;  // "1" beside siblings
  std::optional<int> method_version;
  std::size_t cards = 0, runs = 0;
  double median = 0;  // of the cards' medians
  // The median of those cards that lie lowest, where the cards lie around two levels; else
  // `median`.
  double lowest_state = 0;
  double highest_state = 0;  // likewise
  // Standard deviations: of the cards' medians, of one level where there are two, and of one run of
  // a card.
  double between_cards = 0, between_runs = 0;
  double limit = 0;  // the lowest value of a healthy run; harness/judge/engine.hpp says how
  // The cards' theoretical and documented peaks, so that other models can be compared with shares
  // of them. nullopt: there is none.
  std::optional<double> theory = {}, datasheet = {};

  bool operator==(const PopulationFigure&) const = default;
};

// A card that a population does not vouch for.
struct LeftOutCard {
  std::string card;  // its UUID, or as the runs name it
  // The figure that lies furthest from the others ("hbm.read/measured"), as a share of the cards'
  // median; or what else speaks against it ("health/xid"), without a share.
  std::string figure;
  std::optional<double> share = {};

  bool operator==(const LeftOutCard&) const = default;
};

// Runs of cards that are alike, in one mode.
struct Population {
  CardFacts facts;
  std::string mode;  // "quick"
  std::size_t cards = 0, runs = 0;
  std::vector<std::string> drivers = {}, revisions = {};  // of the runs, sorted
  std::string first = {}, last = {};       // when the runs were made, as in Profile::created
  std::vector<LeftOutCard> left_out = {};  // they count neither as cards nor as runs
  // Student's t of the limits, with all cards and figures.
  double limit_deviations = 0;
  std::vector<PopulationFigure> figures = {};

  bool operator==(const Population&) const = default;
};

CardFacts card_facts(const DeviceFacts& gpu, const HostFacts& host);
// Whether the facts that both know are alike.
bool agree(const CardFacts& a, const CardFacts& b);
// Takes over what is not known yet.
void complete(CardFacts& into, const CardFacts& other);
// The facts that more than half of the cards, at least one, share; nullopt where they do not.
CardFacts facts_of_most(std::span<const CardFacts> cards);

// The population of the mode whose facts agree with the card's in the most, of those of its model
// with figures; nullptr where there is none.
const Population* find_population(std::span<const Population> populations, const CardFacts& card,
                                  std::string_view mode);
const PopulationFigure* find_figure(const Population& population, std::string_view resource,
                                    Basis basis, bool beside_siblings);

// How far a card's next run lies from the runs that a user kept: the standard deviation of a run, a
// share, with its degrees of freedom; 0: unknown.
struct KeptSpread {
  double deviation = 0;
  std::size_t degrees = 0;
};
KeptSpread kept_spread(std::span<const Population> kept, const CardFacts& card,
                       std::string_view mode, std::string_view resource, Basis basis);

}  // namespace peakline
