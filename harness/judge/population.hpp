#pragma once

// What healthy cards measure, from runs of several of them, and how far below that a figure of one
// more healthy card may lie.
//
//   - A card's figure is the median of its runs; the population's, the median of its cards. Cards
//     scatter by the standard deviation of their medians, runs by that about their card's mean.
//   - Where the cards lie around two levels, far apart beside their scatter around them, the lower
//     one's median counts and the scatter within a level: either is healthy.
//   - A limit lies max(kLeastLoss, k hypot(between_cards, between_runs)) below that median. k is
//     found by simulation: populations of as many cards are drawn, with figures as correlated as
//     these cards' are (correlations shrunk as by Schaefer and Strimmer 2005,
//     doi:10.2202/1544-6115.1175), and a run of one more card is held against each. Of all those
//     runs kFalseAlarms have any figure below its limit. So k knows that medians and scatter of few
//     cards are uncertain, and that forty figures of a card are not forty chances to be wrong.

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/values/device_view.hpp"
#include "harness/values/population.hpp"

namespace peakline {

// Losses below this are never reported: less is found by several runs of one card (compare).
inline constexpr double kLeastLoss = 0.03;
// This share of healthy runs has any figure below its limit.
inline constexpr double kFalseAlarms = 0.001;
// How cards scatter is not known from fewer: their limits only warn.
inline constexpr std::size_t kFewestCards = 5;

struct RunFigure {
  std::string resource;
  Basis basis = Basis::kMeasured;
  bool beside_siblings = false;
  std::string unit;
  std::optional<int> method_version = {};
  double value = 0;  // above 0
};

// One card in one run.
struct CardRun {
  std::string card;  // alike in all runs of the card
  CardFacts facts;
  std::string mode, driver, revision, created;
  std::vector<RunFigure> figures;
};

// A GPU of a profile with its measured ceilings. Those of the Tensor Cores, where a basis has three
// or more, are also held against one another.
CardRun card_run(const DeviceView& gpu, std::string card);
inline CardFacts card_facts(const DeviceView& gpu) {
  return card_facts(*gpu.facts, gpu.profile->host);
}
// Appends the figures beside siblings of those that are there.
void add_siblings(std::vector<RunFigure>& figures);

// Limits are found by the thousandth of these that lies lowest.
inline constexpr int kTrials = 40000;

// There is one for each model, facts and mode, in the order of their first runs. What a run does
// not know is taken from the other runs; runs whose facts contradict each other are of different
// populations. trials: of the simulation, for each of them.
std::vector<Population> populations_of(std::span<const CardRun> runs, int trials = kTrials);

// The runs of all GPUs that the profiles have figures of, of those without the cards named; and the
// populations of these.
std::vector<CardRun> runs_of_gpus(std::span<const Profile* const> profiles,
                                  const std::set<std::string>& without = {});
std::vector<Population> populations_of_gpus(std::span<const Profile* const> profiles,
                                            const std::set<std::string>& without = {});

// Whether a value below the limit is no proof: of few cards, or of PCIe both ways in a virtual
// machine, whose neighbours use the same memory.
bool only_warns(const Population& population, const PopulationFigure& figure);
// A loss of a PCIe direction that neighbours of a virtual machine can cause: on one host, copies to
// an H200 lay 4.4 to 4.9 % below the others' for minutes, and both ways 14 to 20 %. A link that is
// trained down loses half.
inline constexpr double kLossByNeighbours = 0.1;
// Whether such a value below the limit is none for certain.
bool neighbours_may_slow(const Population& population, const PopulationFigure& figure,
                         double value);
// How far a card lies from others of its model.
struct CardScatter {
  double deviation = 0;   // standard deviation, a share
  std::size_t cards = 0;  // that it is known of; 0: not known
  std::string assumed_from = {};
};
// Returns that of a ceiling; without a resource, the most that any has. A model of which fewer than
// kFewestCards are known has twice what is known of another one.
CardScatter card_scatter(std::span<const Population> populations, const CardFacts& card,
                         std::string_view mode, std::string_view resource = {},
                         Basis basis = Basis::kMeasured);

// Standard deviation of a healthy run of any card, as a share of the median.
double scatter_of(const PopulationFigure& figure);

}  // namespace peakline
