#include "harness/show/alike.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/conclude/headlines.hpp"
#include "harness/judge/rules.hpp"
#include "harness/show/show_tables.hpp"
#include "harness/show/text_table.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

auto has(std::optional<double> FigureRow::*field) {
  return [field](const FigureRow& row) { return (row.*field).has_value(); };
}

std::string value_cell(const FigureRow& row) {
  if (row.measured.empty()) return not_known();
  const FigureRow::Of& slowest = row.measured.front();
  return styled(slowest.next_run.unsure() ? Style::kYellow : Style::kBold,
                figure_text(slowest.value, slowest.next_run, row.unit));
}

}  // namespace

std::vector<Alike> alike_gpus(const Overview& content, bool in_all) {
  std::vector<Alike> groups;
  for (const DeviceOverview& device : content.devices) {
    if (device.gpu == nullptr) continue;
    const auto found = std::ranges::find_if(groups, [&](const Alike& group) {
      const DeviceOverview& other = group.first();
      return other.gpu->name == device.gpu->name &&
             (!in_all ||
              (other.traits == device.traits && other.gpu->unusable == device.gpu->unusable));
    });
    if (found == groups.end())
      groups.push_back({.names = {}, .devices = {&device}});
    else
      found->devices.push_back(&device);
  }
  for (Alike& group : groups) {
    std::vector<int> indices;
    for (const DeviceOverview* device : group.devices) indices.push_back(device->gpu->index);
    group.names = gpus_label(std::move(indices));
  }
  return groups;
}

void FigureRow::add(const DeviceOverview& device, const std::optional<double>& value,
                    const std::optional<double>& held_against, const NextRun& next) {
  if (!value) return;
  const auto faster =
      std::ranges::find_if(measured, [&](const Of& of) { return of.value > *value; });
  measured.insert(faster, {&device, *value, held_against, next});
  reference = measured.front().reference;
}

Headlines headlines_of(const Alike& group) {
  std::vector<const HeadlineFigure*> ordered;
  for (const HeadlineFigure& headline : group.first().headlines)
    if (rule_group_of(headline.resource) != RuleGroup::kHostLink) ordered.push_back(&headline);
  const auto known = known_resources();
  std::ranges::stable_sort(ordered, {}, [&](const HeadlineFigure* headline) {
    return std::ranges::find(known, headline->resource, &Resource::name) - known.begin();
  });
  Headlines result;
  for (const HeadlineFigure* headline : ordered) {
    FigureRow row{.label = headline->label,
                  .unit = headline->unit,
                  .reference = headline->reference,
                  .computed = group.first().gpu != nullptr &&
                              headline->reference_name == to_string(Basis::kTheoretical),
                  .missing = headline->missing};
    for (const DeviceOverview* device : group.devices) {
      const auto same = std::ranges::find_if(device->headlines, [&](const HeadlineFigure& other) {
        return other.resource == headline->resource && other.basis == headline->basis;
      });
      if (same == device->headlines.end()) continue;
      row.add(*device, same->value, same->reference, same->next_run);
      if (row.unit.empty()) row.unit = same->unit;
    }
    if (row.measured.empty() && !headline->absence)
      result.left_out.push_back(row.label);
    else
      result.rows.push_back(std::move(row));
  }
  return result;
}

void add_figures(Screen::Section& section, const std::vector<FigureRow>& rows, bool several,
                 const std::string& held_against) {
  const bool references = std::ranges::any_of(rows, has(&FigureRow::reference));
  const bool healthy = std::ranges::any_of(rows, has(&FigureRow::healthy_from));
  const auto column = [&](std::string head, TextTable::Column shape) {
    section.columns.push_back({std::move(head), shape});
  };
  column(several ? "slowest" : "measured", right(2));
  if (several) column("", left(1));
  if (references) {
    column(held_against, right(2, 3));
    column("share", right(2));
  }
  if (healthy) column("healthy from", right(2, several ? 1 : 0));
  if (several) column("spread", right(2));
  column("next run", right(2, several ? 2 : 0));
  for (const FigureRow& row : rows) {
    const auto known = [](bool is, auto&& text) { return is ? text() : not_known(); };
    const FigureRow::Of* slowest = row.measured.empty() ? nullptr : &row.measured.front();
    std::vector<std::string> cells = {value_cell(row)};
    if (several) cells.push_back(slowest ? fmt::format("GPU {}", slowest->device->gpu->index) : "");
    if (references) {
      const std::string reference =
          known(!!row.reference, [&] { return format_value(*row.reference, row.unit); });
      cells.push_back(row.computed ? "(" + reference + ")" : reference);
      cells.push_back(known(slowest && row.reference,
                            [&] { return format_percent(slowest->value / *row.reference); }));
    }
    if (healthy)
      cells.push_back(
          known(!!row.healthy_from, [&] { return format_value(*row.healthy_from, row.unit); }));
    if (several)
      cells.push_back(known(
          slowest, [&] { return format_percent(row.measured.back().value / slowest->value - 1); }));
    cells.push_back(known(slowest, [&] { return next_run(slowest->value, slowest->next_run); }));
    section.rows.push_back({row.label, std::move(cells)});
    if (!slowest) section.notes.push_back(fmt::format("{}: {}.", row.label, row.missing));
  }
}

}  // namespace peakline
