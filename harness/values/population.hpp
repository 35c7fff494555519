#pragma once

// The spread of one model's healthy cards, with which a card's figures are compared.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/values/facts.hpp"
#include "harness/values/measurement.hpp"

namespace peakline {

// Facts known before measuring, which must match for figures to be comparable. nullopt: unknown, or
// different between runs.
struct CardFacts {
  std::string model;  // "NVIDIA H200"
  std::optional<int> sm_count = {};
  std::optional<double> memory_bytes = {}, power_limit_w = {}, sm_clock_max_hz = {},
                        memory_clock_max_hz = {};
  std::optional<bool> ecc_enabled = {}, mig_enabled = {};
  std::optional<int> pcie_generation = {}, pcie_width = {};  // under load
  std::optional<int> nvlinks = {};                           // up
  std::optional<bool> virtual_machine = {};
  std::optional<int> compute_capability = {};  // 90 for 9.0
  std::optional<int> memory_bus_bits = {};
  std::optional<double> l2_bytes = {};
  std::optional<int> gpus = {};  // of a node; its other facts are its first GPU's

  bool operator==(const CardFacts&) const = default;
};

// One figure over the cards of a population. Shares are of the median.
struct PopulationFigure : FigureKey {
  std::string unit;  // "1" beside siblings
  std::optional<int> method_version;
  std::size_t cards = 0, runs = 0;
  double median = 0;  // of the cards' medians
  // The median of the lower or upper group where cards form two levels; else `median`.
  double lowest_state = 0;
  double highest_state = 0;
  // Standard deviations of the cards' medians (within a level), and of one card's runs.
  double between_cards = 0, between_runs = 0;
  double limit = 0;  // lowest healthy run; rule: harness/judge/engine.hpp
  // The cards' peaks, by which other models are compared in shares.
  std::optional<double> theory = {}, datasheet = {};

  bool operator==(const PopulationFigure&) const = default;
};

// A card excluded from the population.
struct LeftOutCard {
  std::string card;  // UUID, or the name in the runs
  // The most deviant figure ("hbm.read/measured") with its share of the cards' median, or another
  // reason ("health/xid") without a share.
  std::string figure;
  std::optional<double> share = {};

  bool operator==(const LeftOutCard&) const = default;
};

// Runs of comparable cards in one mode.
struct Population {
  CardFacts facts;
  std::string mode;  // "quick"
  std::size_t cards = 0, runs = 0;
  std::vector<std::string> drivers = {}, revisions = {};  // of the runs, sorted
  std::string first = {}, last = {};       // when the runs were made, as in Profile::created
  std::vector<LeftOutCard> left_out = {};  // counted neither as cards nor as runs
  // Student's t of the limits, with all cards and figures.
  double limit_deviations = 0;
  std::vector<PopulationFigure> figures = {};

  bool operator==(const Population&) const = default;
};

CardFacts card_facts(const DeviceFacts& gpu, const HostFacts& host);
// Whether all facts known on both sides match.
bool agree(const CardFacts& a, const CardFacts& b);
void complete(CardFacts& into, const CardFacts& other);
// The facts that more than half of the cards share. cards: at least one.
CardFacts facts_of_most(std::span<const CardFacts> cards);

// The card's model's population in this mode with the most matching facts, or nullptr.
const Population* find_population(std::span<const Population> populations, const CardFacts& card,
                                  std::string_view mode);
const PopulationFigure* find_figure(const Population& population, const FigureKey& key);

// Spread of a card's runs that the user kept: standard deviation of one run, a share, and its
// degrees of freedom; 0: unknown.
struct KeptSpread {
  double deviation = 0;
  std::size_t degrees = 0;
};
KeptSpread kept_spread(std::span<const Population> kept, const CardFacts& card,
                       std::string_view mode, std::string_view resource, Basis basis);

}  // namespace peakline
