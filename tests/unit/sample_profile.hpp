#pragma once

// A full run on an H200, for tests to modify.

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/conclude/ceilings.hpp"
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

inline Measurement compute(std::string id, const char* load, double value, double clock_hz,
                           double power_w = 450, bool power_capped = false) {
  auto m = measurement(std::move(id), {{"load", std::string(load)}}, Quantity::kFlopRate, value);
  m.conditions.sm_clock_hz = clock_hz;
  m.conditions.sm_clock_source = ClockSource::kKernel;
  m.conditions.power_w = power_w;
  m.conditions.temperature_c = 55;
  if (power_capped) {
    m.flags.throttled = true;
    m.conditions.throttle_reasons = {"sw_power_cap"};
  }
  return m;
}

inline Measurement& find(Profile& profile, std::string_view name) {
  for (Measurement& m : profile.measurements) {
    if (m.name() == name) return m;
  }
  throw std::out_of_range("no measurement " + std::string(name));
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

// With a change.
template <class Change>
Profile run_with(Change change) {
  Profile p = h200_run();
  change(p);
  return derived(std::move(p));
}

}  // namespace peakline::sample
