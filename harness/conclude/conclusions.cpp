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
#include "harness/values/device_view.hpp"

namespace peakline {
namespace {

// The highest link that was read while data moved.
void add_link_under_load(DeviceFacts& device, const std::vector<Measurement>& measurements) {
  for (const Measurement& m : measurements) {
    const auto& [generation, width] =
        std::pair(m.conditions.pcie_generation, m.conditions.pcie_width);
    if (m.device != device.uuid || !generation || !width) continue;
    if (!device.pcie_read_under_load) device.pcie.generation = device.pcie.width = 0;
    device.pcie_read_under_load = true;
    device.pcie.generation = std::max(device.pcie.generation, generation);
    device.pcie.width = std::max(device.pcie.width, width);
  }
}

void flag_implausible(Profile& profile, Benchmarks benchmarks) {
  for (Measurement& m : profile.measurements) {
    const DeviceFacts* device = facts_for(profile, m);
    if (device == nullptr || find_benchmark(benchmarks, m.id) == nullptr) continue;
    m.flags.implausible = implausible(m, *device, benchmarks);
  }
}

// Figures that have no interval because of what they themselves scatter by. What runs are known to
// differ by, of a host in a virtual machine, is no fault of this one.
void flag_boundless(Profile& profile) {
  std::set<std::pair<std::string_view, std::string_view>> boundless;
  for (const Ceiling& row : profile.ceilings) {
    if (!row.spread) continue;
    RunSpread own = *row.spread;
    own.runs = 0;
    if (next_run_half_width(own) > kWidestHalfWidth) boundless.emplace(row.device, row.measurement);
  }
  if (boundless.empty()) return;
  for (Measurement& m : profile.measurements)
    if (const std::string name = m.name(); boundless.contains({m.device, name}))
      m.flags.unstable = true;
}

// A clock at which a product would do more per clock than the instructions that it is made of.
void drop_impossible_clocks(Profile& profile) {
  for (Ceiling& row : profile.ceilings) {
    const Ceiling* instruction =
        find_ceiling(profile.ceilings, row.device, row.resource, Basis::kInstruction);
    if (instruction == nullptr || !row.conditions.sm_clock_hz || row.measurement.empty()) continue;
    const PhysicalLimit limit = {
        .value = instruction->value, .how = "", .conditions = instruction->conditions};
    if (!exceeds_at_clock(row.value, limit, *row.conditions.sm_clock_hz)) continue;
    const auto drop = [](Conditions& conditions) {
      conditions.sm_clock_hz.reset();
      conditions.sm_clock_source.reset();
    };
    drop(row.conditions);
    for (Measurement& m : profile.measurements)
      if (m.device == row.device && m.name() == row.measurement) drop(m.conditions);
  }
}

// What is computed has no more digits than what it is computed from. Whole numbers are sizes,
// counts and rates of the specification, which are exact.
void shorten(double& value, int digits = kProfileDigits) {
  if (std::trunc(value) != value) round_digits(value, digits);
}
void shorten(std::optional<double>& value, int digits = kProfileDigits) {
  if (value) shorten(*value, digits);
}
void round_figures(Profile& profile) {
  constexpr int kSpreadDigits = 4;  // an estimate from few sittings and runs
  for (Ceiling& row : profile.ceilings) {
    shorten(row.value);
    shorten(row.ci_low);
    shorten(row.ci_high);
    for (Factor& factor : row.factors) shorten(factor.value);
    if (!row.spread) continue;
    shorten(row.spread->within, kSpreadDigits);
    shorten(row.spread->sittings, kSpreadDigits);
    shorten(row.spread->runs, kSpreadDigits);
  }
  for (Roofline& roofline : profile.rooflines) {
    for (RidgePoint& ridge : roofline.ridge_points) shorten(ridge.intensity);
    for (RooflinePoint& point : roofline.points) {
      shorten(point.intensity);
      shorten(point.flops_per_s);
    }
  }
  for (Curve& curve : profile.curves) {
    for (auto& [name, value] : curve.values) shorten(value);
  }
}

}  // namespace

Profile with_conclusions(Profile profile, Benchmarks benchmarks) {
  for (DeviceFacts& device : profile.devices) add_link_under_load(device, profile.measurements);
  flag_implausible(profile, benchmarks);
  Ceilings ceilings = derive_ceilings(profile, benchmarks);
  profile.resources = std::move(ceilings.resources);
  profile.ceilings = std::move(ceilings.rows);
  profile.missing_ceilings = std::move(ceilings.missing);
  flag_boundless(profile);
  drop_impossible_clocks(profile);
  add_factors(profile, benchmarks);
  profile.rooflines = derive_rooflines(profile, benchmarks);
  profile.headlines = derive_headlines(profile);
  profile.curves = derive_curves(profile, benchmarks);
  profile.findings = derive_findings(profile, benchmarks);
  round_figures(profile);
  profile.memory_map = derive_memory_map(profile);
  return profile;
}

}  // namespace peakline
