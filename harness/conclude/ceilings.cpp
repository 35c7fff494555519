#include "harness/conclude/ceilings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "harness/conclude/device_labels.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/conclude/sittings.hpp"
#include "harness/hardware/datasheets.hpp"
#include "harness/hardware/usual_spread.hpp"
#include "harness/statistics/sampling.hpp"
#include "harness/values/device_view.hpp"

namespace peakline {
namespace {

constexpr std::array kMeasuredBases = {Basis::kInstruction, Basis::kMeasured,
                                       Basis::kBurst,       Basis::kSustained,
                                       Basis::kModelBurst,  Basis::kModelShaped};

// A curve point has fewer samples, and the best of several is biased upward: it is a ceiling only
// if none was measured by full timing.
constexpr std::int64_t kFullRuleBlocks = kBlocks / kSittings;  // of the first sitting

bool precise(const Measurement& m) {
  if (!m.summary) return false;
  if (m.sittings.empty()) return m.summary->n >= kFullRuleBlocks;
  std::size_t sittings = 0;
  for (const auto& of_run : m.sittings) sittings += of_run.size();
  // With many sittings, each has as many blocks as fit.
  const auto fit = static_cast<std::int64_t>(kMaxSamples / sittings);
  return m.sittings.front().front() >= std::min(kFullRuleBlocks, fit);
}

// One sitting of a quick run's instruction; a profiled run has one launch.
constexpr std::int64_t kFewestBlocks = 2;

bool usable(const Measurement& m) { return sound(m) && m.summary->n >= kFewestBlocks; }

Absence why_not_usable(const Measurement& m) {
  if (m.status == Status::kSkipped) return Absence::kSkipped;
  if (m.status == Status::kError) return Absence::kFailed;
  if (m.flags.implausible) return Absence::kImplausible;
  if (m.verified == false) return Absence::kWrongResult;
  return Absence::kFewSamples;
}

std::string reason_of(Absence why, const Measurement& m) {
  switch (why) {
    case Absence::kImplausible:
      return "implausible: above what the hardware can do";
    case Absence::kWrongResult:
      return "wrong result";
    case Absence::kFewSamples:
      return "too few samples";
    default:
      return std::string(to_string(why)) + (m.reason.empty() ? "" : ": " + m.reason);
  }
}

// A device's candidates for one ceiling.
struct Tried {
  const Measurement* best = nullptr;   // usable
  const Measurement* first = nullptr;  // counts
  const CeilingRule* rule = nullptr;   // of `best`, else of `first`
};
using TriedCeilings = std::map<std::pair<std::string, Basis>, Tried>;

TriedCeilings tried_on(const Profile& profile, Benchmarks benchmarks, std::string_view name) {
  TriedCeilings all;
  for (const Measurement& m : profile.measurements) {
    if (m.device != name) continue;
    for (const CeilingRule* rule : ceiling_rules(benchmarks, m, facts_for(profile, m))) {
      Tried& tried = all[{rule->resource.name, rule->basis}];
      if (tried.first == nullptr) tried = {.best = nullptr, .first = &m, .rule = rule};
      if (!usable(m)) continue;
      if (tried.best == nullptr ||
          std::pair(precise(m), *m.value) > std::pair(precise(*tried.best), *tried.best->value)) {
        tried.best = &m;
        tried.rule = rule;
      }
    }
  }
  return all;
}

Ceiling measured_row(const Measurement& m, const CeilingRule& rule, const Profile& profile,
                     std::span<const Population> kept) {
  const DeviceFacts* gpu = facts_for(profile, m);
  const bool assumed = gpu != nullptr && !studied(gpu->name);
  KeptSpread of_kept;
  if (gpu != nullptr && m.device == gpu->uuid)
    of_kept = kept_spread(kept, card_facts(*gpu, profile.host), profile.mode, rule.resource.name,
                          rule.basis);
  Ceiling row{
      .device = m.device,
      .resource = rule.resource.name,
      .basis = rule.basis,
      .value = *m.value,
      .unit = rule.resource.unit,
      .ci_low = std::nullopt,
      .ci_high = std::nullopt,
      .spread = spread_of(
          m,
          usual_spread(rule.resource.name, rule.basis, site_of(m.device, profile.host)).run_to_run,
          assumed ? std::string(kStudiedModels[0]) : "", of_kept),
      .conditions = m.conditions,
      .measurement = m.name(),
      .note = rule.note ? rule.note(m) : std::string()};
  if (!m.reason.empty()) row.note += (row.note.empty() ? "" : "; ") + m.reason;
  // Bounds are factors, so that an interval of half the value does not reach zero.
  if (const double half_width = next_run_half_width(*row.spread); half_width <= kWidestHalfWidth) {
    row.ci_low = *m.value / std::exp(half_width);
    row.ci_high = *m.value * std::exp(half_width);
  }
  return row;
}

Ceiling computed_row(std::string device, const Resource& resource, Basis basis, double value,
                     std::string note, Conditions conditions) {
  Ceiling row;
  row.device = std::move(device);
  row.resource = resource.name;
  row.basis = basis;
  row.value = value;
  row.unit = resource.unit;
  row.conditions = std::move(conditions);
  row.note = std::move(note);
  return row;
}

std::optional<Ceiling> datasheet_row(const DeviceFacts& device, const Resource& resource) {
  const DatasheetFigure* figure = datasheet_figure(device, resource.name);
  if (figure == nullptr) return std::nullopt;
  std::string note{find_datasheet(device)->product};
  Conditions conditions;
  if (figure->clock_hz > 0) {
    note += fmt::format(" at {:.0f} MHz", figure->clock_hz / 1e6);
    conditions.sm_clock_hz = figure->clock_hz;
  }
  return computed_row(device.uuid, resource, Basis::kDatasheet, figure->value, note, conditions);
}

// Known ones in display order, then those from registrations.
std::vector<Resource> all_resources(Benchmarks benchmarks) {
  const auto known = known_resources();
  std::vector<Resource> all(known.begin(), known.end());
  for (const Benchmark& benchmark : benchmarks)
    for (const CeilingRule& rule : benchmark.ceilings)
      if (std::ranges::find(all, rule.resource.name, &Resource::name) == all.end())
        all.push_back(rule.resource);
  return all;
}

bool is_measurable(const Resource& resource, Benchmarks benchmarks) {
  return std::ranges::any_of(benchmarks, [&](const Benchmark& benchmark) {
    return std::ranges::any_of(benchmark.ceilings, [&](const CeilingRule& rule) {
      return rule.resource.name == resource.name;
    });
  });
}

// By resource name: theory's limit for compute resources that it knows, else that of the first
// benchmark that feeds the resource.
using LimitsByResource = std::map<std::string, Limit>;

LimitsByResource limits_of_resources(Benchmarks benchmarks) {
  LimitsByResource limits;
  for (const Resource& resource : known_resources())
    if (resource.kind == Resource::Kind::kCompute)
      limits.emplace(resource.name, compute_peak({resource.name.c_str()}));
  for (const Benchmark& benchmark : benchmarks)
    for (const CeilingRule& rule : benchmark.ceilings)
      limits.emplace(rule.resource.name, rule.limit.of ? rule.limit : benchmark.limit);
  return limits;
}

void append_theory(const DeviceFacts& device, const Resource& resource,
                   const LimitsByResource& limits, bool measurable, const TriedCeilings& tried,
                   std::vector<Ceiling>& rows) {
  const char* const unmeasured = measurable ? "" : "; not measured";
  const auto any = std::ranges::find_if(tried, [&](const auto& entry) {
    return entry.first.first == resource.name && entry.second.best != nullptr;
  });
  // Their peaks belong to other resources, which precede them.
  const bool borrowed = resource.kind == Resource::Kind::kCompute && !resource.peak_of.empty();
  if (borrowed && any == tried.end()) return;
  const auto found = limits.find(resource.name);
  if (found != limits.end() && found->second.is_peak()) {
    const auto measured = tried.find({resource.name, Basis::kMeasured});
    const auto limit =
        found->second.of(measured == tried.end() ? nullptr : measured->second.best, device);
    if (limit && limit->peak) {
      rows.push_back(computed_row(device.uuid, resource, Basis::kTheoretical, limit->value,
                                  limit->how + unmeasured, limit->conditions));
    }
  }
  if (auto row = datasheet_row(device, resource)) {
    row->note += unmeasured;
    rows.push_back(std::move(*row));
  }
}

// A node has theory only for measured resources, by the GPUs they were measured on.
void append_node_theory(const Profile& profile, const Resource& resource, Benchmarks benchmarks,
                        const TriedCeilings& tried, std::vector<Ceiling>& rows) {
  const auto found = tried.find({resource.name, Basis::kMeasured});
  if (found == tried.end() || found->second.best == nullptr) return;
  const Measurement& m = *found->second.best;
  const Benchmark* benchmark = find_benchmark(benchmarks, m.id);
  const DeviceFacts* device = facts_for(profile, m);
  if (!benchmark->limit.is_peak() || device == nullptr) return;
  if (const auto limit = benchmark->limit.of(&m, *device))
    rows.push_back(computed_row(m.device, resource, Basis::kTheoretical, limit->value, limit->how,
                                limit->conditions));
}

// A device's slopes: per memory level, the measured resource of the lowest rank.
std::vector<const Ceiling*> slopes_of(const Profile& profile, Benchmarks benchmarks,
                                      std::string_view device) {
  std::vector<std::pair<const Ceiling*, Resource>> best;
  for (const Resource& resource : all_resources(benchmarks)) {
    const Ceiling* row = find_ceiling(profile.ceilings, device, resource.name, Basis::kMeasured);
    if (row == nullptr || resource.slope_rank == 0) continue;
    const auto level = std::ranges::find_if(best, [&](const auto& entry) {
      return part_of(entry.second.name) == part_of(resource.name);
    });
    if (level == best.end()) {
      best.emplace_back(row, resource);
    } else if (resource.slope_rank < level->second.slope_rank) {
      *level = {row, resource};
    }
  }
  std::vector<const Ceiling*> slopes;
  for (const auto& [row, resource] : best) slopes.push_back(row);
  return slopes;
}

std::vector<const Ceiling*> roofs_of(const Profile& profile, std::string_view device) {
  std::vector<const Ceiling*> roofs;
  for (const Ceiling& row : profile.ceilings) {
    const bool measured = row.basis == Basis::kMeasured || row.basis == Basis::kBurst ||
                          row.basis == Basis::kSustained;
    const Resource* resource = find_resource(profile, row.resource);
    if (row.device == device && measured && resource != nullptr &&
        resource->kind == Resource::Kind::kCompute) {
      roofs.push_back(&row);
    }
  }
  return roofs;
}

}  // namespace

Ceilings derive_ceilings(const Profile& profile, Benchmarks benchmarks,
                         std::span<const Population> kept) {
  const std::vector<Resource> resources = all_resources(benchmarks);
  const LimitsByResource limits = limits_of_resources(benchmarks);
  Ceilings result;
  const auto append_device = [&](const DeviceFacts* device, const std::string& name) {
    const TriedCeilings tried = tried_on(profile, benchmarks, name);
    for (const Resource& resource : resources) {
      if (device != nullptr)
        append_theory(*device, resource, limits, is_measurable(resource, benchmarks), tried,
                      result.rows);
      if (name == kNodeDevice)
        append_node_theory(profile, resource, benchmarks, tried, result.rows);
      for (const Basis basis : kMeasuredBases) {
        const auto found = tried.find({resource.name, basis});
        if (found == tried.end()) continue;
        if (found->second.best != nullptr) {
          result.rows.push_back(
              measured_row(*found->second.best, *found->second.rule, profile, kept));
        } else {
          const Measurement& first = *found->second.first;
          const Absence why = why_not_usable(first);
          result.missing.push_back({.device = name,
                                    .resource = resource.name,
                                    .basis = basis,
                                    .why = why,
                                    .reason = reason_of(why, first)});
        }
      }
    }
  };
  for (const DeviceFacts& device : profile.devices) append_device(&device, device.uuid);
  append_device(nullptr, std::string(kNodeDevice));
  append_device(nullptr, std::string(kHostDevice));

  std::set<std::string_view> occur;
  for (const Ceiling& row : result.rows) occur.insert(row.resource);
  for (const MissingCeiling& row : result.missing) occur.insert(row.resource);
  for (const Resource& resource : resources)
    if (occur.contains(resource.name)) {
      result.resources.push_back(resource);
      result.resources.back().label = label_in(resource, profile);
    }
  return result;
}

std::vector<Roofline> derive_rooflines(const Profile& profile, Benchmarks benchmarks) {
  std::vector<std::string> names;
  for (const DeviceFacts& device : profile.devices) names.push_back(device.uuid);
  names.emplace_back(kHostDevice);

  std::vector<Roofline> rooflines;
  for (const std::string& name : names) {
    const auto slopes = slopes_of(profile, benchmarks, name);
    const auto roofs = roofs_of(profile, name);
    if (slopes.empty() || roofs.empty()) continue;
    Roofline& roofline = rooflines.emplace_back();
    roofline.device = name;
    for (const Ceiling* slope : slopes) roofline.memory.push_back(slope->resource);
    for (const Ceiling* roof : roofs) {
      if (std::ranges::find(roofline.compute, roof->resource) == roofline.compute.end())
        roofline.compute.push_back(roof->resource);
      for (const Ceiling* slope : slopes) {
        roofline.ridge_points.push_back({.compute = roof->resource,
                                         .memory = slope->resource,
                                         .compute_basis = roof->basis,
                                         .memory_basis = slope->basis,
                                         .intensity = roof->value / slope->value});
      }
    }
    for (const Measurement& m : profile.measurements) {
      if (m.device != name || !usable(m)) continue;
      const Benchmark* benchmark = find_benchmark(benchmarks, m.id);
      // Logarithmic axes exclude points without arithmetic.
      if (benchmark == nullptr || benchmark->roofline_precision.empty() || m.work.flops <= 0 ||
          m.work.bytes() <= 0) {
        continue;
      }
      roofline.points.push_back({.measurement = m.name(),
                                 .precision = benchmark->roofline_precision,
                                 .intensity = m.work.flops / m.work.bytes(),
                                 .flops_per_s = *m.value});
    }
  }
  return rooflines;
}

const Resource* find_resource(const Profile& profile, std::string_view name) {
  const auto found = std::ranges::find(profile.resources, name, &Resource::name);
  return found == profile.resources.end() ? nullptr : &*found;
}

}  // namespace peakline
