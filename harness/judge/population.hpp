#pragma once

// What healthy cards measure, from runs of several of them, and the yardsticks that follow.
//
//   - A card's figure is the median of its runs. The level of the cards is that window, of 3 % or
//     six deviations of the class, that holds most of them; of equal windows the upper one, since
//     faults only slow. Cards below the engine's limit of the others, or as far above, are left
//     out whole, by name.
//   - Where the cards of the window lie around two levels, far apart beside their scatter around
//     them, the lower one's median counts and the scatter within a level: either is healthy.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/engine.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/population.hpp"

namespace peakline {

struct RunFigure {
  std::string resource;
  Basis basis = Basis::kMeasured;
  bool beside_siblings = false;
  std::string unit;
  std::optional<int> method_version = {};
  double value = 0;  // above 0
  std::optional<double> theory = {}, datasheet = {};
  double own = 0;  // Reading::own
  // The measured SM clock over its maximum, of a rate of operations; 0: not known, and power or
  // heat may have lowered it.
  double clock_share = 1;
  std::string measurement = {};  // the point that it came from
};

// One card in one run.
struct CardRun {
  std::string card;  // alike in all runs of the card
  CardFacts facts;
  std::string mode, driver, revision, created;
  std::vector<RunFigure> figures;
  std::string fault = {};  // what speaks against the card beside its figures, a rule's name
};

// A GPU of a profile with its measured ceilings. Those of the Tensor Cores, where a basis has three
// or more, are also held against one another. sound: without figures that are unsteady.
CardRun card_run(const DeviceView& gpu, std::string card, bool sound = false);
// What lies between the GPUs of a profile, where it has several of one model: the slowest pair of
// each resource. Its model is "2 x NVIDIA H200".
CardRun node_run(const DeviceView& node, std::string name, bool sound = false);
inline CardFacts card_facts(const DeviceView& gpu) {
  return card_facts(*gpu.facts, gpu.profile->host);
}
CardFacts node_facts(const DeviceView& node);
// The CPUs of a profile. Its model is theirs.
CardRun host_run(const DeviceView& host, std::string name);
// Appends the figures beside siblings of those that are there.
void add_siblings(std::vector<RunFigure>& figures);

// There is one for each model, facts and mode, in the order of their first runs. What a run does
// not know is taken from the other runs; runs whose facts contradict each other are of different
// populations.
std::vector<Population> populations_of(std::span<const CardRun> runs);

// "GPU-1f2e3d4c (hbm.read/measured -5.0 %)"
std::string text_of(const LeftOutCard& card);

// That of runs in one mode which are taken to be of one model, whatever their facts; at least one.
Population population_of(const CardFacts& facts, std::span<const CardRun* const> runs);

// The sound figures of all GPUs and nodes of the profiles, of those without the cards named; and
// the populations of these. faults: CardRun::fault by UUID.
std::vector<CardRun> runs_of_gpus(std::span<const Profile* const> profiles,
                                  const std::set<std::string>& without = {},
                                  const std::map<std::string, std::string>& faults = {});
std::vector<Population> populations_of_gpus(std::span<const Profile* const> profiles,
                                            const std::set<std::string>& without = {},
                                            const std::map<std::string, std::string>& faults = {});

// What a card is held against.
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

// Whether a value below a limit is no proof: of PCIe both ways in a virtual machine, whose
// neighbours use the same memory; and, down to kLossByNeighbours, of one direction.
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

}  // namespace peakline
