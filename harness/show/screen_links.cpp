// How data reach a GPU: from another GPU, the host and storage.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/conclude/headlines.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/judge/rules.hpp"
#include "harness/show/check.hpp"
#include "harness/show/screen_sections.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Storage, and the way from there to a GPU.
bool of_storage(std::string_view resource) {
  return part_of(resource) == "storage" || part_of(resource) == "input";
}

// "NCCL all-reduce: RING; NVLink multicast (NVLS) was off."
std::optional<std::string> collectives_note(const DeviceOverview& node,
                                            const ResourceLabels& labels) {
  std::vector<std::string> parts;
  bool multicast_off = false;
  for (const HeadlineFigure& headline : node.headlines) {
    const BandwidthRow* row = node.find_bandwidth(headline.resource);
    if (row == nullptr) continue;
    multicast_off = multicast_off || row->multicast_off;
    if (!row->algorithm.empty())
      parts.push_back(fmt::format("{}: {}", labels(row->resource), row->algorithm));
  }
  if (multicast_off) parts.emplace_back("NVLink multicast (NVLS) was off");
  if (parts.empty()) return std::nullopt;
  return joined(parts, "; ") + '.';
}

std::string host_link_title(const DeviceFacts& gpu, const BandwidthRow& one_way, bool packets) {
  if (packets)
    return fmt::format("Host link: packets of {} leave {} of the raw {} each way",
                       format_size(*gpu.pcie.max_payload_bytes),
                       format_rate(*one_way.data_rate, "B/s"),
                       format_rate(*one_way.theoretical, "B/s"));
  if (!one_way.theoretical) return "Host link";
  if (gpu.c2c)
    return fmt::format("Host link: {}, {} each way", host_link_name(gpu),
                       format_rate(*one_way.theoretical, "B/s"));
  return "Host link: the size of its packets, whose headers take a part, is not known";
}

// "Random reads of 4 KiB: 10266 per s at depth 1, 34313 per s at depth 64."
std::optional<std::string> random_reads(const Overview& content) {
  std::optional<std::int64_t> block;
  std::vector<std::string> rates;
  for (const DeviceOverview& device : content.devices) {
    for (const Figure* figure : figures_with(device.curves, role::kRandomReads)) {
      const auto bytes = int_param(figure->by, "block"), depth = int_param(figure->by, "depth");
      if (!bytes || !depth || block.value_or(*bytes) != *bytes) continue;
      block = bytes;
      rates.push_back(fmt::format("{:.0f} per s at depth {}", figure->value, *depth));
    }
  }
  if (rates.empty()) return std::nullopt;
  return fmt::format("Random reads of {}: {}.", format_size(static_cast<double>(*block)),
                     joined(rates));
}

}  // namespace

std::optional<double> healthy_from(const Checks& checks, std::string_view uuid,
                                   const std::string& resource, Basis basis) {
  for (const CheckedDevice* device : checks.devices()) {
    if (device->uuid != uuid) continue;
    const FigureKey key{resource, basis};
    for (const Judged& rule : device->rules)
      if (rule.name.figure == key && rule.vouched()) return rule.limit;
  }
  return std::nullopt;
}

Screen::Section links_section(const Profile& profile, const Checks& checks,
                              const DeviceOverview& node) {
  Screen::Section section{.name = "links",
                          .title = fmt::format("Between GPUs: {}", joined(node.traits))};
  std::vector<FigureRow> rows = headlines_of({.names = "node", .devices = {&node}}).rows;
  for (FigureRow& row : rows)
    for (const HeadlineFigure& headline : node.headlines)
      if (headline.label == row.label)
        row.healthy_from = healthy_from(checks, kNodeDevice, headline.resource, headline.basis);
  if (rows.empty()) return section;
  add_figures(section, rows, false, "links allow");
  if (auto note = collectives_note(node, ResourceLabels(profile)))
    section.notes.push_back(std::move(*note));
  return section;
}

Screen::Section host_link_section(const Checks& checks, const Alike& group,
                                  const ResourceLabels& labels) {
  Screen::Section section{.name = "host_link"};
  std::vector<FigureRow> rows;
  const BandwidthRow* one_way = nullptr;
  for (const BandwidthRow& first : group.first().bandwidth) {
    if (rule_group_of(first.resource) != RuleGroup::kHostLink) continue;
    if (one_way == nullptr) one_way = &first;
    FigureRow row{.label = labels(first.resource),
                  .unit = "B/s",
                  .reference = first.data_rate ? first.data_rate : first.theoretical,
                  .missing = first.how};
    for (const DeviceOverview* device : group.devices)
      if (const BandwidthRow* same = device->find_bandwidth(first.resource))
        row.add(*device, same->measured, same->data_rate ? same->data_rate : same->theoretical,
                same->next_run);
    if (!row.measured.empty())
      row.healthy_from = healthy_from(checks, row.measured.front().device->device, first.resource,
                                      Basis::kMeasured);
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return section;
  const DeviceFacts& gpu = *group.first().gpu;
  const bool packets = one_way->theoretical && one_way->data_rate && gpu.pcie.max_payload_bytes;
  section.title = host_link_title(gpu, *one_way, packets);
  add_figures(section, rows, group.several(), packets ? "packets allow" : "raw rate");
  section.notes.emplace_back("H2D: host to device; D2H: device to host; with pinned memory.");
  const auto pageable = [&](const char* role) {
    return slowest(group, [&](const DeviceOverview& device) -> std::optional<double> {
      const auto found = figures_with(device.curves, role);
      return found.empty() ? std::nullopt : std::optional(found.front()->value);
    });
  };
  const auto h2d = pageable(role::kPageableToDevice), d2h = pageable(role::kPageableToHost);
  if (h2d && d2h)
    section.notes.push_back(
        fmt::format("Large pageable copies: {} H2D, {} D2H. Pin buffers that you copy often.",
                    format_rate(*h2d, "B/s"), format_rate(*d2h, "B/s")));
  return section;
}

Screen::Section storage_section(const Profile& profile, const Overview& content,
                                const ResourceLabels& labels) {
  Screen::Section section{.name = "storage"};
  std::vector<FigureRow> rows;  // a resource each, of the slowest device
  for (const DeviceOverview& device : content.devices) {
    for (const BandwidthRow& of : device.bandwidth) {
      if (!of_storage(of.resource) || !of.measured) continue;
      std::string label = labels(of.resource);
      if (device.gpu != nullptr && profile.devices.size() > 1) label += ", slowest";
      auto row = std::ranges::find(rows, label, &FigureRow::label);
      if (row == rows.end())
        row = rows.insert(rows.end(), {.label = std::move(label), .unit = "B/s"});
      row->add(device, of.measured, std::nullopt, of.next_run);
    }
  }
  if (rows.empty()) return section;
  section.title = "Storage";
  if (const auto& storage = profile.host.storage)
    section.title =
        fmt::format("Storage: {}",
                    joined({storage->device_model, storage->source, storage->file_system,
                            storage->direct ? "past the page cache" : "through the page cache"}));
  add_figures(section, rows, false, "");
  if (auto note = random_reads(content)) section.notes.push_back(std::move(*note));
  section.notes.emplace_back(
      "Is that enough? peakline-report FILE --bytes-per-sample SIZE --samples-per-s N compares it "
      "with what a job needs.");
  return section;
}

}  // namespace peakline
