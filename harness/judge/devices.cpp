#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "harness/conclude/sm_clocks.hpp"
#include "harness/judge/sides.hpp"
#include "harness/values/cards.hpp"

namespace peakline {
namespace {

// By card; "host" and "node" stand for all.
using Devices = std::map<std::string, Runs>;

Devices devices_of(std::span<const Profile> profiles, const Cards& cards) {
  Devices result;
  for (const Profile& profile : profiles) {
    for (DeviceView& run : device_views(profile)) {
      // A run with --device may not measure the host.
      if (run.facts == nullptr && run.points->empty()) continue;
      result[cards.card_of(run.name())].push_back(std::move(run));
    }
  }
  return result;
}

Runs joined(Devices& devices) {
  Runs all;
  for (auto& [card, runs] : devices) std::ranges::move(runs, std::back_inserter(all));
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
void pair_by(Key key, Devices& base, Devices& next, std::vector<DevicePair>& pairs) {
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
      pairs.push_back({joined(in_base), joined(in_next)});
    }
  }
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

bool different_cards(const DevicePair& pair) {
  const auto cards = [](const Runs& runs) {
    std::set<std::string> all;
    for (const DeviceView& run : runs)
      if (run.facts != nullptr) all.insert(short_uuid(run.facts->uuid));
    return all;
  };
  const std::set<std::string> base = cards(pair.base), next = cards(pair.next);
  return !base.empty() &&
         std::ranges::none_of(next, [&](const std::string& card) { return base.contains(card); });
}

double clock_offset(const DevicePair& pair) {
  std::vector<const DeviceFacts*> runs;
  for (const Runs* side : {&pair.base, &pair.next})
    std::ranges::transform(*side, std::back_inserter(runs), &DeviceView::facts);
  return clock_step_between(runs);
}

PairedDevices pair_devices(std::span<const Profile> base, std::span<const Profile> next,
                           bool in_order) {
  Cards cards = cards_of(base);
  for (const Profile& profile : next) cards.add(profile);
  Devices before = devices_of(base, cards), after = devices_of(next, cards);
  PairedDevices result;
  if (in_order)
    pair_by([](const std::string&, const Runs& runs) { return place_of(runs); }, before, after,
            result.pairs);
  pair_by([](const std::string& card, const Runs&) { return card; }, before, after, result.pairs);
  pair_by([](const std::string&,
             const Runs& runs) { return std::pair(index_of(runs), runs[0].model()); },
          before, after, result.pairs);
  pair_by([](const std::string&, const Runs& runs) { return index_of(runs); }, before, after,
          result.pairs);
  std::ranges::stable_sort(result.pairs, {}, [](const DevicePair& pair) {
    const int index = index_of(pair.base);
    return std::pair(index < 0, index);
  });
  for (auto& [card, runs] : before) result.only_base.push_back(std::move(runs));
  for (auto& [card, runs] : after) result.only_next.push_back(std::move(runs));
  return result;
}

}  // namespace peakline
