#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/conclude/decoding.hpp"
#include "harness/conclude/findings.hpp"
#include "harness/conclude/headlines.hpp"
#include "harness/judge/sides.hpp"
#include "harness/show/alike.hpp"
#include "harness/show/check.hpp"
#include "harness/show/overview.hpp"
#include "harness/show/show.hpp"
#include "harness/show/show_tables.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// The host link's resources, which have a part of the screen of their own.
bool of_host_link(std::string_view resource) {
  return part_of(resource) == "pcie" || part_of(resource) == "c2c";
}

std::size_t most_lines(std::size_t gpus) { return gpus < 2 ? 41 : gpus < 3 ? 55 : 70; }

std::string machine(const Profile& profile, const Overview& content, std::size_t width) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const Alike& group : alike_gpus(content, true)) {
    const DeviceFacts& gpu = *group.first().gpu;
    std::vector<std::string> parts = group.first().traits;
    parts.insert(parts.begin(), gpu.name);
    std::string text = fmt::format("{}", fmt::join(parts, ", "));
    if (!gpu.unusable.empty()) text += "; cannot be measured: " + gpu.unusable;
    lines.emplace_back(group.names, std::move(text));
  }
  const HostFacts& host = profile.host;
  std::vector<std::string> parts;
  for (const std::string& part :
       {host.hostname, cpu_text(host), host.memory_bytes ? format_size(*host.memory_bytes) : "",
        std::string(in_virtual_machine(host) ? "in a virtual machine"
                    : in_container(host)     ? "in a container"
                                             : "")})
    if (!part.empty()) parts.push_back(part);
  if (!profile.software.driver.empty()) parts.push_back("driver " + profile.software.driver);
  if (!profile.software.cuda_runtime.empty())
    parts.push_back("CUDA " + profile.software.cuda_runtime);
  if (!parts.empty()) lines.emplace_back("Host", fmt::format("{}", fmt::join(parts, ", ")));
  std::string run =
      fmt::format("{}, {}, {}, {}; {} measured, {} skipped", profile.mode,
                  profile.complete ? "complete" : styled(Style::kYellow, "PARTIAL"),
                  format_time(profile.duration_s), profile.created.substr(0, 10),
                  format_count(static_cast<std::int64_t>(content.ok), "point"), content.skipped);
  if (content.failed > 0) run += styled(Style::kYellow, fmt::format(", {} failed", content.failed));
  lines.emplace_back("Run", std::move(run));
  std::size_t columns = 0;
  for (const auto& [name, text] : lines) columns = std::max(columns, text_width(name));
  std::string text;
  for (const auto& [name, what] : lines)
    text += hanging(styled(Style::kBold, pad_right(name, columns)) + "  ", what, width);
  return text;
}

// "Not part of a quick run: BF16 sustained. peakline run measures it."
std::string not_measured(const Profile& profile, const std::vector<std::string>& labels,
                         std::size_t width) {
  if (labels.empty()) return {};
  const std::string what = fmt::format("{}", fmt::join(labels, ", "));
  const std::string text =
      profile.mode == "quick" && profile.complete && option_of(profile, "--filter").empty()
          ? fmt::format("Not part of a quick run: {}. peakline run without --quick measures {}.",
                        what, labels.size() == 1 ? "it" : "them")
          : fmt::format("Not measured in this run: {}.", what);
  return hanging("  ", styled(Style::kDim, text), width);
}

// The clock that a power limit holds a sustained load at.
std::string power_note(const Alike& group, const ResourceLabels& labels, std::size_t width) {
  const DeviceFacts& gpu = *group.first().gpu;
  for (const HeadlineFigure& headline : group.first().headlines) {
    for (const ComputeRow& row : group.first().compute) {
      if (row.resource != headline.resource || row.basis != Basis::kSustained ||
          !row.power_capped || !row.observed_clock_hz || !row.max_clock_hz || !gpu.power_limit_w)
        continue;
      if (*row.observed_clock_hz >= kFullClockShare * *row.max_clock_hz) continue;
      return hanging(
          "  ",
          styled(Style::kDim,
                 fmt::format("Under load the {:.0f} W limit holds {} at {:.0f} of {}: that is "
                             "normal.",
                             *gpu.power_limit_w, precision_of(labels(row.resource)),
                             *row.observed_clock_hz / 1e6, format_clock(*row.max_clock_hz))),
          width);
    }
  }
  return {};
}

// What the slowest GPU's memory allows a language model.
std::string decoding(const Alike& group, const ResourceLabels& labels, std::size_t width) {
  constexpr std::string_view kRead = "hbm.read";
  std::optional<double> slowest_rate;
  for (const DeviceOverview* device : group.devices) {
    for (const BandwidthRow& row : device->bandwidth) {
      if (row.resource != kRead || !row.measured) continue;
      if (const auto rate = llama_tokens_per_s(*device->gpu, *row.measured))
        slowest_rate = std::min(slowest_rate.value_or(*rate), *rate);
    }
  }
  if (!slowest_rate) return {};
  return hanging(
      "  ",
      styled(Style::kDim, fmt::format("Llama-3.1-8B in BF16 decodes at most {} tokens/s ({}).",
                                      format_number(*slowest_rate), labels(kRead))),
      width);
}

// Headlines in the order in which resources are shown, without those of the host link.
std::vector<std::size_t> order_of(const std::vector<HeadlineFigure>& headlines) {
  const auto known = known_resources();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < headlines.size(); ++i)
    if (!of_host_link(headlines[i].resource)) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::ranges::find(known, headlines[i].resource, &Resource::name) - known.begin();
  });
  return order;
}

// The headlines of a group.
std::string headline_table(const Profile& profile, const Alike& group,
                           const std::string& held_against, std::size_t width) {
  std::vector<ScreenRow> rows;
  std::vector<std::string> left_out;
  const std::vector<HeadlineFigure>& first = group.first().headlines;
  for (const std::size_t i : order_of(first)) {
    ScreenRow row{.label = first[i].label,
                  .unit = first[i].unit,
                  .reference = first[i].reference,
                  .computed = held_against == "published" &&
                              first[i].reference_name == to_string(Basis::kTheoretical),
                  .missing = first[i].missing};
    for (const DeviceOverview* device : group.devices) {
      for (const HeadlineFigure& same : device->headlines) {
        if (same.resource != first[i].resource || same.basis != first[i].basis) continue;
        row.add(*device, same.value, same.reference, same.next_run);
        if (row.unit.empty()) row.unit = same.unit;
        break;
      }
    }
    if (row.measured.empty() && row.missing == kNotMeasured)
      left_out.push_back(row.label);
    else
      rows.push_back(std::move(row));
  }
  std::string text = rows.empty() ? "" : figure_table(rows, group.several(), held_against, width);
  if (std::ranges::any_of(rows, &ScreenRow::computed))
    text += hanging("  ",
                    styled(Style::kDim,
                           "In brackets: computed from units and clocks; what is published is not "
                           "known."),
                    width);
  // Links between GPUs depend on how they are connected.
  return group.first().device == kNodeDevice ? text : text + not_measured(profile, left_out, width);
}

// The rows of a resource's compute ceiling, of all devices of the group.
std::vector<const ComputeRow*> compute_rows(const Alike& group, std::string_view resource,
                                            Basis basis) {
  std::vector<const ComputeRow*> rows;
  for (const DeviceOverview* device : group.devices)
    for (const ComputeRow& row : device->compute)
      if (row.resource == resource && row.basis == basis && row.measured) rows.push_back(&row);
  return rows;
}

std::optional<double> slowest(const std::vector<const ComputeRow*>& rows) {
  if (rows.empty()) return std::nullopt;
  return (*std::ranges::min_element(rows, {}, [](const ComputeRow* row) { return *row->measured; }))
      ->measured;
}

// The peak that a utilization is a share of, in the precision of the first figure under load.
std::string mfu(const Alike& group, const ResourceLabels& labels, std::size_t width) {
  const auto& headlines = group.first().headlines;
  const auto loaded = std::ranges::find(headlines, Basis::kSustained, &HeadlineFigure::basis);
  if (loaded == headlines.end()) return {};
  const std::string& resource = loaded->resource;
  const ComputeRow* known = nullptr;
  for (const ComputeRow& row : group.first().compute)
    if (row.resource == resource) known = &row;
  const auto burst = slowest(compute_rows(group, resource, Basis::kBurst));
  const auto under_load = compute_rows(group, resource, Basis::kSustained);
  const auto sustained = slowest(under_load);
  const auto model = slowest(compute_rows(group, resource, Basis::kModelShaped));
  if (known == nullptr || (!burst && !sustained)) return {};

  TextTable table({right(2), left(2), left(2)});
  const auto add = [&](const std::optional<double>& value, const char* name, std::string use) {
    if (value)
      table.row({styled(Style::kBold, format_rate(*value, known->unit)), name, std::move(use)});
  };
  const auto published = known->datasheet ? known->datasheet : known->peak_at_max_clock;
  add(known->datasheet, "published", "MFU as papers and tables state it");
  if (!known->datasheet)
    add(known->peak_at_max_clock, "computed",
        "from units and clocks; what is published is not known");
  const bool capped = std::ranges::any_of(under_load, &ComputeRow::power_capped);
  add(sustained, "achievable",
      std::string("long products") + (capped ? ", at this GPU's power limit" : ""));
  if (!sustained) add(burst, "burst", "short products from rest; a full run tells what lasts");
  add(model, "model", "whole layers of a model, likewise");
  std::string text =
      section(fmt::format("MFU in {}: which peak to divide by", precision_of(labels(resource))),
              group.several() ? "the slowest GPU's" : "", width) +
      table.render(width);
  if (known->datasheet && sustained) {
    std::string same = fmt::format("An MFU of 50 % is {} of achievable",
                                   format_percent(*published / 2 / *sustained));
    if (model)
      same += fmt::format(" and {} of what layers reach", format_percent(*published / 2 / *model));
    text += hanging("  ", styled(Style::kDim, same + "."), width);
  }
  return text;
}

// Held against what the headers of packets leave of the link's raw rate, where that is known.
std::string host_link(const Alike& group, const ResourceLabels& labels, std::size_t width) {
  std::vector<ScreenRow> rows;
  const BandwidthRow* one_way = nullptr;
  for (const BandwidthRow& first : group.first().bandwidth) {
    if (!of_host_link(first.resource)) continue;
    if (one_way == nullptr) one_way = &first;
    ScreenRow row{.label = labels(first.resource),
                  .unit = "B/s",
                  .reference = first.data_rate ? first.data_rate : first.theoretical,
                  .missing = first.how};
    for (const DeviceOverview* device : group.devices)
      for (const BandwidthRow& same : device->bandwidth)
        if (same.resource == first.resource)
          row.add(*device, same.measured, same.data_rate ? same.data_rate : same.theoretical,
                  same.next_run);
    if (!row.measured.empty() || row.missing != kNotMeasured) rows.push_back(std::move(row));
  }
  if (rows.empty()) return {};
  const DeviceFacts& gpu = *group.first().gpu;
  std::string title = "Host link";
  const char* held_against = "raw rate";
  if (one_way->theoretical && one_way->data_rate && gpu.pcie.max_payload_bytes) {
    held_against = "packets allow";
    title += fmt::format(
        ": packets of {} leave {} of the raw {} each way", format_size(*gpu.pcie.max_payload_bytes),
        format_rate(*one_way->data_rate, "B/s"), format_rate(*one_way->theoretical, "B/s"));
  } else if (one_way->theoretical && gpu.c2c) {
    title += fmt::format(": {}, {} each way", host_link_name(gpu),
                         format_rate(*one_way->theoretical, "B/s"));
  } else if (one_way->theoretical) {
    title += ": the size of its packets, whose headers take a part, is not known";
  }
  std::string text = hanging("", styled(Style::kBold, title), width) +
                     figure_table(rows, group.several(), held_against, width);
  const auto pageable = [&](const char* role) {
    std::optional<double> slowest_rate;
    for (const DeviceOverview* device : group.devices)
      for (const Curve& curve : device->curves)
        if (const Figure* found = find_figure(curve.figures, {.role = role}))
          slowest_rate = std::min(slowest_rate.value_or(found->value), found->value);
    return slowest_rate;
  };
  const auto there = pageable(role::kPageableToDevice), back = pageable(role::kPageableToHost);
  if (there && back)
    text += hanging("  ",
                    fmt::format("Pageable memory: {} there, {} back: pin what is copied often.",
                                format_rate(*there, "B/s"), format_rate(*back, "B/s")),
                    width);
  return text;
}

// "Healthy: NVLink read from 386 GB/s, NCCL all-reduce from 295 GB/s." of what the screen shows.
std::string healthy_links(const Checks& checks, const DeviceOverview& node, std::size_t width) {
  std::vector<std::string> parts;
  for (const CheckedFile& file : checks.files) {
    for (const CheckedDevice& device : file.result.devices) {
      if (device.uuid != kNodeDevice) continue;
      for (const JudgedRule& rule : device.rules) {
        const bool shown = std::ranges::any_of(node.headlines, [&](const HeadlineFigure& headline) {
          return rule.name ==
                 fmt::format("{}/{}", device.name, ceiling_name(headline.resource, headline.basis));
        });
        if (shown && rule.limit && rule.vouched)
          parts.push_back(
              fmt::format("{} from {}", rule.label, format_value(*rule.limit, rule.unit)));
      }
    }
  }
  if (parts.empty()) return {};
  return hanging("  ", styled(Style::kDim, fmt::format("Healthy: {}.", fmt::join(parts, ", "))),
                 width);
}

// The findings that matter, each kind once, in at most `lines` lines.
std::string findings(const Profile& profile, std::size_t lines, std::size_t width) {
  struct Kind {
    const Finding* first = nullptr;
    std::vector<std::string> devices = {};
  };
  std::vector<Kind> kinds;
  std::size_t for_the_record = 0;
  for (const Finding& finding : profile.findings) {
    if (!matters(finding)) {
      ++for_the_record;
      continue;
    }
    auto kind = std::ranges::find_if(kinds, [&](const Kind& k) {
      return k.first->code == finding.code && k.first->severity == finding.severity;
    });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {.first = &finding});
    if (!finding.device.empty()) kind->devices.push_back(device_label(profile, finding.device));
  }
  std::string text = section("What matters here", "", width);
  if (kinds.empty()) text += "  nothing stands out\n";
  std::size_t used = 0, told = 0;
  for (const auto& [finding, devices] : kinds) {
    // A machine with one GPU has no need of its name.
    const bool named = !devices.empty() && (profile.devices.size() > 1 || devices[0] != "GPU 0");
    std::string message = named ? devices[0] + ": " + finding->message : finding->message;
    if (devices.size() > 1)
      message += fmt::format(" {} likewise.", shortened({devices.begin() + 1, devices.end()}));
    const std::string entry = finding_text(finding->severity, message, width);
    const auto height = static_cast<std::size_t>(std::ranges::count(entry, '\n'));
    if (told > 0 && used + height > lines) break;
    used += height;
    text += entry;
    ++told;
  }
  const std::size_t more = kinds.size() - told;
  if (more + for_the_record > 0)
    text += hanging(
        "  ",
        styled(Style::kDim,
               fmt::format("{}{}: peakline show FILE --topic findings",
                           more > 0
                               ? fmt::format("{} more that matter{}, ", more, more == 1 ? "s" : "")
                               : std::string(),
                           format_count(static_cast<std::int64_t>(for_the_record), "other note"))),
        width);
  return text;
}

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

}  // namespace

std::string first_screen(const Profile& profile, const Checks& checks, const ShowOptions& options) {
  const Overview content = overview(profile);
  const ResourceLabels labels(profile);
  const std::size_t width = options.width;
  const std::vector<Alike> groups = alike_gpus(content, false);
  const auto paragraph = [](const std::string& text) { return text.empty() ? text : '\n' + text; };

  std::string text = check_line(checks, false);
  if (text_width(text) > width + 1) {
    const std::size_t word = text.find("  ") + 2;
    text = hanging(text.substr(0, word), text.substr(word), width);
  }
  if (const std::string advice = check_advice(checks); !advice.empty())
    text += hanging("  ", styled(Style::kDim, advice), width);
  text += '\n' + machine(profile, content, width);
  for (const DeviceOverview& device : content.devices) {
    if (device.device != kNodeDevice) continue;
    const Alike node{.names = "node", .devices = {&device}};
    const std::string table = headline_table(profile, node, "links allow", width);
    if (!table.empty())
      text += '\n' +
              section(fmt::format("Between GPUs: {}", fmt::join(device.traits, ", ")), "", width) +
              table + healthy_links(checks, device, width);
  }
  for (const Alike& group : groups) {
    std::string table = headline_table(profile, group, "published", width);
    if (table.empty()) continue;
    if (groups.size() > 1) table = section(group.names, "", width) + table;
    text += '\n' + table + power_note(group, labels, width) + decoding(group, labels, width);
    text += paragraph(mfu(group, labels, width));
    text += paragraph(host_link(group, labels, width));
  }
  for (const DeviceOverview& device : content.devices) {
    if (device.device != kHostDevice || !groups.empty()) continue;
    text += paragraph(headline_table(profile, {.names = "host", .devices = {&device}}, "", width));
  }
  const std::vector<std::string> topics = topics_of(profile);
  const std::string more =
      '\n' + hanging("More: ",
                     fmt::format("peakline show FILE --all, --topic {}; pictures: peakline-report "
                                 "FILE",
                                 topics[topics.size() > 1]),
                     width);
  // The findings get the lines that the other parts leave, beside a heading and a last line, but at
  // least kFewest.
  constexpr std::size_t kFewest = 4;
  const std::size_t taken = line_count(text) + line_count(more) + 3;
  const std::size_t room = std::max(most_lines(profile.devices.size()), taken + kFewest) - taken;
  text += '\n' + findings(profile, room, width) + more;
  return terminal_text(text, options.color);
}

}  // namespace peakline
