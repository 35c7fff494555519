// How data reach a GPU: from another GPU, the host and storage.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/judge/rules.hpp"
#include "harness/show/machine.hpp"
#include "harness/show/screen_tables.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Storage, and the way from there to a GPU.
bool of_storage(std::string_view resource) {
  return part_of(resource) == "storage" || part_of(resource) == "input";
}

// "NCCL all-reduce: RING; NVLink multicast (NVLS) was off."
std::optional<std::string> collectives_note(const DeviceView& node, const ResourceLabels& labels) {
  std::vector<std::string> parts;
  bool multicast_off = false;
  for (const Headline* headline : node.headlines) {
    const Ceiling* row = node.ceiling(headline->resource, Basis::kMeasured);
    const Measurement* source = row == nullptr ? nullptr : node.source(*row);
    if (source == nullptr) continue;
    multicast_off = multicast_off || text_param(source->launch, "nvls") == "0";
    if (const auto algorithm = text_param(source->launch, "algorithm"))
      parts.push_back(fmt::format("{}: {}", labels(row->resource), *algorithm));
  }
  if (multicast_off) parts.emplace_back("NVLink multicast (NVLS) was off");
  if (parts.empty()) return std::nullopt;
  return joined(parts, "; ") + '.';
}

// What computing and communicating at the same time cost.
std::optional<std::string> beside_note(const DeviceView& node) {
  const auto factor = [&](const char* role) {
    return node.figure({.role = role, .by = {{"collective", "all_reduce"}, {"ctas", "auto"}}});
  };
  const auto gemm = factor(role::kGemmBeside), collective = factor(role::kCollectiveBeside);
  if (!gemm || !collective) return std::nullopt;
  return fmt::format(
      "At the same time a BF16 GEMM takes {:.2f} times as long as alone, an all-reduce {:.2f} "
      "times.",
      *gemm, *collective);
}

// packets: what their headers leave of the raw rate, where their size is known.
std::string host_link_title(const DeviceFacts& gpu, const std::optional<double>& raw,
                            const std::optional<double>& packets) {
  if (packets)
    return fmt::format("Host link: packets of {} leave {} of the raw {} each way",
                       format_size(*gpu.pcie.max_payload_bytes), format_rate(*packets, "B/s"),
                       format_rate(*raw, "B/s"));
  if (!raw) return "Host link";
  if (gpu.c2c)
    return fmt::format("Host link: {}, {} each way", host_link_name(gpu), format_rate(*raw, "B/s"));
  return "Host link: the size of its packets, whose headers take a part, is not known";
}

// "Random reads of 4 KiB: 10266 per s at depth 1, 34313 per s at depth 64."
std::optional<std::string> random_reads(const std::vector<DeviceView>& devices) {
  std::optional<std::int64_t> block;
  std::vector<std::string> rates;
  for (const DeviceView& device : devices) {
    for (const Figure* figure : device.figures({.role = role::kRandomReads})) {
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

Table links_table(const Checks& checks, const DeviceView& node, const ResourceLabels& labels) {
  const Alike group{.names = "node", .devices = {&node}};
  Table table = figures_table("links", group, "links allow");
  table.title = fmt::format("Between GPUs: {}", joined(traits_of(node)));
  add_headlines(table, group, checks);
  if (table.rows.empty()) return table;
  if (auto note = collectives_note(node, labels)) table.notes.push_back(std::move(*note));
  if (auto note = beside_note(node)) table.notes.push_back(std::move(*note));
  return table;
}

Table host_link_table(const Checks& checks, const Alike& group, const ResourceLabels& labels) {
  const DeviceView& first = group.first();
  const DeviceFacts& gpu = *first.facts;
  Table table{.key = "host_link"};
  std::optional<double> raw, left;
  for (const Resource& resource : first.profile->resources) {
    const FigureKey key{resource.name, Basis::kMeasured};
    const Ceiling *row = first.ceiling(key.resource, key.basis),
                  *theoretical = first.ceiling(key.resource, Basis::kTheoretical);
    if (rule_group_of(resource.name) != RuleGroup::kHostLink ||
        (row == nullptr && first.missing(key.resource, key.basis) == nullptr))
      continue;
    if (table.rows.empty()) {
      raw = value_of(theoretical);
      if (gpu.pcie.max_payload_bytes && reachable(row, theoretical) != raw)
        left = reachable(row, theoretical);
      table = figures_table("host_link", group, left ? "packets allow" : "raw rate");
      table.title = host_link_title(gpu, raw, left);
    }
    table.rows.push_back(figure_row(group, labels(resource.name), key, checks));
  }
  if (table.rows.empty()) return table;
  table.notes.emplace_back("H2D: host to device; D2H: device to host; with pinned memory.");
  const auto pageable = [&](const char* role) {
    return slowest(group, [&](const DeviceView& device) { return device.figure({.role = role}); });
  };
  const auto h2d = pageable(role::kPageableToDevice), d2h = pageable(role::kPageableToHost);
  // "9.04 GB/s H2D (copies of 16 MiB 16.6 GB/s)"
  const auto pageable_text = [&](double rate, const char* way, const char* pieces) {
    std::string text = fmt::format("{} {}", format_rate(rate, "B/s"), way);
    const auto fastest = first.figures({.role = pieces});
    if (const auto bytes = fastest.empty() ? std::nullopt : int_param(fastest[0]->by, "bytes"))
      text += fmt::format(" (copies of {} {})", format_size(static_cast<double>(*bytes)),
                          format_rate(fastest[0]->value, "B/s"));
    return text;
  };
  if (h2d && d2h)
    table.notes.push_back(
        fmt::format("Large pageable copies: {}, {}. Pin buffers that you copy often.",
                    pageable_text(*h2d, "H2D", role::kPiecesToDevice),
                    pageable_text(*d2h, "D2H", role::kPiecesToHost)));
  return table;
}

Table storage_table(const Checks& checks, const std::vector<DeviceView>& devices,
                    const ResourceLabels& labels) {
  Table table{.key = "storage"};
  if (devices.empty()) return table;
  const Profile& profile = *devices.front().profile;
  Alike all;
  for (const DeviceView& device : devices) all.devices.push_back(&device);
  for (const Resource& resource : profile.resources) {
    if (!of_storage(resource.name)) continue;
    const FigureKey key{resource.name, Basis::kMeasured};
    const std::vector<const DeviceView*> slowest_ones = slowest_first(all, key);
    if (slowest_ones.empty()) continue;
    const Alike slowest{.names = {}, .devices = {slowest_ones.front()}};
    if (table.rows.empty()) table = figures_table("storage", slowest, "");
    const bool several = slowest.first().facts != nullptr && profile.devices.size() > 1;
    table.rows.push_back(
        figure_row(slowest, labels(resource.name) + (several ? ", slowest" : ""), key, checks));
  }
  if (table.rows.empty()) return table;
  table.title = "Storage";
  if (const auto& storage = profile.host.storage)
    table.title =
        fmt::format("Storage: {}",
                    joined({storage->device_model, storage->source, storage->file_system,
                            storage->direct ? "past the page cache" : "through the page cache"}));
  if (auto note = random_reads(devices)) table.notes.push_back(std::move(*note));
  table.notes.emplace_back(
      "peakline-report FILE --bytes-per-sample SIZE --samples-per-s N compares it with what a job "
      "needs.");
  return table;
}

}  // namespace peakline
