#include "harness/values/packed.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace peakline {
namespace {

// Entries of `launch` that comparisons read: a search's choice, a library's choice.
constexpr std::string_view kLaunchFacts[] = {"n", "nccl"};

// Identity and status without figures and device.
Measurement what_of(Measurement m) {
  Measurement what;
  what.id = std::move(m.id);
  what.params = std::move(m.params);
  what.status = m.status;
  what.reason = std::move(m.reason);
  for (const std::string_view name : kLaunchFacts)
    if (const ParamValue* fact = find_param(m.launch, name)) what.launch.emplace_back(name, *fact);
  what.varies_with = m.varies_with;
  what.unit = std::move(m.unit);
  what.verified = m.verified;
  what.flags.implausible = m.flags.implausible;
  what.method_version = m.method_version;
  return what;
}

// The shared copy of equal measurements. Thread-safe.
const Measurement* only_one(Measurement what) {
  static std::mutex mutex;
  static std::unordered_multimap<std::string, std::unique_ptr<const Measurement>> known;
  std::string key = what.name() + what.reason;
  const std::lock_guard lock(mutex);
  const auto [begin, end] = known.equal_range(key);
  for (auto same = begin; same != end; ++same)
    if (*same->second == what) return same->second.get();
  return known.emplace(std::move(key), std::make_unique<const Measurement>(std::move(what)))
      ->second.get();
}

}  // namespace

void pack(Profile& profile) {
  std::set<std::pair<std::string_view, std::string_view>> sources;
  for (const Ceiling& row : profile.ceilings) sources.emplace(row.device, row.measurement);
  std::map<std::string, std::vector<MeasuredPoint>> points;
  std::vector<Measurement> kept;
  for (Measurement& m : profile.measurements) {
    MeasuredPoint& point = points[m.device].emplace_back();
    point.sound = sound(m);
    point.value = m.value.value_or(0);
    point.sm_clock_hz = m.conditions.sm_clock_hz;
    if (sources.contains({m.device, m.name()})) {
      // Samples tell the runs of one profile apart.
      if (m.sittings.size() < 2) m.samples_s = {};
      m.series = {};
      kept.push_back(m);
    }
    point.what = only_one(what_of(std::move(m)));
  }
  kept.shrink_to_fit();
  profile.measurements = std::move(kept);
  for (auto& [device, all] : points)
    profile.points.emplace(device, std::make_shared<const std::vector<MeasuredPoint>>(all));
  profile.rooflines = {};
  profile.headlines = {};
  profile.curves = {};
  profile.memory_map = {};
  for (Ceiling& row : profile.ceilings) {
    row.note = {};
    row.factors = {};
  }
}

}  // namespace peakline
