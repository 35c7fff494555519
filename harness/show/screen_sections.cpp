#include "harness/show/screen_sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/conclude/decoding.hpp"
#include "harness/conclude/findings.hpp"
#include "harness/conclude/headlines.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/judge/sides.hpp"
#include "harness/show/check.hpp"
#include "harness/show/show_tables.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Resources in the host link's section.
bool of_host_link(std::string_view resource) {
  return part_of(resource) == "pcie" || part_of(resource) == "c2c";
}

// Storage, and the way from there to a GPU.
bool of_storage(std::string_view resource) {
  return part_of(resource) == "storage" || part_of(resource) == "input";
}

// Ignores unknown values.
void keep_smallest(std::optional<double>& smallest, const std::optional<double>& value) {
  if (value) smallest = std::min(smallest.value_or(*value), *value);
}

// "Not part of a quick run: BF16 sustained. peakline run without --quick measures it."
std::string not_measured(const Profile& profile, const std::vector<std::string>& labels) {
  const std::string what = joined(labels);
  return profile.mode == "quick" && profile.complete && option_of(profile, "--filter").empty()
             ? fmt::format("Not part of a quick run: {}. peakline run without --quick measures {}.",
                           what, labels.size() == 1 ? "it" : "them")
             : fmt::format("Not measured in this run: {}.", what);
}

// The clock of a power-limited sustained load.
std::optional<std::string> power_note(const Alike& group, const ResourceLabels& labels) {
  const DeviceFacts& gpu = *group.first().gpu;
  for (const HeadlineFigure& headline : group.first().headlines) {
    for (const ComputeRow& row : group.first().compute) {
      if (row.resource != headline.resource || row.basis != Basis::kSustained ||
          !row.power_capped || !row.observed_clock_hz || !row.max_clock_hz || !gpu.power_limit_w)
        continue;
      if (*row.observed_clock_hz >= kFullClockShare * *row.max_clock_hz) continue;
      return fmt::format("Under load the {:.0f} W limit holds {} at {:.0f} of {}: that is normal.",
                         *gpu.power_limit_w, precision_of(labels(row.resource)),
                         *row.observed_clock_hz / 1e6, format_clock(*row.max_clock_hz));
    }
  }
  return std::nullopt;
}

// A language model's rate by the slowest GPU's memory.
std::optional<std::string> decoding(const Alike& group, const ResourceLabels& labels) {
  constexpr std::string_view kRead = "hbm.read";
  std::optional<double> slowest_rate;
  for (const DeviceOverview* device : group.devices)
    for (const BandwidthRow& row : device->bandwidth)
      if (row.resource == kRead && row.measured)
        keep_smallest(slowest_rate, llama_tokens_per_s(*device->gpu, *row.measured));
  if (!slowest_rate) return std::nullopt;
  return fmt::format("Llama-3.1-8B in BF16 decodes one sequence at {} tokens/s at most ({}).",
                     format_number(*slowest_rate), labels(kRead));
}

// Headlines in the order of resources, without the host link's.
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

struct Headlines {
  std::vector<FigureRow> rows;
  std::vector<std::string> left_out;  // labels of figures not measured
};
Headlines headlines_of(const Alike& group, const std::string& held_against) {
  Headlines result;
  const std::vector<HeadlineFigure>& first = group.first().headlines;
  for (const std::size_t i : order_of(first)) {
    FigureRow row{.label = first[i].label,
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
      result.left_out.push_back(row.label);
    else
      result.rows.push_back(std::move(row));
  }
  return result;
}

// The lowest healthy value of a figure, if known.
std::optional<double> healthy_from(const Checks& checks, std::string_view uuid,
                                   const std::string& resource, Basis basis) {
  for (const CheckedFile& file : checks.files) {
    for (const CheckedDevice& device : file.result.devices) {
      if (device.uuid != uuid) continue;
      const std::string name = fmt::format("{}/{}", device.name, ceiling_name(resource, basis));
      for (const JudgedRule& rule : device.rules)
        if (rule.name == name && rule.vouched) return rule.limit;
    }
  }
  return std::nullopt;
}

// "NCCL used RING (all-reduce), with NVLink multicast (NVLS) off."
std::optional<std::string> collectives_note(const DeviceOverview& node,
                                            const ResourceLabels& labels) {
  std::vector<std::string> algorithms;
  bool multicast_off = false;
  for (const BandwidthRow& row : node.bandwidth) {
    const bool shown = std::ranges::any_of(
        node.headlines, [&](const auto& headline) { return headline.resource == row.resource; });
    if (!shown) continue;
    multicast_off = multicast_off || row.multicast_off;
    if (!row.algorithm.empty())
      algorithms.push_back(fmt::format("{}: {}", labels(row.resource), row.algorithm));
  }
  if (multicast_off) algorithms.emplace_back("NVLink multicast (NVLS) was off");
  if (algorithms.empty()) return std::nullopt;
  return fmt::format("{}.", fmt::join(algorithms, "; "));
}

// A resource's compute ceilings of all devices of the group.
std::vector<const ComputeRow*> compute_rows(const Alike& group, std::string_view resource,
                                            Basis basis) {
  std::vector<const ComputeRow*> rows;
  for (const DeviceOverview* device : group.devices)
    for (const ComputeRow& row : device->compute)
      if (row.resource == resource && row.basis == basis && row.measured) rows.push_back(&row);
  return rows;
}

std::optional<double> slowest(const std::vector<const ComputeRow*>& rows) {
  std::optional<double> rate;
  for (const ComputeRow* row : rows) keep_smallest(rate, row->measured);
  return rate;
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

// "GEMMs of N x N x N reach 90 % of burst per clock from about N = 3500 in BF16, 3900 in FP8; a
// transformer's layers from about 870 tokens in BF16, 1000 in FP8": maxima over GPUs and shapes.
std::optional<std::string> gemm_sizes(const Alike& group) {
  const auto from = [&](const char* role, const char* unit) {
    std::vector<std::pair<std::string, double>> largest;  // by format
    for (const DeviceOverview* device : group.devices) {
      for (const Curve& curve : device->curves) {
        for (const Figure& figure : curve.figures) {
          const auto format = text_param(figure.by, "format");
          if (figure.role != role || !format) continue;
          const auto known =
              std::ranges::find(largest, *format, &std::pair<std::string, double>::first);
          if (known == largest.end())
            largest.emplace_back(*format, figure.value);
          else
            known->second = std::max(known->second, figure.value);
        }
      }
    }
    std::vector<std::string> texts;
    for (const auto& [format, size] : largest)
      texts.push_back(
          fmt::format("{:.0f}{} in {}", size, texts.empty() ? unit : "", upper(format)));
    return joined(texts);
  };
  const std::string sides = from(role::kFullRateSide, "");
  const std::string tokens = from(role::kFullRateTokens, " tokens");
  if (sides.empty()) return std::nullopt;
  return fmt::format("GEMMs of N x N x N reach 90 % of burst per clock from about N = {}{}.", sides,
                     tokens.empty() ? "" : "; a transformer's layers from about " + tokens);
}

// The slowest GPU's figure with that role.
std::optional<double> slowest_figure(const Alike& group, const char* role) {
  std::optional<double> rate;
  for (const DeviceOverview* device : group.devices)
    for (const Curve& curve : device->curves)
      if (const Figure* found = find_figure(curve.figures, {.role = role}))
        keep_smallest(rate, found->value);
  return rate;
}

// "Random reads of 4 KiB: 10266 per s at depth 1, 34313 per s at depth 64."
std::optional<std::string> random_reads(const Overview& content) {
  std::optional<std::int64_t> block;
  std::vector<std::string> rates;
  for (const DeviceOverview& device : content.devices) {
    for (const Curve& curve : device.curves) {
      for (const Figure& figure : curve.figures) {
        const auto bytes = int_param(figure.by, "block"), depth = int_param(figure.by, "depth");
        if (figure.role != role::kRandomReads || !bytes || !depth ||
            block.value_or(*bytes) != *bytes)
          continue;
        block = bytes;
        rates.push_back(fmt::format("{:.0f} per s at depth {}", figure.value, *depth));
      }
    }
  }
  if (rates.empty()) return std::nullopt;
  return fmt::format("Random reads of {}: {}.", format_size(static_cast<double>(*block)),
                     joined(rates));
}

}  // namespace

Screen::Section machine_section(const Profile& profile, const Overview& content) {
  Screen::Section section{.name = "machine", .columns = {{"", left(2)}}};
  const auto add = [&](std::string label, std::string text) {
    section.rows.push_back({std::move(label), {std::move(text)}});
  };
  for (const Alike& group : alike_gpus(content, true)) {
    const DeviceFacts& gpu = *group.first().gpu;
    std::vector<std::string> parts = group.first().traits;
    parts.insert(parts.begin(), gpu.name);
    add(group.names,
        joined(parts) +
            (gpu.unusable.empty() ? std::string() : "; cannot be measured: " + gpu.unusable));
  }
  const HostFacts& host = profile.host;
  const SoftwareFacts& software = profile.software;
  const std::string host_text = joined(
      {host.hostname, cpu_text(host), host.memory_bytes ? format_size(*host.memory_bytes) : "",
       in_virtual_machine(host) ? "in a virtual machine"
       : in_container(host)     ? "in a container"
                                : "",
       software.driver.empty() ? "" : "driver " + software.driver,
       software.cuda_runtime.empty() ? "" : "CUDA " + software.cuda_runtime});
  if (!host_text.empty()) add("Host", host_text);
  std::string run =
      fmt::format("{}, {}, {}, {}; {} measured, {} skipped", profile.mode,
                  profile.complete ? "complete" : styled(Style::kYellow, "PARTIAL"),
                  format_time(profile.duration_s), profile.created.substr(0, 10),
                  format_count(static_cast<std::int64_t>(content.ok), "point"), content.skipped);
  if (content.failed > 0) run += styled(Style::kYellow, fmt::format(", {} failed", content.failed));
  add("Run", std::move(run));
  return section;
}

Screen::Section links_section(const Profile& profile, const Checks& checks,
                              const DeviceOverview& node) {
  Screen::Section section{.name = "links",
                          .title = fmt::format("Between GPUs: {}", joined(node.traits))};
  const Alike group{.names = "node", .devices = {&node}};
  std::vector<FigureRow> rows = headlines_of(group, "links allow").rows;
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

Screen::Section gpus_section(const Profile& profile, const Alike& group,
                             const ResourceLabels& labels) {
  Screen::Section section{.name = "gpus"};
  const auto [rows, left_out] = headlines_of(group, "published");
  const auto note = [&](std::optional<std::string> text) {
    if (text) section.notes.push_back(std::move(*text));
  };
  if (!rows.empty()) add_figures(section, rows, group.several(), "published");
  if (std::ranges::any_of(rows, &FigureRow::computed))
    note("In brackets: computed from units and clocks; what is published is not known.");
  if (!left_out.empty()) note(not_measured(profile, left_out));
  note(power_note(group, labels));
  note(gemm_sizes(group));
  note(decoding(group, labels));
  return section;
}

Screen::Section mfu_section(const Alike& group, const ResourceLabels& labels) {
  Screen::Section section{.name = "mfu", .columns = {{"", right(2)}, {"", left(2)}}};
  const auto& headlines = group.first().headlines;
  const auto loaded = std::ranges::find(headlines, Basis::kSustained, &HeadlineFigure::basis);
  if (loaded == headlines.end()) return section;
  const std::string& resource = loaded->resource;
  const ComputeRow* known = nullptr;
  for (const ComputeRow& row : group.first().compute)
    if (row.resource == resource) known = &row;
  const auto burst = slowest(compute_rows(group, resource, Basis::kBurst));
  const auto under_load = compute_rows(group, resource, Basis::kSustained);
  const auto sustained = slowest(under_load);
  const auto model = slowest(compute_rows(group, resource, Basis::kModelShaped));
  if (known == nullptr || (!burst && !sustained)) return section;

  section.title =
      fmt::format("MFU in {}: which peak to divide by{}", precision_of(labels(resource)),
                  group.several() ? ", of the slowest GPU" : "");
  const auto add = [&](const std::optional<double>& value, const char* name, std::string use) {
    if (value)
      section.rows.push_back(
          {name, {styled(Style::kBold, format_rate(*value, known->unit)), std::move(use)}});
  };
  const auto published = known->datasheet ? known->datasheet : known->peak_at_max_clock;
  add(known->datasheet, "published", "MFU as papers and tables state it");
  if (!known->datasheet)
    add(known->peak_at_max_clock, "computed",
        "from units and clocks; what is published is not known");
  const bool capped = std::ranges::any_of(under_load, &ComputeRow::power_capped);
  add(sustained, "achievable",
      std::string("large GEMMs, sustained") + (capped ? " at this GPU's power limit" : ""));
  if (!sustained) add(burst, "burst", "large GEMMs from rest; a full run measures sustained load");
  add(model, "model", "the layers of a transformer, sustained");
  if (known->datasheet && sustained) {
    std::string same = fmt::format("An MFU of 50 % is {} of achievable",
                                   format_percent(*published / 2 / *sustained));
    if (model) same += fmt::format(" and {} of model", format_percent(*published / 2 / *model));
    section.notes.push_back(same + ".");
  }
  return section;
}

Screen::Section memory_map_section(const Alike& group) {
  Screen::Section section{
      .name = "memory_map",
      .title = group.several() ? "Memory map of " + names_of({&group.first()}) : "Memory map",
      .columns = {{"size", right(2)}, {"read", right(2)}, {"latency", right(2)}}};
  const DeviceOverview& device = group.first();
  // Bandwidths alone are in the section above.
  if (std::ranges::none_of(device.memory_map, [](const MemoryLevel& l) { return !!l.latency_s; }))
    return section;
  const auto text = [](const std::optional<double>& value, const auto& format) {
    return value ? format(*value) : std::string();
  };
  for (const MemoryLevel& level : device.memory_map) {
    // Shared memory has its L1's size and data path.
    if (level.level == "shared") continue;
    const auto size = [&](const std::optional<double>& bytes) {
      return text(bytes, format_size) + (bytes && level.per_sm ? "/SM" : "");
    };
    const std::string label = level.level == "hbm" ? std::string(memory_name(*device.gpu))
                              : level.level == "host"
                                  ? fmt::format("host memory over {}", host_link_name(*device.gpu))
                                  : level.label;
    const std::string held = size(level.held_bytes);
    section.rows.push_back(
        {label,
         {level.size_bytes ? size(level.size_bytes)
          : held.empty()   ? held
                           : "at least " + held,
          text(level.bytes_per_s, [](double r) { return format_rate(r, "B/s"); }),
          text(level.latency_s, format_time)}});
    if (level.far_latency_s)
      section.rows.push_back(
          {label + ", far partition", {"", "", format_time(*level.far_latency_s)}});
  }
  return section;
}

Screen::Section host_link_section(const Checks& checks, const Alike& group,
                                  const ResourceLabels& labels) {
  Screen::Section section{.name = "host_link"};
  std::vector<FigureRow> rows;
  const BandwidthRow* one_way = nullptr;
  for (const BandwidthRow& first : group.first().bandwidth) {
    if (!of_host_link(first.resource)) continue;
    if (one_way == nullptr) one_way = &first;
    FigureRow row{.label = labels(first.resource),
                  .unit = "B/s",
                  .reference = first.data_rate ? first.data_rate : first.theoretical,
                  .missing = first.how};
    for (const DeviceOverview* device : group.devices)
      for (const BandwidthRow& same : device->bandwidth)
        if (same.resource == first.resource)
          row.add(*device, same.measured, same.data_rate ? same.data_rate : same.theoretical,
                  same.next_run);
    if (!row.measured.empty())
      row.healthy_from = healthy_from(checks, row.measured.front().device->device, first.resource,
                                      Basis::kMeasured);
    if (!row.measured.empty() || row.missing != kNotMeasured) rows.push_back(std::move(row));
  }
  if (rows.empty()) return section;
  const DeviceFacts& gpu = *group.first().gpu;
  const bool packets = one_way->theoretical && one_way->data_rate && gpu.pcie.max_payload_bytes;
  section.title = host_link_title(gpu, *one_way, packets);
  add_figures(section, rows, group.several(), packets ? "packets allow" : "raw rate");
  section.notes.emplace_back("H2D: host to device; D2H: device to host; with pinned memory.");
  const auto h2d = slowest_figure(group, role::kPageableToDevice);
  const auto d2h = slowest_figure(group, role::kPageableToHost);
  if (h2d && d2h)
    section.notes.push_back(
        fmt::format("Large pageable copies: {} H2D, {} D2H. Pin buffers that you copy often.",
                    format_rate(*h2d, "B/s"), format_rate(*d2h, "B/s")));
  return section;
}

Screen::Section host_section(const Profile& profile, const DeviceOverview& host) {
  Screen::Section section{.name = "host"};
  const auto [rows, left_out] = headlines_of({.names = "host", .devices = {&host}}, "");
  if (!rows.empty()) add_figures(section, rows, false, "");
  if (!left_out.empty()) section.notes.push_back(not_measured(profile, left_out));
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
