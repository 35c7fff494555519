#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "harness/conclude/sm_clocks.hpp"
#include "harness/judge/machines.hpp"
#include "harness/judge/sides.hpp"
#include "harness/values/cards.hpp"

namespace peakline {
namespace {

// By machine and card; "host" and "node" are their own.
using DeviceId = std::pair<std::size_t, std::string>;
using Devices = std::map<DeviceId, Runs>;

Devices devices_of(std::span<const Profile> profiles, const std::vector<std::size_t>& machines,
                   const Cards& cards) {
  Devices result;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    for (DeviceView& run : device_views(profiles[i])) {
      // A run with --device may not measure the host.
      if (run.facts == nullptr && run.points->empty()) continue;
      result[{machines[i], cards.card_of(run.name())}].push_back(std::move(run));
    }
  }
  return result;
}

Runs joined(Devices& devices) {
  Runs all;
  for (auto& [id, runs] : devices) std::ranges::move(runs, std::back_inserter(all));
  return all;
}

// Negative for node and host, which precede GPUs.
int index_of(const Runs& runs) {
  if (runs[0].is_node()) return -2;
  return runs[0].facts != nullptr ? runs[0].facts->index : -1;
}

// Among the GPUs of its profile; negative for node and host.
std::ptrdiff_t place_of(const Runs& runs) {
  return runs[0].facts != nullptr ? runs[0].facts - runs[0].profile->devices.data()
                                  : index_of(runs);
}

// Pairs devices with equal keys; the rest stays.
template <class Key>
void pair_by(Key key, Devices& base, Devices& next, std::vector<MachineSides>& machines) {
  using Value = decltype(key(base.begin()->first, base.begin()->second));
  std::map<Value, std::array<Devices, 2>> groups;
  const auto group = [&](Devices& side, std::size_t which) {
    while (!side.empty()) {
      auto device = side.extract(side.begin());
      groups[key(device.key(), device.mapped())][which].insert(std::move(device));
    }
  };
  group(base, 0);
  group(next, 1);
  for (auto& [value, sides] : groups) {
    auto& [in_base, in_next] = sides;
    if (in_base.empty() || in_next.empty()) {
      base.merge(in_base);
      next.merge(in_next);
    } else {
      const std::size_t from = in_base.begin()->first.first, to = in_next.begin()->first.first;
      machines[to].pairs.push_back({joined(in_base), joined(in_next), machines[from].machine});
    }
  }
}

std::vector<ProfileOfFile> with_files(std::span<const Profile> profiles,
                                      std::span<const std::string> files) {
  std::vector<ProfileOfFile> all;
  for (std::size_t i = 0; i < profiles.size(); ++i)
    all.push_back({&profiles[i], i < files.size() ? std::string_view(files[i]) : ""});
  return all;
}

}  // namespace

const DeviceView* other_model(const DevicePair& pair) {
  const std::string model = pair.base[0].model();
  for (const Runs* runs : {&pair.base, &pair.next})
    for (const DeviceView& run : *runs)
      // A node's runs may be restricted to some of its GPUs.
      if ((run.facts != nullptr || &run == &pair.next[0]) && run.model() != model) return &run;
  return nullptr;
}

std::set<std::string> cards_of(const Runs& runs) {
  std::set<std::string> all;
  for (const DeviceView& run : runs)
    if (run.facts != nullptr) all.insert(short_uuid(run.facts->uuid));
  return all;
}

bool different_cards(const DevicePair& pair) {
  const std::set<std::string> base = cards_of(pair.base), next = cards_of(pair.next);
  return !base.empty() &&
         std::ranges::none_of(next, [&](const std::string& card) { return base.contains(card); });
}

double clock_offset(const DevicePair& pair) {
  std::vector<const DeviceFacts*> runs;
  for (const Runs* side : {&pair.base, &pair.next})
    std::ranges::transform(*side, std::back_inserter(runs), &DeviceView::facts);
  return clock_step_between(runs);
}

std::vector<MachineSides> pair_devices(std::span<const Profile> base, std::span<const Profile> next,
                                       const CompareOptions& options) {
  Cards cards = cards_of(base);
  for (const Profile& profile : next) cards.add(profile);
  const MachinesOfSides of = machines_of(with_files(base, options.base_files),
                                         with_files(next, options.next_files), cards);
  std::vector<MachineSides> machines(of.names.size());
  for (std::size_t i = 0; i < machines.size(); ++i) machines[i].machine = of.names[i];
  for (std::size_t i = 0; i < base.size(); ++i) machines[of.base[i]].base.push_back(&base[i]);
  for (std::size_t i = 0; i < next.size(); ++i) machines[of.next[i]].next.push_back(&next[i]);
  Devices before = devices_of(base, of.base, cards), after = devices_of(next, of.next, cards);
  if (options.in_order)
    pair_by(
        [](const DeviceId& id, const Runs& runs) { return std::pair(id.first, place_of(runs)); },
        before, after, machines);
  pair_by(
      [](const DeviceId& id, const Runs& runs) {
        const bool is_gpu = runs[0].facts != nullptr;
        return std::pair(is_gpu ? std::optional<std::size_t>() : id.first, id.second);
      },
      before, after, machines);
  pair_by([](const DeviceId& id,
             const Runs& runs) { return std::tuple(id.first, index_of(runs), runs[0].model()); },
          before, after, machines);
  pair_by([](const DeviceId& id, const Runs& runs) { return std::pair(id.first, index_of(runs)); },
          before, after, machines);
  for (auto& [id, runs] : before) machines[id.first].only_base.push_back(std::move(runs));
  for (auto& [id, runs] : after) machines[id.first].only_next.push_back(std::move(runs));
  for (MachineSides& machine : machines)
    std::ranges::stable_sort(machine.pairs, {}, [](const DevicePair& pair) {
      const int index = index_of(pair.base);
      return std::pair(index < 0, index);
    });
  return machines;
}

}  // namespace peakline
