#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "harness/core/labels.hpp"
#include "harness/core/units.hpp"
#include "harness/show/overview.hpp"
#include "harness/show/show.hpp"
#include "harness/show/text_table.hpp"

namespace peakline {
namespace {

using Align = TextTable::Align;

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

// A datasheet that agrees with the computed peak to its own rounding says nothing new.
constexpr double kSameFigure = 0.005;

// From this width on, compute rows also say what was done per clock and SM, and per joule.
constexpr std::size_t kWideTable = 120;

// Five headlines fill a terminal of 100 columns.
constexpr std::size_t kHeadlineColumns = 19;

std::string dash() { return styled(Style::kDim, kNotKnown); }

std::string scaled(const std::optional<double>& value, double unit) {
  return value ? format_number(*value / unit) : dash();
}

// "95.2", for a column that is headed "%".
std::string percent(const std::optional<double>& value, const std::optional<double>& of) {
  return value && of && *of > 0 ? fmt::format("{:.1f}", *value / *of * 100) : dash();
}

std::string interval(const std::optional<double>& value, const std::optional<double>& low,
                     const std::optional<double>& high) {
  if (!value || !low || !high || *value <= 0) return dash();
  const double half = (*high - *low) / 2 / *value * 100;
  return half < 0.05 ? std::string("< 0.1 %") : fmt::format("±{:.1f} %", half);
}

std::string section(std::string_view title, std::string_view remark = {}) {
  std::string line = styled(Style::kBold, title);
  if (!remark.empty()) line += styled(Style::kDim, fmt::format("  {}", remark));
  return line + '\n';
}

std::string join_known(const std::vector<std::string>& parts) {
  std::vector<std::string> known;
  std::ranges::copy_if(parts, std::back_inserter(known), [](const auto& p) { return !p.empty(); });
  return fmt::format("{}", fmt::join(known, " · "));
}

// "2026-11-20T20:17:00Z" -> "2026-11-20 20:17 UTC"
std::string date(std::string_view created) {
  constexpr std::string_view kForm = "2026-11-20T20:17:00Z";
  if (created.size() != kForm.size() || created[10] != 'T') return std::string(created);
  return fmt::format("{} {} UTC", created.substr(0, 10), created.substr(11, 5));
}

std::string named(std::string_view name, std::string_view version) {
  return version.empty() ? std::string() : fmt::format("{} {}", name, version);
}

std::string header(const Profile& p, const Overview& content, std::size_t width) {
  const auto line = [&](const std::vector<std::string>& parts) {
    const std::string text = join_known(parts);
    return text.empty() ? std::string() : hanging("", text, width);
  };
  std::string text = styled(Style::kBold, p.tool);
  text += " · " + join_known({p.mode.empty() ? "" : p.mode + " run", date(p.created),
                              fmt::format("took {}", format_time(p.duration_s))});
  text += '\n';
  const HostFacts& host = p.host;
  std::string cpu = host.cpu_model;
  if (!cpu.empty() && host.sockets.value_or(1) > 1)
    cpu = fmt::format("{} x {}", *host.sockets, cpu);
  if (!cpu.empty() && host.cores) cpu += fmt::format(", {} cores", *host.cores);
  text += line({host.hostname, cpu, host.memory_bytes ? format_size(*host.memory_bytes) : "",
                host.os, host.virtualization});
  const SoftwareFacts& software = p.software;
  text += line({named("driver", software.driver), named("CUDA", software.cuda_runtime),
                named("cuBLASLt", software.cublaslt),
                named("peakline revision", software.git_revision)});
  if (!p.complete) {
    text += styled(Style::kYellow,
                   fmt::format("PARTIAL RUN: {} measured, {} skipped, {} failed; what is missing "
                               "shows as {}.",
                               content.ok, content.skipped, content.failed, kNotKnown)) +
            '\n';
  }
  return text;
}

std::string headlines(const std::vector<HeadlineFigure>& figures) {
  std::vector<std::string> rows(3, "  ");
  for (const HeadlineFigure& figure : figures) {
    std::string value = dash();
    std::string below = figure.missing.substr(0, figure.missing.find(':'));
    if (figure.value) {
      value = styled(Style::kBold, format_value(*figure.value, figure.unit));
      below.clear();
      if (figure.reference) {
        // The reference in the unit of the figure, without repeating it.
        const std::string reference = format_value(*figure.reference, figure.unit);
        below = fmt::format("{:.1f} % of {}", *figure.value / *figure.reference * 100,
                            reference.substr(0, reference.find(' ')));
      }
    }
    if (text_width(below) >= kHeadlineColumns) below = "see below";
    rows[0] += pad_right(styled(Style::kDim, figure.label), kHeadlineColumns);
    rows[1] += pad_right(value, kHeadlineColumns);
    rows[2] += pad_right(styled(Style::kDim, below), kHeadlineColumns);
  }
  std::string text;
  for (std::string& row : rows) {
    row.erase(row.find_last_not_of(' ') + 1);
    if (!row.empty()) text += row + '\n';
  }
  return text;
}

std::string_view group_of(std::string_view resource) {
  if (resource.starts_with("cuda_core.")) return "CUDA cores, instructions in registers";
  if (resource.starts_with("gemm.")) return "CUDA cores, matrix product (cuBLASLt)";
  if (resource.starts_with("tensor.")) return "Tensor Cores, dense";
  return "CPU";
}

std::string precision_of(std::string_view resource) {
  const std::string label = resource_label(resource);
  return label.substr(0, label.find(' '));
}

// "989 @1830": a peak with the clock (MHz) behind it.
std::string at_clock(const std::optional<double>& value, const std::optional<double>& clock_hz) {
  if (!value) return dash();
  std::string text = format_number(*value / kTera);
  if (clock_hz) text += styled(Style::kDim, fmt::format(" @{:.0f}", *clock_hz / 1e6));
  return text;
}

std::string compute_table(const std::vector<ComputeRow>& rows, std::size_t width) {
  if (rows.empty()) return {};
  std::vector<TextTable::Column> columns = {
      {Align::kLeft, 2},  {Align::kLeft, 1},  {Align::kRight, 1}, {Align::kRight, 2},
      {Align::kRight, 1}, {Align::kRight, 2}, {Align::kRight, 1}, {Align::kRight, 2},
      {Align::kRight, 1}, {Align::kLeft, 2}};
  const bool wide = width >= kWideTable;
  if (wide) columns.insert(columns.end() - 1, {{Align::kRight, 2}, {Align::kRight, 2}});
  TextTable table(columns);
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
  std::string_view group;
  std::string_view previous;
  for (const ComputeRow& row : rows) {
    if (group_of(row.resource) != group) {
      group = group_of(row.resource);
      table.heading("  " + styled(Style::kDim, group));
    }
    const bool same = row.datasheet && row.peak_at_max_clock &&
                      std::abs(*row.datasheet / *row.peak_at_max_clock - 1) < kSameFigure;
    add({row.resource == previous ? "" : precision_of(row.resource), basis_label(row.basis),
         row.measured ? styled(Style::kBold, scaled(row.measured, kTera)) : dash(),
         scaled(row.peak_at_max_clock, kTera), percent(row.measured, row.peak_at_max_clock),
         same ? styled(Style::kDim, "same") : at_clock(row.datasheet, row.datasheet_clock_hz),
         same ? std::string() : percent(row.measured, row.datasheet),
         at_clock(row.peak_at_observed_clock, row.observed_clock_hz),
         percent(row.measured, row.peak_at_observed_clock), row.why},
        scaled(row.ops_per_clock_per_sm, 1), scaled(row.flops_per_joule, kTera));
    previous = row.resource;
  }
  std::string remark = "dense, FMA = 2; peaks at the clock (MHz) after @";
  if (wide) remark += "; measured per clock and SM, and per joule";
  return section("Compute, TFLOP/s", remark) + table.render(width);
}

std::string host_table(const DeviceOverview& host, std::size_t width) {
  TextTable table({{Align::kLeft, 2}, {Align::kRight, 2}, {Align::kRight, 2}, {Align::kLeft, 2}});
  for (const BandwidthRow& row : host.bandwidth) {
    table.row({resource_label(row.resource),
               row.measured ? styled(Style::kBold, format_rate(*row.measured, "B/s")) : dash(),
               interval(row.measured, row.ci_low, row.ci_high), row.how});
  }
  for (const ComputeRow& row : host.compute) {
    table.row({resource_label(row.resource),
               row.measured ? styled(Style::kBold, format_rate(*row.measured, row.unit)) : dash(),
               interval(row.measured, row.ci_low, row.ci_high), row.why});
  }
  return table.render(width);
}

std::string bandwidth_table(const std::vector<BandwidthRow>& rows, std::size_t width) {
  if (rows.empty()) return {};
  TextTable table({{Align::kLeft, 2},
                   {Align::kRight, 2},
                   {Align::kRight, 3},
                   {Align::kRight, 1},
                   {Align::kRight, 3},
                   {Align::kRight, 1},
                   {Align::kRight, 2},
                   {Align::kLeft, 2}});
  table.row({"", "measured", "peak", "%", "datasheet", "%", "interval", "how"});
  for (const BandwidthRow& row : rows) {
    table.row({resource_label(row.resource),
               row.measured ? styled(Style::kBold, scaled(row.measured, kGiga)) : dash(),
               scaled(row.theoretical, kGiga), percent(row.measured, row.theoretical),
               scaled(row.datasheet, kGiga), percent(row.measured, row.datasheet),
               interval(row.measured, row.ci_low, row.ci_high), row.how});
  }
  return section("Memory and host link, GB/s",
                 "bytes read and written; peak: memory clock x bus, raw link rate") +
         table.render(width);
}

// Memory levels and loads down, compute resources across.
std::string ridge_table(const std::vector<RidgePoint>& points, std::size_t width) {
  if (points.empty()) return {};
  std::vector<std::string> resources;
  std::vector<std::pair<std::string, Basis>> lines;
  for (const RidgePoint& point : points) {
    if (std::ranges::find(resources, point.compute) == resources.end()) {
      resources.push_back(point.compute);
    }
    const std::pair line{point.memory, point.compute_basis};
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
  }
  std::ranges::stable_sort(lines, {}, [](const auto& line) { return line.first; });
  std::vector<TextTable::Column> columns = {{Align::kLeft, 2}, {Align::kLeft, 1}};
  std::vector<std::string> kinds = {"", ""};
  std::vector<std::string> precisions = {"", ""};
  for (const std::string& resource : resources) {
    columns.push_back({Align::kRight, 2});
    kinds.emplace_back(resource.starts_with("cuda_core.") ? "CUDA"
                       : resource.starts_with("gemm.")    ? "GEMM"
                       : resource.starts_with("cpu.")     ? "CPU"
                                                          : "Tensor");
    precisions.push_back(precision_of(resource));
  }
  TextTable table(columns);
  table.row(kinds);
  table.row(precisions);
  std::string previous;
  for (const auto& line : lines) {
    const std::string& memory = line.first;
    const Basis basis = line.second;
    std::vector<std::string> cells = {memory == previous ? "" : resource_label(memory),
                                      basis_label(basis)};
    previous = memory;
    for (const std::string& resource : resources) {
      const auto point = std::ranges::find_if(points, [&](const RidgePoint& r) {
        return r.compute == resource && r.memory == memory && r.compute_basis == basis;
      });
      cells.push_back(point == points.end() ? dash() : format_number(point->intensity));
    }
    table.row(cells);
  }
  return section("Ridge points, FLOP/byte", "below: bandwidth is the limit; above: compute") +
         table.render(width);
}

std::string curve_lines(const std::vector<Curve>& curves, std::size_t width) {
  if (curves.empty()) return {};
  constexpr std::size_t kTopicColumns = 16;
  std::string text = section("Curves in brief");
  for (const Curve& curve : curves) {
    text += hanging("  " + pad_right(curve.topic, kTopicColumns), curve.text, width);
  }
  return text;
}

std::string finding_lines(const Profile& p, std::size_t width) {
  std::string text = section("Findings");
  if (p.findings.empty()) return text + "  none\n";
  for (const Finding& finding : p.findings) {
    const auto [label, style] =
        finding.severity == Severity::kError     ? std::pair{"error", Style::kRed}
        : finding.severity == Severity::kWarning ? std::pair{"warning", Style::kYellow}
                                                 : std::pair{"note", Style::kGreen};
    // One device needs no name.
    const bool name = !finding.device.empty() && (p.devices.size() > 1 || finding.device == "host");
    const std::string subject = name ? device_label(p, finding.device) + ": " : std::string();
    text += hanging("  " + pad_right(styled(style, label), 9), subject + finding.message, width);
  }
  return text;
}

}  // namespace

std::string show_text(const Profile& profile, const ShowOptions& options) {
  const Overview content = overview(profile);
  const auto width = static_cast<std::size_t>(std::max(options.width, 40));
  const auto paragraph = [](const std::string& text) { return text.empty() ? text : '\n' + text; };
  const bool gpus = !profile.devices.empty();

  std::string text = header(profile, content, width);
  for (const DeviceOverview& device : content.devices) {
    const bool host = device.device == kHostDevice;
    text += '\n' + hanging("", styled(Style::kBold, device.title), width);
    if (!host || !gpus) text += headlines(device.headlines);
    if (host) {
      text += gpus ? host_table(device, width) : '\n' + host_table(device, width);
    } else {
      text += paragraph(compute_table(device.compute, width));
      text += paragraph(bandwidth_table(device.bandwidth, width));
    }
  }
  text += '\n' + finding_lines(profile, width);
  for (const DeviceOverview& device : content.devices) {
    if (device.ridge_points.empty() && device.curves.empty()) continue;
    if (content.devices.size() > 1) {
      text += '\n' + hanging("", styled(Style::kBold, device.name), width);
    }
    text += paragraph(ridge_table(device.ridge_points, width));
    text += paragraph(curve_lines(device.curves, width));
  }
  return terminal_text(text, options.color);
}

}  // namespace peakline
