#include "harness/judge/drift.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include "harness/judge/sides.hpp"

namespace peakline {
namespace {

enum class Among { kGpus, kGpuMachines, kMachines, kKind };

// Names of conditions_of().
constexpr auto kFacts = std::to_array<std::pair<std::string_view, Among>>({
    {"driver", Among::kGpuMachines},
    {"CUDA", Among::kGpuMachines},
    {"kernel", Among::kMachines},
    {"CPU governor", Among::kMachines},
    {"NUMA nodes", Among::kKind},
    {"GPUs' NUMA nodes", Among::kKind},
    {"VBIOS", Among::kGpus},
    {"power limit", Among::kGpus},
    {"ECC", Among::kGpus},
    {"PCIe link", Among::kGpus},
    {"PCIe payload", Among::kGpus},
});

struct Subject {
  std::size_t run = 0;
  std::vector<const DeviceView*> views = {};  // of that run
  FactHolder holder = {};
  std::string model = {};
};

class Subjects {
 public:
  explicit Subjects(const Newest& newest) : newest_(newest) {}

  // The newest run counts; the first of those of one second.
  void add(const std::string& key, Subject subject) {
    const auto [found, added] = by_key_.try_emplace(key, subject);
    if (!added && newest_.age(found->second.run) < newest_.age(subject.run))
      found->second = std::move(subject);
  }

  void find_drift(Among among, std::vector<Drift>& all) const {
    std::map<std::pair<std::string_view, std::string>, Drift> drifts;
    std::map<std::string, std::size_t> sizes;  // by model
    for (const auto& [key, subject] : by_key_) {
      std::map<std::string, std::string, std::less<>> known;
      for (const DeviceView* view : subject.views)
        for (auto& [what, value] : conditions_of(*view))
          if (!value.empty() && value != kLeftOut) known.try_emplace(what, std::move(value));
      ++sizes[subject.model];
      for (const auto& [fact, of] : kFacts) {
        if (of != among) continue;
        Drift& drift = drifts[{fact, subject.model}];
        const auto found = known.find(fact);
        (found == known.end() ? drift.unknown : drift.values[found->second])
            .push_back(subject.holder);
      }
    }
    for (auto& [fact_and_model, drift] : drifts) {
      if (drift.values.size() + !drift.unknown.empty() < 2) continue;
      std::tie(drift.fact, drift.model) = fact_and_model;
      drift.of_gpus = among == Among::kGpus;
      std::map<std::string, std::size_t> counts;
      for (auto& [value, holders] : drift.values) {
        std::ranges::sort(holders);
        counts[value] = holders.size();
      }
      std::ranges::sort(drift.unknown);
      drift.majority = majority_of(counts, sizes[drift.model]);
      all.push_back(std::move(drift));
    }
  }

 private:
  const Newest& newest_;
  std::map<std::string, Subject> by_key_;
};

}  // namespace

std::optional<std::string> majority_of(const std::map<std::string, std::size_t>& counts,
                                       std::size_t all) {
  for (const auto& [value, count] : counts)
    if (2 * count > all) return value;
  return std::nullopt;
}

std::vector<Drift> drift_of(std::span<const FleetProfile> profiles,
                            std::span<const std::vector<DeviceView>> views, const Cards& cards,
                            const Machines& machines, const Newest& newest) {
  Subjects gpus(newest), gpu_machines(newest), any(newest), kinds(newest);
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const std::string machine = std::to_string(machines.machine(i));
    Subject whole{.run = i, .holder = {.machine = machines.name(i)}};
    std::string kind;
    for (const DeviceView& view : views[i]) {
      whole.views.push_back(&view);
      if (view.facts == nullptr) {
        kind += (kind.empty() ? "" : "; ") + view.model();
        continue;
      }
      const std::string card = cards.card_of(view.facts->uuid);
      if (newest.without(card) != nullptr) continue;  // lost or replaced
      gpus.add(card, {.run = i,
                      .views = {&view},
                      .holder = {.machine = machines.name(i), .device = view.key()},
                      .model = view.model()});
    }
    any.add(machine, whole);
    if (!profiles[i].profile.devices.empty()) gpu_machines.add(machine, whole);
    whole.model = kind;
    kinds.add(machine, std::move(whole));
  }
  std::vector<Drift> all;
  gpu_machines.find_drift(Among::kGpuMachines, all);
  any.find_drift(Among::kMachines, all);
  kinds.find_drift(Among::kKind, all);
  gpus.find_drift(Among::kGpus, all);
  std::ranges::stable_sort(all, {}, [](const Drift& drift) {
    return std::ranges::find(kFacts, drift.fact, &decltype(kFacts)::value_type::first);
  });
  return all;
}

}  // namespace peakline
