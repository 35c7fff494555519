#include "harness/show/show_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "harness/conclude/sittings.hpp"
#include "harness/show/text_table.hpp"
#include "harness/values/resources.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

// A datasheet that equals the computed peak after rounding adds nothing.
constexpr double kSameFigure = 0.005;

std::string scaled(const std::optional<double>& value, double unit) {
  return value ? format_number(*value / unit) : not_known();
}

// Measured figures are bold unless unreliable.
std::string measured_cell(const std::optional<double>& value, const NextRun& next, double unit) {
  return value ? styled(next.unsure() ? Style::kDim : Style::kBold, scaled(value, unit))
               : not_known();
}

// The reason for a missing figure, below its row.
void add_reason(TextTable& table, const std::string& reason) {
  if (!reason.empty()) table.heading("      " + styled(Style::kDim, reason));
}

// "95.2", for a column headed "%".
std::string percent(const std::optional<double>& value, const std::optional<double>& of) {
  return value && of && *of > 0 ? fmt::format("{:.1f}", *value / *of * 100) : not_known();
}

// "FP16 Tensor Cores, FP16 sums": precision and unit.
std::pair<std::string, std::string> split_label(const std::string& label) {
  const std::size_t blank = std::min(label.find(' '), label.size());
  return {label.substr(0, blank), label.substr(std::min(blank + 1, label.size()))};
}

// "989 @1830": a peak with its clock in MHz.
std::string at_clock(const std::optional<double>& value, const std::optional<double>& clock_hz) {
  if (!value) return not_known();
  std::string text = format_number(*value / kTera);
  if (clock_hz) text += styled(Style::kDim, fmt::format(" @{:.0f}", *clock_hz / 1e6));
  return text;
}

// ", raw 63.0" beside a rate without packet headers.
std::string raw_rate(const BandwidthRow& row) {
  return row.data_rate ? fmt::format(", raw {}", scaled(row.theoretical, kGiga)) : std::string();
}

// Whether the next run may be half as much again, or as much less.
bool far_off(const NextRun& next) {
  constexpr double kHalfAsMuchAgain = 0.4;
  return next.spread && !(next_run_half_width(*next.spread) < kHalfAsMuchAgain);
}

}  // namespace

std::string next_run(const std::optional<double>& measured, const NextRun& next) {
  constexpr double kShown = 0.0005;
  if (!measured || (!next.spread && !next.varies)) return not_known();
  if (next.varies || far_off(next)) return "varies";
  const double half = next.half_width(*measured).value_or(next_run_half_width(*next.spread));
  return half < kShown ? "< 0.1 %" : fmt::format("±{:.1f} %", half * 100);
}

std::string figure_text(double measured, const NextRun& next, std::string_view unit) {
  const std::string text = format_value(measured, unit);
  if (!far_off(next)) return text;
  // Two digits in the unit of three.
  const std::size_t blank = text.find(' ');
  const double number = std::stod(text);
  if (blank == std::string::npos || !(number > 0)) return text;
  const double step = std::pow(10, std::floor(std::log10(number)) - 1);
  return fmt::format("about {:g}{}", std::round(number / step) * step, text.substr(blank));
}

std::string finding_text(Severity severity, std::string_view message, std::size_t width) {
  const auto [label, style] = severity == Severity::kError ? std::pair{"error", Style::kRed}
                              : severity == Severity::kWarning
                                  ? std::pair{"warning", Style::kYellow}
                                  : std::pair{"note", Style::kGreen};
  return hanging("  " + pad_right(styled(style, label), 9), message, width);
}

std::string precision_of(const std::string& label) { return split_label(label).first; }

std::string compute_table(const std::vector<ComputeRow>& rows, const ResourceLabels& labels,
                          std::size_t width) {
  if (rows.empty()) return {};
  // Columns in the order in which they are dropped.
  enum { kNever, kObserved, kPublished, kNextRun, kEfficiency };
  TextTable table({left(2), left(1), right(1), right(2), right(1), right(2, kPublished),
                   right(1, kPublished), right(2, kObserved), right(1, kObserved),
                   right(2, kEfficiency), right(2, kEfficiency), right(2, kNextRun), left(2)});
  const auto clock = std::ranges::find_if(rows, [](const auto& r) { return !!r.max_clock_hz; });
  const std::string peak =
      clock == rows.end() ? "peak" : fmt::format("@{:.0f}", *clock->max_clock_hz / 1e6);
  table.row({"", "", "measured", peak, "%", "published", "%", "observed", "%", "/clk/SM", "T/J",
             "next run", "why not 100 %"});
  // Groups resources by unit, even if the profile separates them.
  std::vector<std::pair<std::string, std::vector<const ComputeRow*>>> groups;
  std::map<std::string, std::size_t> group_of;
  for (const ComputeRow& row : rows) {
    const std::string kind = split_label(labels(row.resource)).second;
    const auto [group, added] = group_of.try_emplace(kind, groups.size());
    if (added) groups.push_back({kind, {}});
    groups[group->second].second.push_back(&row);
  }
  for (const auto& [kind, members] : groups) {
    table.heading("  " + styled(Style::kDim, kind));
    std::string_view previous;
    for (const ComputeRow* r : members) {
      const bool same = r->datasheet && r->peak_at_max_clock &&
                        std::abs(*r->datasheet / *r->peak_at_max_clock - 1) < kSameFigure;
      table.row({r->resource == previous ? "" : split_label(labels(r->resource)).first,
                 basis_label(r->basis), measured_cell(r->measured, r->next_run, kTera),
                 scaled(r->peak_at_max_clock, kTera), percent(r->measured, r->peak_at_max_clock),
                 same ? styled(Style::kDim, "same") : at_clock(r->datasheet, r->datasheet_clock_hz),
                 same ? std::string() : percent(r->measured, r->datasheet),
                 at_clock(r->peak_at_observed_clock, r->observed_clock_hz),
                 percent(r->measured, r->peak_at_observed_clock),
                 scaled(r->ops_per_clock_per_sm, 1), scaled(r->flops_per_joule, kTera),
                 next_run(r->measured, r->next_run), r->measured ? r->why : std::string()});
      if (!r->measured) add_reason(table, r->why);
      previous = r->resource;
    }
  }
  return section("Compute, TFLOP/s", "dense, FMA = 2 FLOP; peaks at the clock after @, in MHz",
                 width) +
         table.render(width);
}

std::string mfu_table(const DeviceOverview& gpu, const ResourceLabels& labels, std::size_t width) {
  std::vector<std::string> resources;
  for (const ComputeRow& row : gpu.compute) {
    const std::string_view unit = part_of(row.resource);
    const bool loaded = row.basis == Basis::kBurst || row.basis == Basis::kSustained;
    if (loaded && row.measured && (unit == "tensor" || unit == "gemm") &&
        std::ranges::find(resources, row.resource) == resources.end())
      resources.push_back(row.resource);
  }
  if (resources.empty()) return {};
  // Columns in the order in which they are dropped.
  enum { kNever, kShares, kBurst };
  TextTable table({left(2), right(2), right(2, kBurst), right(1, kBurst), right(2),
                   right(1, kShares), right(2), right(1, kShares)});
  table.row({"", "published", "burst", "%", "achievable", "%", "model", "%"});
  bool any_computed = false;
  for (const std::string& resource : resources) {
    const ComputeRow& known = *std::ranges::find(gpu.compute, resource, &ComputeRow::resource);
    const bool computed = !known.datasheet && known.peak_at_max_clock;
    const auto peak = computed ? known.peak_at_max_clock : known.datasheet;
    const std::string published = scaled(peak, kTera);
    std::vector<std::string> cells = {labels(resource),
                                      computed ? "(" + published + ")" : published};
    for (const Basis basis : {Basis::kBurst, Basis::kSustained, Basis::kModelShaped}) {
      const ComputeRow* row = gpu.find_compute(resource, basis);
      const bool there = row != nullptr && row->measured;
      cells.push_back(there ? measured_cell(row->measured, row->next_run, kTera) : not_known());
      cells.push_back(there ? percent(row->measured, peak) : "");
    }
    table.row(std::move(cells));
    any_computed = any_computed || computed;
  }
  std::string text = section("Peaks for MFU, TFLOP/s",
                             "burst: large GEMMs from rest; achievable: the same, sustained; "
                             "model: a transformer's layers, sustained",
                             width) +
                     table.render(width);
  if (any_computed)
    text += hanging("  ",
                    "In brackets: computed from units and clocks; what is published is not known.",
                    width);
  return text;
}

std::string host_table(const DeviceOverview& host, const ResourceLabels& labels,
                       std::size_t width) {
  TextTable table({left(2), right(2), right(2), left(2, 1)});
  const auto add = [&](const auto& row, std::string_view unit, const std::string& notes) {
    const Style style = row.next_run.unsure() ? Style::kDim : Style::kBold;
    table.row(
        {labels(row.resource),
         row.measured ? styled(style, figure_text(*row.measured, row.next_run, unit)) : not_known(),
         next_run(row.measured, row.next_run), row.measured ? notes : std::string()});
    if (!row.measured) add_reason(table, notes);
  };
  if (!host.bandwidth.empty() || !host.compute.empty()) table.row({"", "", "next run", ""});
  for (const BandwidthRow& row : host.bandwidth) add(row, "B/s", row.how);
  for (const ComputeRow& row : host.compute) add(row, row.unit, row.why);
  return table.render(width);
}

std::string bandwidth_table(const DeviceOverview& device, const ResourceLabels& labels,
                            std::size_t width) {
  if (device.bandwidth.empty()) return {};
  // Columns in the order in which they are dropped.
  enum { kNever, kPeak, kNotes, kPublished };
  TextTable table({left(2), right(2), right(3, kPeak), right(1), right(3, kPublished),
                   right(1, kPublished), right(2), left(2, kNotes)});
  table.row({"", "measured", "peak", "%", "published", "%", "next run", "notes"});
  for (const BandwidthRow& row : device.bandwidth) {
    // Links are compared with the rate that packet headers leave; notes have the raw rate.
    const auto& peak = row.data_rate ? row.data_rate : row.theoretical;
    table.row({labels(row.resource), measured_cell(row.measured, row.next_run, kGiga),
               scaled(peak, kGiga), percent(row.measured, peak), scaled(row.datasheet, kGiga),
               percent(row.measured, row.datasheet), next_run(row.measured, row.next_run),
               row.measured ? row.how + raw_rate(row) : std::string()});
    if (!row.measured) add_reason(table, row.how);
  }
  const std::string heading =
      device.device == kNodeDevice
          ? section("Between GPUs, GB/s",
                    "each byte once; NCCL: bus bandwidth, as nccl-tests counts", width)
          : section("Memory and host link, GB/s", "bytes read + written; PCIe: each byte once",
                    width);
  return heading + table.render(width);
}

std::string memory_map_table(const std::vector<MemoryLevel>& levels, std::size_t width) {
  // Bandwidths alone are in the table above.
  if (std::ranges::none_of(levels, [](const MemoryLevel& l) { return !!l.latency_s; })) return {};
  const auto shown = [](const std::optional<double>& value, const auto& format) {
    return value ? format(*value) : std::string();
  };
  // Columns in the order in which they are dropped.
  enum { kNever, kLines, kFarPart, kNearPart };
  TextTable table({left(2), right(2), right(2), right(2, kNearPart), right(2, kLines),
                   right(1, kLines), right(2), right(2, kFarPart), right(2)});
  table.row({"", "size", "holds", "near part", "line", "sector", "latency", "far part", "GB/s"});
  for (const MemoryLevel& level : levels) {
    const auto size = [&](double bytes) {
      return format_size(bytes) + (level.per_sm ? "/SM" : "");
    };
    table.row({level.label, shown(level.size_bytes, size), shown(level.held_bytes, size),
               shown(level.near_bytes, size), shown(level.line_bytes, format_size),
               shown(level.sector_bytes, format_size), shown(level.latency_s, format_time),
               shown(level.far_latency_s, format_time),
               shown(level.bytes_per_s, [](double rate) { return format_number(rate / kGiga); })});
  }
  return section("Memory map",
                 "size as stated, the rest measured; GB/s of the fastest access (caches: by "
                 "footprint); latency "
                 "of the near part, if there are two",
                 width) +
         table.render(width);
}

std::string instruction_table(const std::vector<Curve>& curves, std::size_t width) {
  struct Row {
    std::optional<double> rate, documented, cycles;
  };
  std::vector<std::pair<std::string, Row>> rows;  // in the order of the figures
  const auto fill = [&](const char* role, std::optional<double> Row::*field) {
    for (const Figure* figure : figures_with(curves, role)) {
      const auto op = text_param(figure->by, "op");
      if (!op) continue;
      auto row = std::ranges::find(rows, *op, &std::pair<std::string, Row>::first);
      if (row == rows.end()) row = rows.insert(rows.end(), {*op, {}});
      row->second.*field = figure->value;
    }
  };
  fill(role::kResults, &Row::rate);
  fill(role::kDocumentedResults, &Row::documented);
  fill(role::kCycles, &Row::cycles);
  if (rows.empty()) return {};
  TextTable table({left(2), right(2), right(2), right(1), right(2)});
  table.row({"", "measured", "documented", "%", "latency"});
  for (const auto& [op, row] : rows)
    table.row({op, scaled(row.rate, 1), scaled(row.documented, 1),
               percent(row.rate, row.documented), scaled(row.cycles, 1)});
  return section("Instructions", "results per clock and SM; latency in cycles", width) +
         table.render(width);
}

std::string ridge_table(const std::vector<RidgePoint>& points, const ResourceLabels& labels,
                        std::size_t width) {
  if (points.empty()) return {};
  // A column per memory level, a line per compute resource, a figure per basis.
  std::map<std::string_view, std::size_t> column_of, line_of;
  std::map<Basis, std::string> bases;
  for (const RidgePoint& point : points) {
    column_of[point.memory];
    bases[point.compute_basis] = basis_label(point.compute_basis);
  }
  std::vector<std::string> heads = {""};
  for (auto& [memory, column] : column_of) {
    column = heads.size();
    heads.push_back(labels(memory));
  }
  std::vector<std::vector<std::map<Basis, std::string>>> lines;
  std::vector<std::string> names;
  for (const RidgePoint& point : points) {
    const auto [line, added] = line_of.try_emplace(point.compute, lines.size());
    if (added) {
      lines.emplace_back(heads.size());
      names.push_back(labels(point.compute));
    }
    lines[line->second][column_of[point.memory]][point.compute_basis] =
        format_number(point.intensity);
  }
  // The first columns are kept longest.
  std::vector<TextTable::Column> columns = {left(2), right(2)};
  while (columns.size() < heads.size())
    columns.push_back(right(2, static_cast<int>(columns.size())));
  TextTable table(std::move(columns));
  table.row(std::move(heads));
  for (std::size_t line = 0; line < lines.size(); ++line) {
    std::vector<std::string> cells = {names[line]};
    for (std::size_t column = 1; column < lines[line].size(); ++column) {
      std::vector<std::string> figures;
      for (const auto& [basis, label] : bases) {
        const auto found = lines[line][column].find(basis);
        figures.push_back(found == lines[line][column].end() ? not_known() : found->second);
      }
      cells.push_back(joined(figures, " | "));
    }
    table.row(std::move(cells));
  }
  std::vector<std::string> named;
  for (const auto& [basis, label] : bases) named.push_back(label);
  return section("Ridge points, FLOP/byte",
                 fmt::format("{}; memory binds below", fmt::join(named, " | ")), width) +
         table.render(width);
}

}  // namespace peakline
