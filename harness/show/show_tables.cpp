#include "harness/show/show_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "harness/core/units.hpp"
#include "harness/show/text_table.hpp"

namespace peakline {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

// A datasheet that agrees with the computed peak to its own rounding says nothing new.
constexpr double kSameFigure = 0.005;

// From this width on, compute rows also say what was done per clock and SM, and per joule.
constexpr std::size_t kWideTable = 120;

std::string scaled(const std::optional<double>& value, double unit) {
  return value ? format_number(*value / unit) : not_known();
}

std::string bold(const std::optional<double>& value, double unit) {
  return value ? styled(Style::kBold, scaled(value, unit)) : not_known();
}

// "95.2", for a column that is headed "%".
std::string percent(const std::optional<double>& value, const std::optional<double>& of) {
  return value && of && *of > 0 ? fmt::format("{:.1f}", *value / *of * 100) : not_known();
}

std::string interval(const std::optional<double>& value, const std::optional<double>& low,
                     const std::optional<double>& high) {
  if (!value || !low || !high || *value <= 0) return not_known();
  const double half = (*high - *low) / 2 / *value * 100;
  return half < 0.05 ? std::string("< 0.1 %") : fmt::format("±{:.1f} %", half);
}

// "FP16 Tensor Cores, FP16 sums": the precision, and what it runs on.
std::pair<std::string, std::string> split_label(const std::string& label) {
  const std::size_t blank = std::min(label.find(' '), label.size());
  return {label.substr(0, blank), label.substr(std::min(blank + 1, label.size()))};
}

// "989 @1830": a peak with the clock (MHz) behind it.
std::string at_clock(const std::optional<double>& value, const std::optional<double>& clock_hz) {
  if (!value) return not_known();
  std::string text = format_number(*value / kTera);
  if (clock_hz) text += styled(Style::kDim, fmt::format(" @{:.0f}", *clock_hz / 1e6));
  return text;
}

}  // namespace

std::string compute_table(const std::vector<ComputeRow>& rows, const ResourceLabels& labels,
                          std::size_t width) {
  if (rows.empty()) return {};
  const bool wide = width >= kWideTable;
  std::vector<TextTable::Column> columns = {left(2),  left(1),  right(1), right(2), right(1),
                                            right(2), right(1), right(2), right(1), left(2)};
  if (wide) columns.insert(columns.end() - 1, {right(2), right(2)});
  TextTable table(std::move(columns));
  const auto add = [&](std::vector<std::string> cells, std::string per_clock,
                       std::string per_joule) {
    if (wide) cells.insert(cells.end() - 1, {std::move(per_clock), std::move(per_joule)});
    table.row(std::move(cells));
  };
  const auto clock = std::ranges::find_if(rows, [](const auto& r) { return !!r.max_clock_hz; });
  add({"", "", "measured",
       clock == rows.end() ? "peak" : fmt::format("@{:.0f}", *clock->max_clock_hz / 1e6), "%",
       "datasheet", "%", "observed", "%", "why not 100 %"},
      "/clk/SM", "T/J");
  std::string group;
  std::string_view previous;
  for (const ComputeRow& row : rows) {
    auto [precision, kind] = split_label(labels(row.resource));
    if (kind != group) table.heading("  " + styled(Style::kDim, kind));
    group = std::move(kind);
    const bool same = row.datasheet && row.peak_at_max_clock &&
                      std::abs(*row.datasheet / *row.peak_at_max_clock - 1) < kSameFigure;
    add({row.resource == previous ? "" : precision, basis_label(row.basis),
         bold(row.measured, kTera), scaled(row.peak_at_max_clock, kTera),
         percent(row.measured, row.peak_at_max_clock),
         same ? styled(Style::kDim, "same") : at_clock(row.datasheet, row.datasheet_clock_hz),
         same ? std::string() : percent(row.measured, row.datasheet),
         at_clock(row.peak_at_observed_clock, row.observed_clock_hz),
         percent(row.measured, row.peak_at_observed_clock), row.why},
        scaled(row.ops_per_clock_per_sm, 1), scaled(row.flops_per_joule, kTera));
    previous = row.resource;
  }
  return section("Compute, TFLOP/s", "dense, FMA = 2 FLOP; peaks at the clock after @, in MHz") +
         table.render(width);
}

std::string host_table(const DeviceOverview& host, const ResourceLabels& labels,
                       std::size_t width) {
  TextTable table({left(2), right(2), right(2), left(2)});
  const auto add = [&](const auto& row, std::string_view unit, const std::string& notes) {
    table.row({labels(row.resource),
               row.measured ? styled(Style::kBold, format_rate(*row.measured, unit)) : not_known(),
               interval(row.measured, row.ci_low, row.ci_high), notes});
  };
  for (const BandwidthRow& row : host.bandwidth) add(row, "B/s", row.how);
  for (const ComputeRow& row : host.compute) add(row, row.unit, row.why);
  return table.render(width);
}

std::string bandwidth_table(const std::vector<BandwidthRow>& rows, const ResourceLabels& labels,
                            std::size_t width) {
  if (rows.empty()) return {};
  TextTable table({left(2), right(2), right(3), right(1), right(3), right(1), right(2), left(2)});
  table.row({"", "measured", "peak", "%", "datasheet", "%", "interval", "notes"});
  for (const BandwidthRow& row : rows) {
    table.row({labels(row.resource), bold(row.measured, kGiga), scaled(row.theoretical, kGiga),
               percent(row.measured, row.theoretical), scaled(row.datasheet, kGiga),
               percent(row.measured, row.datasheet),
               interval(row.measured, row.ci_low, row.ci_high), row.how});
  }
  return section("Memory and host link, GB/s",
                 "bytes read + written; peak: memory clock x bus width or raw link rate") +
         table.render(width);
}

std::string ridge_table(const std::vector<RidgePoint>& points, const ResourceLabels& labels,
                        std::size_t width) {
  if (points.empty()) return {};
  std::vector<TextTable::Column> columns = {left(2), left(1)};
  std::vector<std::string> kinds = {"", ""}, precisions = {"", ""};
  std::map<std::string_view, std::size_t> column_of;  // by compute resource
  for (const RidgePoint& point : points) {
    if (!column_of.try_emplace(point.compute, columns.size()).second) continue;
    columns.push_back(right(2));
    auto [precision, kind] = split_label(labels(point.compute));
    precisions.push_back(std::move(precision));
    kinds.push_back(kind.substr(0, kind.find(' ')));
  }
  // Memory levels together, each with its bases in the order of the points.
  std::map<std::pair<std::string_view, Basis>, std::size_t> line_of;
  std::vector<std::pair<std::string_view, std::vector<std::string>>> lines;
  for (const RidgePoint& point : points) {
    const auto [line, added] =
        line_of.try_emplace({point.memory, point.compute_basis}, lines.size());
    if (added) {
      lines.push_back({point.memory, std::vector<std::string>(columns.size(), not_known())});
      lines.back().second[0] = labels(point.memory);
      lines.back().second[1] = basis_label(point.compute_basis);
    }
    lines[line->second].second[column_of[point.compute]] = format_number(point.intensity);
  }
  std::ranges::stable_sort(lines, {}, [](const auto& line) { return line.first; });
  TextTable table(std::move(columns));
  table.row(std::move(kinds));
  table.row(std::move(precisions));
  std::string_view previous;
  for (auto& [memory, cells] : lines) {
    if (memory == previous) cells[0].clear();
    previous = memory;
    table.row(std::move(cells));
  }
  return section("Ridge points, FLOP/byte", "bandwidth-bound below, compute-bound above") +
         table.render(width);
}

}  // namespace peakline
