#pragma once

// A card's figures in one run, for the judge: its ceilings; between GPUs, the slowest pair's.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/values/device_view.hpp"
#include "harness/values/population.hpp"

namespace peakline {

// A part of the machine that must be judged before it passes.
enum class RuleGroup {
  kMemory,
  kCompute,
  kTensor,
  kHostLink,
  kGpuLinks,
  kFacts,
  kHealth,
  kDevices,  // their number
};
std::string_view to_string(RuleGroup group);  // "memory", "compute", "tensor", "host_link", ...
std::string_view label_of(RuleGroup group);   // "memory", "Tensor Cores", "links between GPUs"
// A ceiling's group; nullopt: not a GPU's.
std::optional<RuleGroup> rule_group_of(std::string_view resource);

// By index, the lower first.
using GpuPair = std::pair<int, int>;

struct RunFigure : FigureKey {
  std::string unit = {};
  std::optional<int> method_version = {};
  double value = 0;  // above 0
  // The fastest of a node's pairs or GPUs, whose slowest is `value`; 0: `value` stands for one.
  double fastest = 0;
  std::optional<double> theory = {}, datasheet = {};
  double own = 0;  // Reading::own
  // Measured SM clock over its maximum, for compute rates; 0: unknown, possibly lowered.
  double clock_share = 1;
  // Clock that the card was seen to reach over the maximum of its theory.
  double clock_seen = 1;
  std::string measurement = {};  // the point it came from
  std::string label = {};        // empty: the ceiling's
  // The pairs or GPUs (twice the same index) of a node that were measured, of which the slowest
  // counts; empty for ceilings.
  std::set<GpuPair> of = {};
};

struct CardRun {
  std::string card;  // identifies the card across runs
  CardFacts facts;
  std::string mode, driver, revision, created;
  std::vector<RunFigure> figures;
  std::string fault = {};  // a rule that speaks against the card, besides its figures
};

// A GPU's measured ceilings. Tensor Core ceilings are also compared with each other, where a basis
// has three or more. sound: omit unsteady figures.
CardRun card_run(const DeviceView& gpu, std::string card, bool sound = false);
// The links between several GPUs of one model: the slowest pair of each resource, and the slowest
// host link while all GPUs copy. The model is "2 x NVIDIA H200".
CardRun node_run(const DeviceView& node, std::string name, bool sound = false);
inline CardFacts card_facts(const DeviceView& gpu) {
  return card_facts(*gpu.facts, gpu.profile->host);
}
CardFacts node_facts(const DeviceView& node);
// Figures of joint work that no ceiling states: those of the slowest pair, or of the slowest GPU
// while all are busy.
std::vector<RunFigure> figures_together(const DeviceView& node);
// Whether the node has this figure ("pcie.concurrent.h2d/measured"), not a GPU.
bool is_of_node(std::string_view figure);
// The CPUs of a profile, whose model they are.
CardRun host_run(const DeviceView& host, std::string name);
// Appends the ratios of figures to their siblings.
void add_siblings(std::vector<RunFigure>& figures);

// Sound figures of all GPUs and nodes of the profiles. without: cards to omit. faults:
// CardRun::fault by UUID, besides errors that the profiles report.
std::vector<CardRun> runs_of_gpus(std::span<const Profile* const> profiles,
                                  const std::set<std::string>& without = {},
                                  const std::map<std::string, std::string>& faults = {});

}  // namespace peakline
