#pragma once

// The figures of one card in one run, as the judge takes them: its ceilings, and for what lies
// between GPUs the slowest pair's.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
  std::string label = {};        // empty: the ceiling's
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
// The links of a profile with several GPUs of one model: the slowest pair of each resource, and the
// slowest host link while all GPUs copy. Its model is "2 x NVIDIA H200".
CardRun node_run(const DeviceView& node, std::string name, bool sound = false);
inline CardFacts card_facts(const DeviceView& gpu) {
  return card_facts(*gpu.facts, gpu.profile->host);
}
CardFacts node_facts(const DeviceView& node);
// The CPUs of a profile. Its model is theirs.
CardRun host_run(const DeviceView& host, std::string name);
// Appends the figures beside siblings of those that are there.
void add_siblings(std::vector<RunFigure>& figures);

// The sound figures of all GPUs and nodes of the profiles, of those without the cards named.
// faults: CardRun::fault by UUID.
std::vector<CardRun> runs_of_gpus(std::span<const Profile* const> profiles,
                                  const std::set<std::string>& without = {},
                                  const std::map<std::string, std::string>& faults = {});

}  // namespace peakline
