#pragma once

// A full run on an H200, for tests to modify.

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "harness/conclude/ceilings.hpp"
#include "harness/conclude/conclusions.hpp"
#include "harness/conclude/curves.hpp"
#include "harness/conclude/factors.hpp"
#include "harness/conclude/findings.hpp"
#include "harness/conclude/headlines.hpp"
#include "harness/profile/profile.hpp"
#include "harness/values/profile.hpp"
#include "harness/values/units.hpp"
#include "tests/unit/sample_catalog.hpp"

namespace peakline::sample {

inline constexpr const char* kUuid = "GPU-11111111-2222-3333-4444-555555555555";

// Work and time for the rate `value`, with an interval of +-0.1 %.
inline Measurement measurement(std::string id, Params params, Quantity quantity, double value,
                               std::string device = kUuid) {
  Measurement m;
  m.id = std::move(id);
  m.params = std::move(params);
  m.device = std::move(device);
  m.unit = unit_of(quantity);
  m.value = value;
  m.verified = true;
  const double median = quantity == Quantity::kTime ? value : 1e-3;
  if (quantity == Quantity::kByteRate) m.work.bytes_read = value * median;
  if (quantity == Quantity::kFlopRate || quantity == Quantity::kOpRate) {
    m.work.flops = value * median;
  }
  m.summary = Summary{median, median * 0.999, median * 1.001, median * 0.99, median * 1.02, 20};
  m.samples_s.assign(20, median);
  m.launches_per_sample = 1;
  return m;
}

inline Measurement& find(Profile& profile, std::string_view name) {
  for (Measurement& m : profile.measurements) {
    if (m.name() == name) return m;
  }
  throw std::out_of_range("no measurement " + std::string(name));
}

// The first of any device.
inline Ceiling& ceiling(Profile& profile, std::string_view resource, Basis basis) {
  for (Ceiling& row : profile.ceilings)
    if (row.resource == resource && row.basis == basis) return row;
  throw std::out_of_range("no ceiling " + std::string(resource));
}

// As if measured at `factor` times the rate.
inline void scale(Measurement& m, double factor) {
  if (m.value) *m.value *= factor;
  for (double& time_s : m.samples_s) time_s /= factor;
  if (!m.summary) return;
  Summary& s = *m.summary;
  for (double* time_s : {&s.median, &s.ci_low, &s.ci_high, &s.min, &s.max}) *time_s /= factor;
}

// As if these figures had been measured at `factor` times the rate.
inline void scale(Profile& profile, double factor,
                  const std::function<bool(const Ceiling&)>& which) {
  for (Ceiling& row : profile.ceilings) {
    if (row.measurement.empty() || !which(row)) continue;
    row.value *= factor;
    for (Measurement& m : profile.measurements)
      if (m.device == row.device && row.measurement.starts_with(m.id) &&
          m.name() == row.measurement)
        m.value = row.value;
  }
}
inline void scale(Profile& profile, std::string_view resource, Basis basis, double factor) {
  scale(profile, factor,
        [&](const Ceiling& row) { return row.resource == resource && row.basis == basis; });
}

// Gives a device another UUID. before: by value, since it may be that of a row.
inline void rename(Profile& profile, std::string before, const std::string& uuid) {
  const auto rename_in = [&](auto& rows, auto id) {
    for (auto& row : rows)
      if (row.*id == before) row.*id = uuid;
  };
  rename_in(profile.devices, &DeviceFacts::uuid);
  rename_in(profile.measurements, &Measurement::device);
  rename_in(profile.ceilings, &Ceiling::device);
  rename_in(profile.missing_ceilings, &MissingCeiling::device);
  rename_in(profile.findings, &Finding::device);
}

// As on a machine where no GPU was found.
inline void remove_gpus(Profile& profile) {
  profile.devices.clear();
  std::erase_if(profile.measurements, [](const Measurement& m) { return m.device != kHostDevice; });
}

// nullptr without one.
inline const Finding* finding(const Profile& profile, std::string_view code) {
  const auto found = std::ranges::find(profile.findings, code, &Finding::code);
  return found == profile.findings.end() ? nullptr : &*found;
}

// Derives conclusions again; measurements keep their flags.
inline Profile derived(Profile p) {
  Ceilings ceilings = derive_ceilings(p, benchmarks());
  p.resources = std::move(ceilings.resources);
  p.ceilings = std::move(ceilings.rows);
  p.missing_ceilings = std::move(ceilings.missing);
  p.ceilings = with_factors(p, benchmarks());
  p.rooflines = derive_rooflines(p, benchmarks());
  p.headlines = derive_headlines(p);
  p.curves = derive_curves(p, benchmarks());
  p.findings = derive_findings(p, benchmarks());
  return p;
}

// A full run on an H200 with rounded figures; measurements from tests/golden/h200.json.
inline const Profile& h200_run() {
  static const Profile kRun = derived(read_profile(PEAKLINE_SOURCE_DIR "/tests/golden/h200.json"));
  return kRun;
}

inline DeviceFacts h200() { return h200_run().devices[0]; }

// A measured profile: "nvidia-h200", as published once, since tests know its figures, or
// "nvidia-h200-x2", as published.
inline const Profile& reference(const std::string& name = "nvidia-h200") {
  static std::map<std::string, Profile> read;
  const auto found = read.find(name);
  if (found != read.end()) return found->second;
  const std::string folder = name == "nvidia-h200" ? "/tests/golden/" : "/reports/reference/";
  return read[name] = read_profile(PEAKLINE_SOURCE_DIR + folder + name + ".json");
}

// The profile with conclusions of the whole catalogue.
inline Profile concluded(Profile profile, bool only_quick = false) {
  const bench::Registry registry = catalog_of(profile);
  if (only_quick) {
    profile.mode = "quick";
    std::erase_if(profile.measurements, [&](const Measurement& m) {
      const Benchmark* benchmark = find_benchmark(registry.benchmarks(), m.id);
      return benchmark == nullptr || std::ranges::none_of(benchmark->points, [&](const Point& p) {
               return p.quick && p.params == m.params;
             });
    });
  }
  return with_conclusions(std::move(profile), registry.benchmarks());
}

// The measured host alone.
inline Profile without_gpus() {
  Profile profile = reference();
  remove_gpus(profile);
  return profile;
}

// Changes to a profile, and to parts of one.
using Change = std::function<void(Profile&)>;

inline Change gpu(const std::function<void(DeviceFacts&)>& change) {
  return [change](Profile& run) { change(run.devices[0]); };
}
inline Change host(const std::function<void(HostFacts&)>& change) {
  return [change](Profile& run) { change(run.host); };
}
inline Change at(const char* point, const std::function<void(Measurement&)>& change) {
  return [point, change](Profile& run) { change(find(run, point)); };
}
inline Change everywhere(const std::function<void(Measurement&)>& change) {
  return [change](Profile& run) { std::ranges::for_each(run.measurements, change); };
}
// Of a benchmark's points.
inline Change each(std::string_view id, const std::function<void(Measurement&)>& change) {
  return everywhere([id, change](Measurement& m) {
    if (m.id == id) change(m);
  });
}
inline Change with(const Measurement& m) {
  return [m](Profile& run) { run.measurements.push_back(m); };
}
inline Change all_of(const Change& first, const Change& second) {
  return [=](Profile& run) { first(run), second(run); };
}

// The sample run with a change.
inline Profile run_with(const Change& change) {
  Profile p = h200_run();
  change(p);
  return derived(std::move(p));
}

}  // namespace peakline::sample
