// Which device of one side is which of the other.

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>

#include "harness/core/comparison/sides.hpp"

namespace peakline {
namespace {

// By UUID; "host" for all hosts together.
using Devices = std::map<std::string, Runs>;

Devices devices_of(std::span<const Profile> profiles) {
  Devices result;
  for (const Profile& profile : profiles) {
    for (DeviceView& run : device_views(profile)) {
      // A run with --device does not always measure the host.
      if (run.facts == nullptr && run.measurements.empty()) continue;
      const std::string_view name = run.facts != nullptr ? run.facts->uuid : kHostDevice;
      result[std::string(name)].push_back(std::move(run));
    }
  }
  return result;
}

Runs joined(Devices& devices) {
  Runs all;
  for (auto& [uuid, runs] : devices) std::ranges::move(runs, std::back_inserter(all));
  return all;
}

int index_of(const Runs& runs) { return runs[0].facts != nullptr ? runs[0].facts->index : -1; }

// Pairs the devices with equal keys, and leaves the rest where they are.
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

std::string model_of(const DeviceView& run) {
  return run.facts != nullptr ? run.facts->name : run.profile->host.cpu_model;
}

PairedDevices pair_devices(std::span<const Profile> base, std::span<const Profile> next) {
  Devices before = devices_of(base), after = devices_of(next);
  PairedDevices result;
  pair_by([](const std::string& uuid, const Runs&) { return uuid; }, before, after, result.pairs);
  pair_by([](const std::string&,
             const Runs& runs) { return std::pair(index_of(runs), model_of(runs[0])); },
          before, after, result.pairs);
  pair_by([](const std::string&, const Runs& runs) { return index_of(runs); }, before, after,
          result.pairs);
  std::ranges::stable_sort(result.pairs, {}, [](const DevicePair& pair) {
    const int index = index_of(pair.base);
    return std::pair(index < 0, index);
  });
  for (auto& [uuid, runs] : before) result.only_base.push_back(std::move(runs));
  for (auto& [uuid, runs] : after) result.only_next.push_back(std::move(runs));
  return result;
}

}  // namespace peakline
