#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "harness/show/device_tables.hpp"
#include "harness/show/figures.hpp"
#include "harness/show/machine.hpp"
#include "harness/show/screen.hpp"
#include "harness/show/show.hpp"
#include "harness/show/topics.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/point_names.hpp"
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

std::string header(const Profile& p, std::size_t width) {
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
  const auto [ok, skipped, failed] = count_points(p);
  const std::string partial =
      fmt::format("PARTIAL RUN: {} measured, {} skipped, {} failed; missing figures show as {}.",
                  ok, skipped, failed, kNotKnown);
  return text + hanging("", styled(Style::kYellow, partial), width);
}

Table curve_table(const DeviceView& device) {
  Table table{.key = "curves", .title = "Curves in brief"};
  table.columns = {{.key = "title", .is_text = true}};
  for (const Curve* curve : device.curves)
    if (!curve->title.empty())
      table.rows.push_back(
          {.key = curve->topic, .label = curve->topic, .cells = {text_cell(curve->title)}});
  return table;
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

// explains: says what was measured, and how.
std::string topic_text(const TopicFigures& figures, const Curve& curve, bool explains,
                       std::size_t width) {
  std::string text = section(curve.topic, "", width);
  if (explains && curve.picture)
    text += hanging("  ", styled(Style::kDim, curve.picture->how), width) + '\n';
  for (const Table& table : figures.tables) text += text_of(table, width) + '\n';
  for (const std::string& line : figures.in_words) text += hanging("  ", line, width);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

// Whether a topic has figures or points of a benchmark.
bool shows(const Curve& curve, std::string_view id) {
  if (std::ranges::find(curve.figures, id, &Figure::id) != curve.figures.end()) return true;
  return curve.picture && std::ranges::any_of(curve.picture->panels, [&](const Panel& panel) {
           return std::ranges::any_of(
               panel.series, [&](const PictureSeries& series) { return series.numbers.id == id; });
         });
}

// Adds the measurements behind a topic's figures and points that varied within the run.
void add_varied(const DeviceView& device, const Curve& curve, std::vector<std::string>& names) {
  for (const Measurement* m : device.measurements)
    if (m->flags.unstable && shows(curve, m->id) &&
        std::ranges::find(names, name_of_point(*m)) == names.end())
      names.push_back(name_of_point(*m));
}

// Adds the ceilings behind a topic's figures and points that fail.
void add_failing(const DeviceView& device, const Curve& curve, const Checks& checks,
                 const ResourceLabels& labels, std::vector<std::string>& names) {
  for (const FigureKey& failing : failing_figures(checks, device.name())) {
    const Ceiling* row = device.ceiling(failing.resource, failing.basis);
    const Measurement* m = row == nullptr ? nullptr : device.source(*row);
    const std::string name = ceiling_label(labels(failing.resource), failing.basis);
    if (m != nullptr && std::ranges::find(names, name) == names.end() && shows(curve, m->id))
      names.push_back(name);
  }
}

// Explains the ceilings, a line each; only where all is asked for.
constexpr std::string_view kFactors = "factors";

constexpr std::string_view kFindings = "findings";

}  // namespace

std::string show_all(const Profile& profile, const ShowOptions& options, const Checks* checks) {
  const std::vector<DeviceView> devices = measured_devices(profile);
  const ResourceLabels labels(profile);
  const std::size_t width = options.width;
  const auto paragraph = [](const std::string& text) { return text.empty() ? text : '\n' + text; };

  std::string text = header(profile, width), explained;
  for (const DeviceView& device : devices) {
    text += '\n' + hanging("", styled(Style::kBold, title_of(device)), width);
    // The other devices have no others.
    if (device.facts != nullptr) text += text_of(headlines_table(device), width);
    std::string more;
    for (const Table& table : tables_of(device, labels, checks)) {
      if (table.key == "mfu") continue;  // of other tables' figures
      const bool explains = table.key == "factors" || table.key == "ridge_points";
      const std::string of = text_of(table, width);
      (explains ? more : text) += table.key == "host" ? of : paragraph(of);
    }
    more += paragraph(text_of(instruction_table(device.curves), width));
    more += paragraph(text_of(curve_table(device), width));
    if (more.empty()) continue;
    if (devices.size() > 1)
      explained += '\n' + hanging("", styled(Style::kBold, name_of(device)), width);
    explained += more;
  }
  text +=
      paragraph(next_run_legend(profile, width)) + '\n' + finding_lines(profile, width) + explained;
  return terminal_text(text, options.color);
}

std::vector<std::string> topics_of(const Profile& profile) {
  const ResourceLabels labels(profile);
  std::vector<std::string> topics = {std::string(kFindings)};
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(topics, name) == topics.end()) topics.push_back(name);
  };
  const std::vector<DeviceView> devices = measured_devices(profile);
  for (const DeviceView& device : devices)
    for (const Table& table : tables_of(device, labels)) add(spaced(table.key));
  for (const DeviceView& device : devices)
    for (const Curve* curve : device.curves) add(curve->topic);
  return topics;
}

std::string show_topics(const Profile& profile, std::span<const std::string> names, bool all,
                        const ShowOptions& options, const Checks* checks) {
  const ResourceLabels labels(profile);
  const std::size_t width = options.width;
  const auto wanted = [&](std::string_view topic) {
    return std::ranges::any_of(names, [&](const auto& name) { return same_topic(name, topic); });
  };
  const bool only_factors = names.size() == 1 && same_topic(names[0], kFactors);
  std::string text;
  bool shortened = false;
  if (wanted(kFindings)) text = finding_lines(profile, width);
  for (const DeviceView& device : measured_devices(profile)) {
    std::string answers, own;
    std::vector<std::string> varied, failing;
    for (const Table& table : tables_of(device, labels, checks)) {
      if (!wanted(spaced(table.key))) continue;
      const bool left_out = table.key == kFactors && !all && !only_factors;
      shortened = shortened || left_out;
      if (!left_out) own += '\n' + text_of(table, width);
    }
    std::vector<const Curve*> curves;
    std::ranges::copy_if(device.curves, std::back_inserter(curves),
                         [&](const Curve* curve) { return wanted(curve->topic); });
    // A topic begins with what it is asked for most.
    std::ranges::stable_sort(curves, {}, [&](const Curve* curve) {
      return std::ranges::find_if(names,
                                  [&](const auto& name) { return same_topic(name, curve->topic); });
    });
    const std::size_t most_rows =
        all ? std::numeric_limits<std::size_t>::max() : rows_that_fit(curves);
    for (const Curve* curve : curves) {
      if (!curve->title.empty())
        answers += hanging("  ", styled(Style::kBold, curve->title + "."), width);
      add_varied(device, *curve, varied);
      if (checks != nullptr) add_failing(device, *curve, *checks, labels, failing);
      const TopicFigures figures = topic_figures(*curve, most_rows);
      shortened = shortened || !figures.in_words.empty();
      if (!figures.tables.empty() || !figures.in_words.empty())
        own += '\n' + topic_text(figures, *curve, curves.size() == 1, width);
    }
    if (own.empty() && answers.empty()) continue;
    if (!failing.empty())
      answers += hanging("  ",
                         styled(Style::kRed, "Slower than healthy devices, so are conclusions: " +
                                                 peakline::shortened(failing) + "."),
                         width);
    if (!varied.empty())
      answers += hanging(
          "  ",
          styled(Style::kYellow, "Varied within the run: " + peakline::shortened(varied) + "."),
          width);
    text += (text.empty() ? "" : "\n") +
            hanging("", styled(Style::kBold, title_of(device)), width) + answers + own;
  }
  if (shortened) text += '\n' + hanging("", styled(Style::kDim, "--all has every row."), width);
  return terminal_text(text, options.color);
}

}  // namespace peakline
