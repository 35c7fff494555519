#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/conclude/headlines.hpp"
#include "harness/show/overview.hpp"
#include "harness/show/show.hpp"
#include "harness/show/show_tables.hpp"
#include "harness/show/text_table.hpp"
#include "harness/show/topics.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

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
    const std::string text = joined(parts, " · ");
    return text.empty() ? std::string() : hanging("", text, width);
  };
  std::string text = line({styled(Style::kBold, p.tool), p.mode.empty() ? "" : p.mode + " run",
                           date(p.created), fmt::format("took {}", format_time(p.duration_s))});
  const HostFacts& host = p.host;
  text +=
      line({host.hostname, cpu_text(host), host.memory_bytes ? format_size(*host.memory_bytes) : "",
            host.os, host.virtualization});
  const SoftwareFacts& software = p.software;
  text += line({named("driver", software.driver), named("CUDA", software.cuda_runtime),
                named("cuBLASLt", software.cublaslt),
                named("peakline revision", software.git_revision)});
  if (p.complete) return text;
  const std::string partial =
      fmt::format("PARTIAL RUN: {} measured, {} skipped, {} failed; missing figures show as {}.",
                  content.ok, content.skipped, content.failed, kNotKnown);
  return text + hanging("", styled(Style::kYellow, partial), width);
}

std::string headlines(const std::vector<HeadlineFigure>& figures, std::size_t width) {
  if (figures.empty()) return {};
  std::vector<std::string> labels, values, remarks;
  for (const HeadlineFigure& figure : figures) {
    std::string value = not_known();
    std::string remark = figure.absence ? spaced(to_string(*figure.absence)) : "not measured";
    if (figure.value) {
      value = styled(figure.next_run.unsure() ? Style::kDim : Style::kBold,
                     format_value(*figure.value, figure.unit));
      remark.clear();
      if (figure.reference) {
        // In the figure's unit, without repeating it.
        const std::string reference = format_value(*figure.reference, figure.unit);
        remark = fmt::format("{} of {}", format_percent(*figure.value / *figure.reference),
                             reference.substr(0, reference.find(' ')));
      }
    }
    labels.push_back(styled(Style::kDim, figure.label));
    values.push_back(std::move(value));
    remarks.push_back(styled(Style::kDim, remark));
  }
  const bool remarked = std::ranges::any_of(remarks, [](const auto& r) { return !r.empty(); });
  // The first columns are kept longest.
  std::vector<TextTable::Column> columns;
  while (columns.size() < figures.size())
    columns.push_back(left(2, static_cast<int>(columns.size())));
  TextTable table(columns);
  table.row(std::move(labels));
  table.row(std::move(values));
  if (remarked) table.row(std::move(remarks));
  return table.render(width);
}

// "HBM read  96.0 % = launch 99.8 % x DRAM 96.2 %" for each ceiling with factors.
std::string factor_lines(const Profile& p, const std::string& device, const ResourceLabels& labels,
                         std::size_t width) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const Ceiling& row : p.ceilings) {
    if (row.device != device || row.factors.empty()) continue;
    double share = 1;
    std::vector<std::string> factors;
    for (const Factor& factor : row.factors) {
      share *= factor.value;
      factors.push_back(fmt::format("{} {:.1f}", factor.name, factor.value * 100));
    }
    const std::string basis =
        row.basis == Basis::kMeasured ? std::string() : fmt::format(" {}", basis_label(row.basis));
    lines.emplace_back(labels(row.resource) + basis,
                       fmt::format("{:.1f} % = {}", share * 100, fmt::join(factors, " x ")));
  }
  if (lines.empty()) return {};
  return section("Why not 100 %", "of the theoretical peak, in factors of 100", width) +
         labelled(lines, width);
}

std::string curve_lines(const std::vector<Curve>& curves, std::size_t width) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const Curve& curve : curves)
    if (!curve.sentence.empty()) lines.emplace_back(curve.topic, curve.sentence);
  return lines.empty() ? "" : section("Curves in brief", "", width) + labelled(lines, width);
}

std::string finding_lines(const Profile& p, std::size_t width) {
  std::string text = section("Findings", "", width);
  if (p.findings.empty()) return text + "  none\n";
  // GPUs that have the same to say share an entry.
  struct Entry {
    const Finding* finding;
    std::vector<int> gpus = {};
  };
  std::vector<Entry> entries;
  for (const Finding& finding : p.findings) {
    const auto gpu = std::ranges::find(p.devices, finding.device, &DeviceFacts::uuid);
    const auto same = std::ranges::find_if(entries, [&](const Entry& entry) {
      return gpu != p.devices.end() && !entry.gpus.empty() &&
             entry.finding->severity == finding.severity &&
             entry.finding->message == finding.message;
    });
    Entry& entry = same != entries.end() ? *same : entries.emplace_back(Entry{&finding});
    if (gpu != p.devices.end()) entry.gpus.push_back(gpu->index);
  }
  for (const auto& [finding, gpus] : entries) {
    std::string subject = gpus.empty() ? finding->device : gpus_label(gpus);
    // A single GPU needs no name.
    if (!gpus.empty() && p.devices.size() == 1) subject.clear();
    if (!subject.empty()) subject += ": ";
    text += finding_text(finding->severity, subject + finding->message, width);
  }
  return text;
}

std::string next_run_legend(const Profile& profile, std::size_t width) {
  if (std::ranges::none_of(profile.ceilings, [](const Ceiling& row) { return !!row.spread; }))
    return {};
  const auto assumed = std::ranges::find_if(
      profile.ceilings, [](const Ceiling& row) { return row.spread && row.spread->assumed(); });
  std::string legend =
      "next run: how far from the figure the next run on this machine lands, 19 times out of 20";
  if (assumed != profile.ceilings.end())
    legend += fmt::format(", assumed from the {} and twice as wide; --runs 5 measures it",
                          assumed->spread->assumed_from);
  return hanging("", styled(Style::kDim, legend), width);
}

std::string figures(const Curve& curve, std::size_t width) {
  TextTable table({left(2), left(2), right(2)});
  std::string id;
  for (const Figure& figure : curve.figures) {
    if (figure.id != id) table.heading("  " + styled(Style::kDim, figure.id));
    id = figure.id;
    std::vector<std::string> by;
    for (const auto& [name, value] : figure.by)
      by.push_back(fmt::format("{} {}", spaced(name), to_string(value)));
    table.row({"  " + spaced(figure.name), joined(by),
               figure.unit == "1" ? format_number(figure.value)
                                  : format_value(figure.value, figure.unit)});
  }
  return curve.figures.empty() ? std::string() : table.render(width);
}

std::string topic_text(const Curve& curve, std::size_t width) {
  std::string text = curve.title.empty()
                         ? section(curve.topic, "", width)
                         : hanging("", styled(Style::kBold, curve.title + "."), width);
  if (!curve.sentence.empty()) text += hanging("  ", curve.sentence, width);
  const std::string instructions = instruction_table({curve}, width);
  const std::string table = instructions.empty() ? figures(curve, width) : instructions;
  return table.empty() ? text : text + '\n' + table;
}

// A device's parts other than topics.
struct Part {
  std::string name, text;
};
std::vector<Part> parts_of(const Profile& profile, const DeviceOverview& device,
                           const ResourceLabels& labels, std::size_t width) {
  const bool host = device.device == kHostDevice;
  std::vector<Part> parts;
  const auto add = [&](const char* name, std::string text) {
    if (!text.empty()) parts.push_back({name, std::move(text)});
  };
  if (host) {
    add("host", host_table(device, labels, width));
  } else {
    add("compute", compute_table(device.compute, labels, width));
    add("mfu", mfu_table(device, labels, width));
    add(device.device == kNodeDevice ? "links" : "bandwidth",
        bandwidth_table(device, labels, width));
    add("memory map", memory_map_table(device.memory_map, width));
  }
  add("factors", factor_lines(profile, device.device, labels, width));
  add("ridge points", ridge_table(device.ridge_points, labels, width));
  return parts;
}

constexpr std::string_view kFindings = "findings";

}  // namespace

std::string show_all(const Profile& profile, const ShowOptions& options) {
  const Overview content = overview(profile);
  const ResourceLabels labels(profile);
  const std::size_t width = options.width;
  const auto paragraph = [](const std::string& text) { return text.empty() ? text : '\n' + text; };
  const bool gpus = !profile.devices.empty();

  std::string text = header(profile, content, width);
  for (const DeviceOverview& device : content.devices) {
    const bool host = device.device == kHostDevice;
    text += '\n' + hanging("", styled(Style::kBold, device.title()), width);
    if (!host || !gpus) text += headlines(device.headlines, width);
    if (host) {
      const std::string table = host_table(device, labels, width);
      text += gpus ? table : '\n' + table;
    } else {
      text += paragraph(compute_table(device.compute, labels, width));
      text += paragraph(bandwidth_table(device, labels, width));
      text += paragraph(memory_map_table(device.memory_map, width));
    }
  }
  text += paragraph(next_run_legend(profile, width));
  text += '\n' + finding_lines(profile, width);
  for (const DeviceOverview& device : content.devices) {
    const std::string factors = factor_lines(profile, device.device, labels, width);
    if (device.ridge_points.empty() && device.curves.empty() && factors.empty()) continue;
    if (content.devices.size() > 1) {
      text += '\n' + hanging("", styled(Style::kBold, device.name), width);
    }
    text += paragraph(factors);
    text += paragraph(ridge_table(device.ridge_points, labels, width));
    text += paragraph(instruction_table(device.curves, width));
    text += paragraph(curve_lines(device.curves, width));
  }
  return terminal_text(text, options.color);
}

std::vector<std::string> topics_of(const Profile& profile) {
  const ResourceLabels labels(profile);
  std::vector<std::string> topics = {std::string(kFindings)};
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(topics, name) == topics.end()) topics.push_back(name);
  };
  const Overview content = overview(profile);
  for (const DeviceOverview& device : content.devices)
    for (const Part& part : parts_of(profile, device, labels, ShowOptions{}.width)) add(part.name);
  for (const DeviceOverview& device : content.devices)
    for (const Curve& curve : device.curves) add(curve.topic);
  return topics;
}

std::string show_topics(const Profile& profile, std::span<const std::string> names,
                        const ShowOptions& options) {
  const Overview content = overview(profile);
  const ResourceLabels labels(profile);
  const auto wanted = [&](std::string_view topic) {
    return std::ranges::any_of(names, [&](const auto& name) { return same_topic(name, topic); });
  };
  std::string text;
  if (wanted(kFindings)) text = finding_lines(profile, options.width);
  for (const DeviceOverview& device : content.devices) {
    std::string own;
    for (const Part& part : parts_of(profile, device, labels, options.width))
      if (wanted(part.name)) own += '\n' + part.text;
    for (const Curve& curve : device.curves)
      if (wanted(curve.topic)) own += '\n' + topic_text(curve, options.width);
    if (own.empty()) continue;
    text += (text.empty() ? "" : "\n") +
            hanging("", styled(Style::kBold, device.title()), options.width) + own;
  }
  return terminal_text(text, options.color);
}

}  // namespace peakline
