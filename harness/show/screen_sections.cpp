#include "harness/show/screen_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/conclude/decoding.hpp"
#include "harness/conclude/findings.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/judge/sides.hpp"
#include "harness/show/show_tables.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// "Not part of a quick run: BF16 sustained. peakline run without --quick measures it."
std::string not_measured(const Profile& profile, const std::vector<std::string>& labels) {
  const std::string what = joined(labels);
  return profile.mode == "quick" && profile.complete && profile.asked.filter.empty()
             ? fmt::format("Not part of a quick run: {}. peakline run without --quick measures {}.",
                           what, labels.size() == 1 ? "it" : "them")
             : fmt::format("Not measured in this run: {}.", what);
}

// The clock of a power-limited sustained load, and that it is normal where the rate is a healthy
// one.
std::optional<std::string> power_note(const Checks& checks, const DeviceOverview& gpu,
                                      const ResourceLabels& labels) {
  for (const HeadlineFigure& headline : gpu.headlines) {
    const ComputeRow* row = gpu.find_compute(headline.resource, Basis::kSustained);
    if (row == nullptr || !row->power_capped || !row->observed_clock_hz || !row->max_clock_hz ||
        !gpu.gpu->power_limit_w || *row->observed_clock_hz >= kFullClockShare * *row->max_clock_hz)
      continue;
    const auto healthy = healthy_from(checks, gpu.device, row->resource, Basis::kSustained);
    return fmt::format("Under load the {:.0f} W limit holds {} at {:.0f} of {}{}.",
                       *gpu.gpu->power_limit_w, precision_of(labels(row->resource)),
                       *row->observed_clock_hz / 1e6, format_clock(*row->max_clock_hz),
                       healthy && row->measured >= healthy ? ": that is normal" : "");
  }
  return std::nullopt;
}

// A language model's rate by the slowest GPU's memory.
std::optional<std::string> decoding(const Alike& group, const ResourceLabels& labels) {
  static constexpr std::string_view kRead = "hbm.read";
  const auto rate = slowest(group, [](const DeviceOverview& device) -> std::optional<double> {
    const BandwidthRow* row = device.find_bandwidth(kRead);
    if (row == nullptr || !row->measured) return std::nullopt;
    return llama_tokens_per_s(*device.gpu, *row->measured);
  });
  if (!rate) return std::nullopt;
  return fmt::format("Llama-3.1-8B in BF16 decodes one sequence at {} tokens/s at most ({}).",
                     format_number(*rate), labels(kRead));
}

// "GEMMs of N x N x N reach 90 % of burst per clock from about N = 3500 in BF16, 3900 in FP8; a
// transformer's layers from about 870 tokens in BF16, 1000 in FP8": maxima over GPUs and shapes.
std::optional<std::string> gemm_sizes(const Alike& group) {
  const auto from = [&](const char* role, const char* unit) {
    std::vector<std::pair<std::string, double>> largest;  // by format
    for (const DeviceOverview* device : group.devices) {
      for (const Figure* figure : figures_with(device->curves, role)) {
        const auto format = text_param(figure->by, "format");
        if (!format) continue;
        auto known = std::ranges::find(largest, *format, &std::pair<std::string, double>::first);
        if (known == largest.end()) known = largest.insert(known, {*format, 0});
        known->second = std::max(known->second, figure->value);
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
  std::string run = fmt::format("{}, {}, {}, {}; {} measured, {} skipped", profile.mode,
                                profile.complete ? "complete" : styled(Style::kYellow, "PARTIAL"),
                                format_time(profile.duration_s), profile.created.substr(0, 10),
                                format_count(content.ok, "point"), content.skipped);
  if (content.failed > 0) run += styled(Style::kYellow, fmt::format(", {} failed", content.failed));
  add("Run", std::move(run));
  return section;
}

Screen::Section gpus_section(const Profile& profile, const Checks& checks, const Alike& group,
                             const ResourceLabels& labels) {
  Screen::Section section{.name = "gpus"};
  const auto [rows, left_out] = headlines_of(group);
  const auto note = [&](std::optional<std::string> text) {
    if (text) section.notes.push_back(std::move(*text));
  };
  if (!rows.empty()) add_figures(section, rows, group.several(), "published");
  if (std::ranges::any_of(rows, &FigureRow::computed))
    note("In brackets: computed from units and clocks; what is published is not known.");
  if (!left_out.empty()) note(not_measured(profile, left_out));
  note(power_note(checks, group.first(), labels));
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
  const auto& rows = group.first().compute;
  const auto known = std::ranges::find(rows, resource, &ComputeRow::resource);
  const auto slowest_by = [&](Basis basis) {
    return slowest(group, [&](const DeviceOverview& device) {
      const ComputeRow* row = device.find_compute(resource, basis);
      return row == nullptr ? std::nullopt : row->measured;
    });
  };
  const auto burst = slowest_by(Basis::kBurst), sustained = slowest_by(Basis::kSustained),
             model = slowest_by(Basis::kModelShaped);
  if (known == rows.end() || (!burst && !sustained)) return section;

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
  const bool capped = std::ranges::any_of(group.devices, [&](const DeviceOverview* device) {
    const ComputeRow* row = device->find_compute(resource, Basis::kSustained);
    return row != nullptr && row->power_capped;
  });
  add(sustained, "achievable",
      std::string("large GEMMs, sustained") + (capped ? " at this GPU's power limit" : ""));
  if (!sustained) add(burst, "burst", "large GEMMs from rest; a full run measures sustained load");
  add(model, "model", "the layers of a transformer, sustained");
  if (known->datasheet && sustained) {
    // Some models, such as the L4, reach no half of what is published.
    const double mfu =
        std::min(*sustained, model.value_or(*sustained)) < *published / 2 ? 0.1 : 0.5;
    std::string same = fmt::format("An MFU of {:.0f} % is {} of achievable", mfu * 100,
                                   format_percent(*published * mfu / *sustained));
    if (model) same += fmt::format(" and {} of model", format_percent(*published * mfu / *model));
    section.notes.push_back(same + ".");
  }
  return section;
}

Screen::Section memory_map_section(const Alike& group) {
  Screen::Section section{
      .name = "memory_map",
      .title = group.several() ? "Memory map of " + gpus_label({group.first().gpu->index})
                               : "Memory map",
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

Screen::Section host_section(const Profile& profile, const DeviceOverview& host) {
  Screen::Section section{.name = "host"};
  const auto [rows, left_out] = headlines_of({.names = "host", .devices = {&host}});
  if (!rows.empty()) add_figures(section, rows, false, "");
  if (!left_out.empty()) section.notes.push_back(not_measured(profile, left_out));
  return section;
}

}  // namespace peakline
