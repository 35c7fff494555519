#include "harness/show/figures.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/conclude/factors.hpp"
#include "harness/conclude/headlines.hpp"
#include "harness/conclude/sittings.hpp"
#include "harness/show/machine.hpp"
#include "harness/show/verdict_line.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

bool varies(const DeviceView& device, const Ceiling& row) {
  const Measurement* source = device.source(row);
  return source != nullptr && source->flags.unstable;
}

// Whether the next run may be half as much again, or as much less.
bool far_off(const Ceiling& row) {
  constexpr double kHalfAsMuchAgain = 0.4;
  return row.spread && !(next_run_half_width(*row.spread) < kHalfAsMuchAgain);
}

// Share of a link's raw rate besides packet headers, if known.
std::optional<double> packets_share(const Ceiling* row) {
  if (row == nullptr) return std::nullopt;
  const auto packets = std::ranges::find(row->factors, kPacketsFactor, &Factor::name);
  return packets == row->factors.end() ? std::nullopt : std::optional(packets->value);
}

// Published figures take precedence. Computed ones of a GPU's own units are marked; links have no
// published ones.
Cell reference_cell(const DeviceView& device, const FigureKey& of) {
  const Ceiling* row = device.ceiling(of.resource, of.basis);
  const Ceiling* datasheet = device.ceiling(of.resource, Basis::kDatasheet);
  const Ceiling* theoretical = device.ceiling(of.resource, Basis::kTheoretical);
  const Ceiling* reference = datasheet != nullptr ? datasheet : theoretical;
  if (reference == nullptr) return value_cell({}, "");
  const bool computed = datasheet == nullptr && device.facts != nullptr &&
                        rule_group_of(of.resource) != RuleGroup::kHostLink;
  return value_cell(reachable(row, reference), reference->unit,
                    computed ? CellMark::kComputed : CellMark::kNone);
}

}  // namespace

std::optional<double> joules_per_operation(const Ceiling* row) {
  if (row == nullptr || !is_compute(row->unit) || !(row->conditions.power_w.value_or(0) > 0) ||
      !(row->value > 0))
    return std::nullopt;
  return *row->conditions.power_w / row->value;
}

std::string energy_unit(std::string_view rate_unit) {
  return fmt::format("J/{}", rate_unit.substr(0, rate_unit.find('/')));
}

std::optional<double> value_of(const Ceiling* row) {
  return row == nullptr ? std::nullopt : std::optional(row->value);
}

Cell measured_cell(const DeviceView& device, std::string_view resource, Basis basis) {
  const Ceiling* row = device.ceiling(resource, basis);
  if (row == nullptr) {
    const MissingCeiling* missing = device.missing(resource, basis);
    return {.format = Format::kValue,
            .absence = missing == nullptr ? std::nullopt : std::optional(missing->why),
            .missing = missing == nullptr ? std::string(kNotTried) : missing->reason};
  }
  Cell cell = value_cell(row->value, row->unit, far_off(*row) ? CellMark::kAbout : CellMark::kNone);
  const bool unsure = varies(device, *row) || (row->spread && !row->ci_low);
  cell.style = unsure ? Style::kYellow : Style::kBold;
  cell.low = row->ci_low;
  cell.high = row->ci_high;
  return cell;
}

Cell next_run_cell(const DeviceView& device, const Ceiling* row) {
  Cell cell = number_cell(Format::kHalfWidth, {});
  if (row == nullptr) return cell;
  if (varies(device, *row) || far_off(*row)) {
    cell.mark = CellMark::kVaries;
  } else if (row->spread) {
    cell.value = row->ci_low && row->ci_high && row->value > 0
                     ? (*row->ci_high - *row->ci_low) / 2 / row->value
                     : next_run_half_width(*row->spread);
  }
  return cell;
}

std::optional<double> reachable(const Ceiling* row, const Ceiling* theoretical) {
  if (theoretical == nullptr) return std::nullopt;
  return theoretical->value * packets_share(row).value_or(1);
}

std::vector<Alike> alike_gpus(const std::vector<DeviceView>& devices, bool in_all) {
  std::vector<Alike> groups;
  for (const DeviceView& device : devices) {
    if (device.facts == nullptr) continue;
    const auto found = std::ranges::find_if(groups, [&](const Alike& group) {
      const DeviceView& other = group.first();
      return other.facts->name == device.facts->name &&
             (!in_all || (traits_of(other) == traits_of(device) &&
                          other.facts->unusable == device.facts->unusable));
    });
    if (found == groups.end())
      groups.push_back({.names = {}, .devices = {&device}});
    else
      found->devices.push_back(&device);
  }
  for (Alike& group : groups) {
    std::vector<int> indices;
    for (const DeviceView* device : group.devices) indices.push_back(device->facts->index);
    group.names = gpus_label(std::move(indices));
  }
  return groups;
}

std::vector<const DeviceView*> slowest_first(const Alike& group, const FigureKey& of) {
  std::vector<const DeviceView*> measured;
  for (const DeviceView* device : group.devices)
    if (device->ceiling(of.resource, of.basis) != nullptr) measured.push_back(device);
  std::ranges::stable_sort(measured, {}, [&](const DeviceView* device) {
    return device->ceiling(of.resource, of.basis)->value;
  });
  return measured;
}

Table figures_table(std::string key, const Alike& group, std::string against) {
  const bool several = group.several();
  Table table{.key = std::move(key)};
  table.columns = {{.key = "measured", .head = several ? "slowest" : "measured"}};
  if (several) table.columns.push_back({.key = "gpu", .is_text = true, .gap = 1, .attached = true});
  table.columns.insert(
      table.columns.end(),
      {{.key = "reference", .head = std::move(against), .dispensable = 3, .if_any = true},
       {.key = "share", .head = "share", .if_any = true},
       {.key = "healthy_from", .head = "healthy from", .dispensable = 1, .if_any = true}});
  if (several) table.columns.push_back({.key = "spread", .head = "spread"});
  table.columns.push_back({.key = "next_run", .head = "next run", .dispensable = several ? 2 : 0});
  return table;
}

Row figure_row(const Alike& group, std::string label, const FigureKey& of, const Checks& checks) {
  const std::vector<const DeviceView*> measured = slowest_first(group, of);
  const DeviceView& device = measured.empty() ? group.first() : *measured.front();
  const Ceiling* row = device.ceiling(of.resource, of.basis);
  Row shown{.key = to_string(of), .label = std::move(label)};
  shown.cells.push_back(measured_cell(device, of.resource, of.basis));
  if (group.several())
    shown.cells.push_back(
        text_cell(row == nullptr ? "" : fmt::format("GPU {}", device.facts->index)));
  const Cell reference = reference_cell(device, of);
  shown.cells.push_back(reference);
  shown.cells.push_back(share_cell(value_of(row), reference.value));
  const Cell next_run = next_run_cell(device, row);
  const auto healthy = row != nullptr ? healthy_from(checks, device.name(), of) : std::nullopt;
  // A figure that varies is not judged.
  const bool not_judged = !healthy && next_run.mark == CellMark::kVaries;
  shown.cells.push_back(
      value_cell(healthy, reference.unit.empty() && row != nullptr ? row->unit : reference.unit,
                 not_judged ? CellMark::kVaries : CellMark::kNone));
  if (group.several())
    shown.cells.push_back(number_cell(
        Format::kShare,
        row == nullptr
            ? std::nullopt
            : std::optional(measured.back()->ceiling(of.resource, of.basis)->value / row->value -
                            1)));
  shown.cells.push_back(next_run);
  add_verdict(shown, checks, group, of);
  return shown;
}

std::vector<std::string> add_headlines(Table& table, const Alike& group, const Checks& checks) {
  std::vector<const Headline*> ordered;
  for (const Headline* headline : group.first().headlines)
    if (rule_group_of(headline->resource) != RuleGroup::kHostLink) ordered.push_back(headline);
  const auto known = known_resources();
  std::ranges::stable_sort(ordered, {}, [&](const Headline* headline) {
    return std::ranges::find(known, headline->resource, &Resource::name) - known.begin();
  });
  std::vector<std::string> left_out;
  for (const Headline* headline : ordered) {
    Row row = figure_row(group, headline->label, {headline->resource, headline->basis}, checks);
    if (row.cells[0].value || row.cells[0].absence)
      table.rows.push_back(std::move(row));
    else
      left_out.push_back(row.label);
  }
  return left_out;
}

Outcome outcome_of(const Checks& checks, const Alike& group, const FigureKey& of) {
  Outcome worst = Outcome::kPass;
  for (const CheckedDevice* device : checks.devices()) {
    if (std::ranges::find(group.devices, device->uuid, &DeviceView::name) == group.devices.end())
      continue;
    for (const Judged& rule : device->rules)
      if (rule.name.figure == of &&
          (rule.outcome == Outcome::kFail || rule.outcome == Outcome::kWarn))
        worst = std::max(worst, rule.outcome);
  }
  return worst;
}

void add_verdict(Row& row, const Checks& checks, const Alike& group, const FigureKey& of) {
  const Outcome outcome = outcome_of(checks, group, of);
  if (outcome != Outcome::kPass) row.verdict = verdict_word(outcome);
}

std::vector<FigureKey> failing_figures(const Checks& checks, std::string_view uuid) {
  std::vector<FigureKey> failing;
  for (const CheckedDevice* device : checks.devices())
    if (device->uuid == uuid)
      for (const Judged& rule : device->rules)
        if (rule.outcome == Outcome::kFail && rule.name.figure &&
            std::ranges::find(failing, *rule.name.figure) == failing.end())
          failing.push_back(*rule.name.figure);
  return failing;
}

std::optional<double> healthy_from(const Checks& checks, std::string_view uuid,
                                   const FigureKey& of) {
  for (const CheckedDevice* device : checks.devices()) {
    if (device->uuid != uuid) continue;
    for (const Judged& rule : device->rules)
      if (rule.name.figure == of && rule.vouched()) return rule.limit;
  }
  return std::nullopt;
}

Placed placed(const Resource& resource) {
  const Resource* known = find_resource(resource.name);
  if (known != nullptr && !known->engine.empty()) return {known->format, known->engine};
  // A later version's, which stands with others of its part.
  for (const Resource& other : known_resources())
    if (part_of(other.name) == part_of(resource.name) && !other.engine.empty() &&
        !resource.precision.empty())
      return {upper(resource.precision), other.engine};
  return {resource.label, std::string(part_of(resource.name))};
}

}  // namespace peakline
