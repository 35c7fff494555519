#include "harness/conclude/conclusions.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "harness/conclude/ceilings.hpp"
#include "harness/conclude/curves.hpp"
#include "harness/conclude/factors.hpp"
#include "harness/conclude/findings.hpp"
#include "harness/conclude/headlines.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/conclude/memory_map.hpp"
#include "harness/conclude/sittings.hpp"
#include "harness/conclude/sm_clocks.hpp"
#include "harness/values/device_view.hpp"

namespace peakline {
namespace {

// Sets the highest link that was read while data moved.
DeviceFacts with_link_under_load(DeviceFacts device, const std::vector<Measurement>& measurements) {
  for (const Measurement& m : measurements) {
    const auto& [generation, width] =
        std::pair(m.conditions.pcie_generation, m.conditions.pcie_width);
    if (m.device != device.uuid || !generation || !width || device.c2c) continue;
    if (!device.pcie_read_under_load) device.pcie.generation = device.pcie.width = 0;
    device.pcie_read_under_load = true;
    device.pcie.generation = std::max(device.pcie.generation, generation);
    device.pcie.width = std::max(device.pcie.width, width);
  }
  return device;
}

// By device and name.
using Names = std::set<std::pair<std::string_view, std::string_view>>;

// Measurements whose ceilings lack an interval for their own scatter, not a shared host's.
Names without_interval(const std::vector<Ceiling>& ceilings) {
  Names names;
  for (const Ceiling& row : ceilings) {
    if (!row.spread) continue;
    RunSpread own = *row.spread;
    own.runs = 0;
    if (next_run_half_width(own) > kWidestHalfWidth) names.emplace(row.device, row.measurement);
  }
  return names;
}

// Measurements whose clock implies more GEMM work per clock than the instructions alone reach.
Names with_impossible_clock(const std::vector<Ceiling>& ceilings) {
  Names names;
  for (const Ceiling& row : ceilings) {
    const Ceiling* instruction =
        find_ceiling(ceilings, row.device, row.resource, Basis::kInstruction);
    if (instruction == nullptr || !row.conditions.sm_clock_hz || row.measurement.empty()) continue;
    const PhysicalLimit limit = {
        .value = instruction->value, .how = "", .conditions = instruction->conditions};
    if (exceeds_at_clock(row.value, limit, *row.conditions.sm_clock_hz))
      names.emplace(row.device, row.measurement);
  }
  return names;
}

// Computed values get no more digits than their inputs; integers are exact.
double rounded_figure(double value, int digits = kProfileDigits) {
  if (std::trunc(value) != value) round_digits(value, digits);
  return value;
}
std::optional<double> rounded_figure(std::optional<double> value, int digits = kProfileDigits) {
  return value ? std::optional(rounded_figure(*value, digits)) : value;
}

void round_figures(Ceiling& row) {
  constexpr int kSpreadDigits = 4;  // estimated from few sittings and runs
  row.value = rounded_figure(row.value);
  row.ci_low = rounded_figure(row.ci_low);
  row.ci_high = rounded_figure(row.ci_high);
  for (Factor& factor : row.factors) factor.value = rounded_figure(factor.value);
  if (row.spread) {
    row.spread->within = rounded_figure(row.spread->within, kSpreadDigits);
    row.spread->sittings = rounded_figure(row.spread->sittings, kSpreadDigits);
    row.spread->runs = rounded_figure(row.spread->runs, kSpreadDigits);
    row.spread->step = rounded_figure(row.spread->step, kSpreadDigits);
  }
}

void round_conclusions(Profile& profile) {
  for (Ceiling& row : profile.ceilings) round_figures(row);
  for (Roofline& roofline : profile.rooflines) {
    for (RidgePoint& ridge : roofline.ridge_points)
      ridge.intensity = rounded_figure(ridge.intensity);
    for (RooflinePoint& point : roofline.points) {
      point.intensity = rounded_figure(point.intensity);
      point.flops_per_s = rounded_figure(point.flops_per_s);
    }
  }
  for (Curve& curve : profile.curves)
    for (Figure& figure : curve.figures) figure.value = rounded_figure(figure.value);
}

// Sets links under load and seen clocks; flags implausible measurements.
void check(Profile& profile, Benchmarks benchmarks) {
  for (DeviceFacts& device : profile.devices) {
    device = with_link_under_load(std::move(device), profile.measurements);
    device = with_seen_clock(std::move(device), profile.measurements);
  }
  for (Measurement& m : profile.measurements) {
    const DeviceFacts* device = facts_for(profile, m);
    if (device == nullptr) continue;
    drop_unbelieved_clocks(m, *device);
    if (find_benchmark(benchmarks, m.id) == nullptr) continue;
    m.flags.implausible = implausible(m, *device, benchmarks);
  }
}

// Sets ceilings; marks measurements that these disprove.
void bound(Profile& profile, Benchmarks benchmarks, std::span<const Population> kept) {
  Ceilings ceilings = derive_ceilings(profile, benchmarks, kept);
  const Names unstable = without_interval(ceilings.rows);
  const Names misread = with_impossible_clock(ceilings.rows);
  for (Measurement& m : profile.measurements) {
    const std::string name = m.name();
    m.flags.unstable |= unstable.contains({m.device, name});
    if (misread.contains({m.device, name})) m.conditions = without_clock(std::move(m.conditions));
  }
  for (Ceiling& row : ceilings.rows)
    if (misread.contains({row.device, row.measurement}))
      row.conditions = without_clock(std::move(row.conditions));
  profile.resources = std::move(ceilings.resources);
  profile.ceilings = std::move(ceilings.rows);
  profile.missing_ceilings = std::move(ceilings.missing);
}

}  // namespace

Profile with_conclusions(Profile profile, Benchmarks benchmarks, std::span<const Population> kept) {
  // Each step uses what the ones before it set.
  check(profile, benchmarks);
  bound(profile, benchmarks, kept);
  profile.ceilings = with_factors(profile, benchmarks);
  profile.rooflines = derive_rooflines(profile, benchmarks);
  profile.headlines = derive_headlines(profile);
  std::vector<BrokenTopic> broken;
  profile.curves = derive_curves(profile, benchmarks, &broken);
  round_conclusions(profile);
  profile.findings = derive_findings(profile, benchmarks, broken);
  profile.memory_map = derive_memory_map(profile);
  return profile;
}

}  // namespace peakline
