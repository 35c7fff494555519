#include "harness/show/screen_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "harness/conclude/decoding.hpp"
#include "harness/conclude/findings.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/show/machine.hpp"
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

// "BF16"
std::string format_of(const DeviceView& device, const std::string& resource) {
  const auto& all = device.profile->resources;
  const auto found = std::ranges::find(all, resource, &Resource::name);
  return found == all.end() ? resource : placed(*found).format;
}

// The clock of a power-limited sustained load, and that it is normal where the rate is a healthy
// one.
std::optional<std::string> power_note(const Checks& checks, const DeviceView& gpu) {
  const auto &max_hz = gpu.facts->sm_clock_max_hz, &limit_w = gpu.facts->power_limit_w;
  for (const Headline* headline : gpu.headlines) {
    const Ceiling* row = gpu.ceiling(headline->resource, Basis::kSustained);
    if (row == nullptr || !power_capped(row->conditions) || !max_hz || !limit_w) continue;
    const auto& clock_hz = row->conditions.sm_clock_hz;
    if (!clock_hz || *clock_hz >= kFullClockShare * *max_hz) continue;
    const auto healthy = healthy_from(checks, gpu.name(), {row->resource, Basis::kSustained});
    return fmt::format("Under load the {:.0f} W limit holds {} at {:.0f} of {}{}.", *limit_w,
                       format_of(gpu, row->resource), *clock_hz / 1e6, format_clock(*max_hz),
                       healthy && row->value >= *healthy ? ": that is normal" : "");
  }
  return std::nullopt;
}

// The energy of operations under load: "Under load the board takes 0.97 pJ/FLOP in BF16, ...".
std::optional<std::string> energy_note(const DeviceView& gpu) {
  std::vector<std::string> parts;
  for (const Headline* headline : gpu.headlines) {
    const Ceiling* row = gpu.ceiling(headline->resource, Basis::kSustained);
    const auto energy = joules_per_operation(row);
    if (!energy || headline->basis != Basis::kSustained) continue;
    parts.push_back(fmt::format("{} in {}", format_rough(*energy, energy_unit(row->unit)),
                                format_of(gpu, row->resource)));
  }
  if (parts.empty()) return std::nullopt;
  return fmt::format("Under load the board takes {}, idle power included.", joined(parts));
}

// A language model's rate by the slowest GPU's memory.
std::optional<std::string> decoding(const Checks& checks, const Alike& group,
                                    const ResourceLabels& labels) {
  static constexpr std::string_view kRead = "hbm.read";
  const auto rate = slowest(group, [](const DeviceView& device) -> std::optional<double> {
    const Ceiling* row = device.ceiling(kRead, Basis::kMeasured);
    return row == nullptr ? std::nullopt : llama_tokens_per_s(*device.facts, row->value);
  });
  if (!rate) return std::nullopt;
  const bool fails =
      outcome_of(checks, group, {std::string(kRead), Basis::kMeasured}) == Outcome::kFail;
  return fmt::format(
      "Llama-3.1-8B in BF16 decodes one sequence of {} tokens at {} tokens/s at most ({}{}).",
      kLlamaContext, format_number(*rate), labels(kRead),
      fails ? ", which fails: a healthy GPU decodes more" : "");
}

// Shares of burst per clock by size, the least over GPUs and shapes.
using SharesBySize = std::map<std::int64_t, double>;

// By format, in the order of the figures.
std::vector<std::pair<std::string, SharesBySize>> shares_by_size(const Alike& group,
                                                                 const char* role,
                                                                 std::string_view param) {
  std::vector<std::pair<std::string, SharesBySize>> all;
  for (const DeviceView* device : group.devices) {
    for (const Figure* figure : device->figures({.role = role})) {
      const auto format = text_param(figure->by, "format");
      const auto size = int_param(figure->by, param);
      if (!format || !size) continue;
      auto known = std::ranges::find(all, *format, &std::pair<std::string, SharesBySize>::first);
      if (known == all.end()) known = all.insert(known, {*format, {}});
      double& share = known->second.try_emplace(*size, figure->value).first->second;
      share = std::min(share, figure->value);
    }
  }
  return all;
}

// The note defines burst, and gives a transformer's layers by the tokens of a batch: "between 128
// and 1024 tokens (BF16)"; formats that do not become full within what was measured are left out.
std::optional<std::string> layers_note(const Alike& group) {
  std::vector<std::string> texts;
  for (const auto& [format, shares] : shares_by_size(group, role::kShareOfTokens, "tokens"))
    if (const auto tokens = full_between(shares))
      texts.push_back(fmt::format("{}{} and {}{} ({})", texts.empty() ? "between " : "",
                                  tokens->first, tokens->second, texts.empty() ? " tokens" : "",
                                  upper(format)));
  const std::string burst = "Burst is large GEMMs from rest";
  if (texts.empty()) return burst + '.';
  return fmt::format("{}; a transformer's layers reach {:.0f} % {}.", burst, 100 * role::kFullShare,
                     joined(texts));
}

std::optional<std::string> unmeasured_note(const Profile& profile,
                                           const std::vector<std::string>& labels) {
  return labels.empty() ? std::nullopt : std::optional(not_measured(profile, labels));
}

void add_notes(Table& table, std::initializer_list<std::optional<std::string>> notes) {
  for (const auto& note : notes)
    if (note) table.notes.push_back(*note);
}

}  // namespace

Table machine_table(const Profile& profile, const std::vector<DeviceView>& devices) {
  Table table{.key = "machine", .indent = 0, .label_style = Style::kBold};
  table.columns = {{.key = "what", .is_text = true}};
  const auto add = [&](std::string label, std::string text, Style style = Style::kPlain) {
    if (!text.empty())
      table.rows.push_back(
          {.label = std::move(label), .cells = {text_cell(std::move(text), style)}});
  };
  for (const Alike& group : alike_gpus(devices, true)) {
    const DeviceFacts& gpu = *group.first().facts;
    std::vector<std::string> parts = traits_of(group.first());
    parts.insert(parts.begin(), gpu.name);
    add(group.names,
        joined(parts) +
            (gpu.unusable.empty() ? std::string() : "; cannot be measured: " + gpu.unusable));
  }
  const HostFacts& host = profile.host;
  const SoftwareFacts& software = profile.software;
  add("Host", joined({host.hostname, cpu_text(host),
                      host.memory_bytes ? format_size(*host.memory_bytes) : "",
                      in_virtual_machine(host) ? "in a virtual machine"
                      : in_container(host)     ? "in a container"
                                               : "",
                      software.driver.empty() ? "" : "driver " + software.driver,
                      software.cuda_runtime.empty() ? "" : "CUDA " + software.cuda_runtime}));
  const PointCounts points = count_points(profile);
  std::string run = fmt::format("{}, {}, {}, {}; {} measured, {} skipped", profile.mode,
                                profile.complete ? "complete" : styled(Style::kYellow, "PARTIAL"),
                                format_time(profile.duration_s), profile.created.substr(0, 10),
                                format_count(points.ok, "point"), points.skipped);
  if (points.failed > 0) run += styled(Style::kYellow, fmt::format(", {} failed", points.failed));
  add("Run", std::move(run));
  return table;
}

Table gpus_table(const Checks& checks, const Alike& group, const ResourceLabels& labels) {
  Table table = figures_table("gpus", group, "published");
  const std::vector<std::string> left_out = add_headlines(table, group, checks);
  const bool computed = std::ranges::any_of(table.rows, [](const Row& row) {
    return std::ranges::find(row.cells, CellMark::kComputed, &Cell::mark) != row.cells.end();
  });
  add_notes(table,
            {computed ? std::optional(kComputedNote) : std::nullopt,
             unmeasured_note(*group.first().profile, left_out), power_note(checks, group.first()),
             energy_note(group.first()), decoding(checks, group, labels)});
  return table;
}

Table gemm_sizes(const Alike& group) {
  static constexpr std::array<std::int64_t, 4> kSides{1024, 2048, 4096, 8192};
  Table table{.key = "gemm_sizes", .title = "GEMMs of N x N x N, by N: % of burst at equal clock"};
  for (const std::int64_t side : kSides)
    table.columns.push_back(
        {.key = std::to_string(side), .head = std::to_string(side), .bare = true});
  table.columns.push_back({.key = "full_between",
                           .head = fmt::format("{:.0f} % between", 100 * role::kFullShare),
                           .is_text = true});
  for (const auto& [format, shares] : shares_by_size(group, role::kShareOfSide, "n")) {
    Row row{.key = format, .label = upper(format)};
    for (const std::int64_t side : kSides) {
      const auto at = shares.find(side);
      row.cells.push_back(number_cell(
          Format::kShare, at == shares.end() ? std::nullopt : std::optional(at->second)));
    }
    const auto full = full_between(shares);
    row.cells.push_back(text_cell(full ? fmt::format("{} and {}", full->first, full->second) : ""));
    table.rows.push_back(std::move(row));
  }
  if (!table.rows.empty()) add_notes(table, {layers_note(group)});
  return table;
}

Table mfu_choice(const Checks& checks, const Alike& group) {
  Table table{.key = "mfu"};
  table.columns = {{.key = "rate"}, {.key = "use", .is_text = true}};
  const DeviceView& first = group.first();
  const auto loaded = std::ranges::find(first.headlines, Basis::kSustained, &Headline::basis);
  if (loaded == first.headlines.end()) return table;
  const std::string& resource = (*loaded)->resource;
  std::string unit;
  const auto slowest_by = [&](Basis basis) {
    return slowest(group, [&](const DeviceView& device) {
      const Ceiling* row = device.ceiling(resource, basis);
      if (row != nullptr) unit = row->unit;
      return value_of(row);
    });
  };
  const auto burst = slowest_by(Basis::kBurst), sustained = slowest_by(Basis::kSustained),
             model = slowest_by(Basis::kModelShaped);
  if (!burst && !sustained) return table;

  table.title = fmt::format("MFU in {}: which peak to divide by{}", format_of(first, resource),
                            group.several() ? ", of the slowest GPU" : "");
  const auto published = value_of(first.ceiling(resource, Basis::kDatasheet)),
             computed = value_of(first.ceiling(resource, Basis::kTheoretical));
  const auto add = [&](const std::optional<double>& value, const char* name, Basis basis,
                       std::string use) {
    if (!value) return;
    Cell rate = value_cell(value, unit);
    rate.style = Style::kBold;
    table.rows.push_back(
        {.key = name, .label = name, .cells = {std::move(rate), text_cell(std::move(use))}});
    add_verdict(table.rows.back(), checks, group, {resource, basis});
  };
  add(published, "published", Basis::kDatasheet, "MFU divides by it");
  if (!published)
    add(computed, "computed", Basis::kTheoretical,
        "from units and clocks; what is published is not known");
  const bool capped = std::ranges::any_of(group.devices, [&](const DeviceView* device) {
    const Ceiling* row = device->ceiling(resource, Basis::kSustained);
    return row != nullptr && power_capped(row->conditions);
  });
  add(sustained, "achievable", Basis::kSustained,
      std::string("large GEMMs under load") + (capped ? ", at the power limit" : ""));
  if (!sustained)
    add(burst, "burst", Basis::kBurst, "large GEMMs from rest; a full run measures load");
  add(model, "model", Basis::kModelShaped, "a transformer's GEMMs under load");
  if (published && sustained) {
    // Some models, such as the L4, reach no half of what is published.
    const double mfu =
        std::min(*sustained, model.value_or(*sustained)) < *published / 2 ? 0.1 : 0.5;
    std::string same = fmt::format("An MFU of {:.0f} % is {} of achievable", mfu * 100,
                                   format_percent(*published * mfu / *sustained));
    if (model) same += fmt::format(" and {} of model", format_percent(*published * mfu / *model));
    table.notes.push_back(same + ".");
  }
  return table;
}

Table levels_table(const Checks& checks, const Alike& group) {
  const DeviceView& device = group.first();
  Table table{.key = "memory_map",
              .title = group.several() ? "Memory map of " + gpus_label({device.facts->index})
                                       : "Memory map"};
  table.columns = {{.key = "size", .head = "size"},
                   {.key = "read", .head = "read"},
                   {.key = "latency", .head = "latency"}};
  // Bandwidths alone are in the table above.
  if (std::ranges::none_of(device.memory_map, [](const MemoryLevel* l) { return !!l->latency_s; }))
    return table;
  const auto cell = [](const std::optional<double>& value, const char* unit, CellMark mark = {}) {
    return value ? value_cell(value, unit, mark) : text_cell("");
  };
  for (const MemoryLevel* level : device.memory_map) {
    // Shared memory has its L1's size and data path.
    if (level->level == "shared") continue;
    const std::string label =
        level->level == "hbm"    ? std::string(memory_name(*device.facts))
        : level->level == "host" ? fmt::format("host memory over {}", host_link_name(*device.facts))
                                 : level->label;
    Cell size = level->size_bytes ? cell(level->size_bytes, "B")
                                  : cell(level->held_bytes, "B", CellMark::kAtLeast);
    if (level->per_sm) size.suffix = "/SM";
    table.rows.push_back(
        {.key = level->level,
         .label = label,
         .cells = {std::move(size), cell(level->bytes_per_s, "B/s"), cell(level->latency_s, "s")}});
    add_verdict(table.rows.back(), checks, group, {level->level + ".read", Basis::kMeasured});
    if (level->far_latency_s)
      table.rows.push_back({.key = level->level + "/far",
                            .label = label + ", far partition",
                            .cells = {{}, {}, value_cell(level->far_latency_s, "s")}});
  }
  return table;
}

Table host_figures(const Checks& checks, const DeviceView& host) {
  const Alike group{.names = "host", .devices = {&host}};
  Table table = figures_table("host", group, "");
  add_notes(table, {unmeasured_note(*host.profile, add_headlines(table, group, checks))});
  return table;
}

}  // namespace peakline
