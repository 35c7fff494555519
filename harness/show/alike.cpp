#include "harness/show/alike.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "harness/show/show_tables.hpp"
#include "harness/show/text_table.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// "GPU 3", "GPUs 0-7", "GPUs 0, 2, 5"
std::string names_of(const std::vector<const DeviceOverview*>& gpus) {
  std::vector<int> indices;
  for (const DeviceOverview* gpu : gpus) indices.push_back(gpu->gpu->index);
  if (indices.size() == 1) return fmt::format("GPU {}", indices[0]);
  std::ranges::sort(indices);
  const bool in_a_row = indices.back() - indices.front() == std::ssize(indices) - 1;
  return in_a_row && indices.size() > 2 ? fmt::format("GPUs {}-{}", indices.front(), indices.back())
                                        : fmt::format("GPUs {}", fmt::join(indices, ", "));
}

std::string value_cell(const ScreenRow& row) {
  if (row.measured.empty()) return not_known();
  const ScreenRow::Of& slowest = row.measured.front();
  return styled(slowest.next_run.unsure() ? Style::kYellow : Style::kBold,
                format_value(slowest.value, row.unit));
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
  for (Alike& group : groups) group.names = names_of(group.devices);
  return groups;
}

void ScreenRow::add(const DeviceOverview& device, const std::optional<double>& value,
                    const std::optional<double>& held_against, const NextRun& next) {
  if (!value) return;
  const auto faster =
      std::ranges::find_if(measured, [&](const Of& of) { return of.value > *value; });
  measured.insert(faster, {&device, *value, held_against, next});
  reference = measured.front().reference;
}

std::string figure_table(const std::vector<ScreenRow>& rows, bool several,
                         const std::string& held_against, std::size_t width) {
  const bool references =
      std::ranges::any_of(rows, [](const ScreenRow& row) { return !!row.reference; });
  std::vector<TextTable::Column> columns = {left(2), right(2)};
  std::vector<std::string> heads = {"", several ? "slowest" : "measured"};
  const auto add_column = [&](const char* head, TextTable::Column column) {
    heads.emplace_back(head);
    columns.push_back(column);
  };
  if (several) add_column("", left(1));
  if (references) {
    add_column(held_against.c_str(), right(2, 2));
    add_column("share", right(2));
  }
  if (several) add_column("spread", right(2));
  add_column("next run", right(2, several ? 1 : 0));
  for (std::string& head : heads) head = styled(Style::kDim, head);
  TextTable table(columns);
  table.row(heads);
  for (const ScreenRow& row : rows) {
    const bool any = !row.measured.empty();
    std::vector<std::string> cells = {row.label, value_cell(row)};
    if (several)
      cells.push_back(any ? fmt::format("GPU {}", row.measured.front().device->gpu->index)
                          : std::string());
    if (references) {
      const std::string reference =
          row.reference ? format_value(*row.reference, row.unit) : not_known();
      cells.push_back(row.computed ? "(" + reference + ")" : reference);
      cells.push_back(any && row.reference
                          ? format_percent(row.measured.front().value / *row.reference)
                          : not_known());
    }
    if (several)
      cells.push_back(
          any ? format_percent(row.measured.back().value / row.measured.front().value - 1)
              : not_known());
    cells.push_back(
        any ? next_run(row.measured.front().value, row.measured.front().next_run, row.unit)
            : not_known());
    table.row(std::move(cells));
    if (!any) table.heading("    " + styled(Style::kDim, row.missing));
  }
  return table.render(width);
}

}  // namespace peakline
