#include "harness/show/device_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "harness/conclude/factors.hpp"
#include "harness/conclude/findings.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/judge/check.hpp"
#include "harness/show/figures.hpp"
#include "harness/show/verdict_line.hpp"
#include "harness/values/resources.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Rates from here on count as at their limit, given the precision of the clock.
constexpr double kAtTheLimit = 0.995;

constexpr double kSameFigure = 0.005;

bool tried(const DeviceView& device, std::string_view resource, Basis basis) {
  return device.ceiling(resource, basis) != nullptr || device.missing(resource, basis) != nullptr;
}

// The largest loss: a lowered clock with its cause, or another factor. A product's half rate is no
// loss of the run and is printed first.
std::string why_not_all(const Ceiling& measured, const Ceiling* theoretical) {
  if (theoretical == nullptr) return "theoretical peak not known";
  const auto& observed_hz = measured.conditions.sm_clock_hz;
  double half_rate = 1, boost = 1, clock = 1;
  const Factor* other = nullptr;
  for (const Factor& f : measured.factors) {
    if (f.name == kHalfRateFactor) {
      half_rate = f.value;
    } else if (f.name == kBoostFactor) {
      boost = f.value;
    } else if (f.name == kClockFactor) {
      clock = f.value;
    } else if (other == nullptr || f.value < other->value) {
      other = &f;
    }
  }
  const std::string product = half_rate < 1 ? "half rate; " : "";
  const double share = measured.value / theoretical->value / half_rate;
  if (share >= kAtTheLimit) return product + "at the limit";
  if (!observed_hz || measured.factors.empty()) return "clock not read";
  // Clock above boost and boost below maximum are one loss.
  const double at_clock = boost * clock, least = other == nullptr ? 1 : other->value;
  if (std::min(at_clock, least) >= kAtTheLimit) return product + "at the limit";
  if (least < at_clock) {
    // Besides clock, waves and instructions, the kernel's own share.
    const std::string name = other->name == kRestFactor ? "kernel" : other->name;
    return product + fmt::format("{}: {:.0f} %", name, least * 100);
  }
  const Conditions& conditions = measured.conditions;
  const std::string_view cause = thermally_limited(conditions) ? "thermal limit"
                                 : power_capped(conditions)    ? "power cap"
                                                               : kClockFactor;
  const std::string above =
      clock > 1 ? fmt::format(" (boost: {:.0f})", *observed_hz / clock / 1e6) : "";
  return product + fmt::format("{}: {}{}", cause, format_clock(*observed_hz), above);
}

Cell peak_cell(const std::optional<double>& value, std::string_view unit,
               const std::optional<double>& clock_hz) {
  Cell cell = value_cell(value, unit);
  if (value) cell.clock_hz = clock_hz;
  return cell;
}

Row compute_row(const DeviceView& device, const Resource& of, Basis basis) {
  const Ceiling* row = device.ceiling(of.name, basis);
  const Ceiling* theoretical = device.ceiling(of.name, Basis::kTheoretical);
  const Ceiling* datasheet = device.ceiling(of.name, Basis::kDatasheet);
  const DeviceFacts& gpu = *device.facts;
  const auto value = value_of(row), peak = value_of(theoretical), published = value_of(datasheet);
  const Conditions conditions = row == nullptr ? Conditions{} : row->conditions;
  const auto &clock_hz = conditions.sm_clock_hz, &power_w = conditions.power_w;
  const auto divided = [](const std::optional<double>& x, const std::optional<double>& by) {
    return x && by ? std::optional(*x / *by) : std::nullopt;
  };
  const auto observed = clock_hz ? theoretical_flops(gpu, of.name, *clock_hz) : std::nullopt;
  Row shown{.key = to_string(FigureKey{of.name, basis}), .label = placed(of).format};
  // A datasheet that equals the computed peak after rounding has its share, too.
  const bool same = published && peak && std::abs(*published / *peak - 1) < kSameFigure;
  const Cell next = next_run_cell(device, row);
  const std::string why = row == nullptr ? "" : why_not_all(*row, theoretical);
  shown.cells = {text_cell(basis_label(basis)),
                 measured_cell(device, of.name, basis),
                 value_cell(peak, of.unit),
                 share_cell(value, peak),
                 peak_cell(published, of.unit,
                           datasheet == nullptr ? std::nullopt : datasheet->conditions.sm_clock_hz),
                 same ? text_cell("") : share_cell(value, published),
                 peak_cell(observed, of.unit, clock_hz),
                 share_cell(value, observed),
                 value_cell(divided(divided(value, clock_hz), gpu.sm_count), ""),
                 value_cell(joules_per_operation(row), energy_unit(of.unit)),
                 value_cell(power_w, "W"),
                 value_cell(conditions.temperature_c, "°C"),
                 next,
                 text_cell(row != nullptr && device.source(*row) != nullptr &&
                                   device.source(*row)->flags.unstable
                               ? "varies; " + why
                               : why)};
  return shown;
}

std::string how_measured(const DeviceView& device, const Ceiling& row) {
  const Measurement* m = device.source(row);
  if (m == nullptr) return {};
  std::vector<std::string> parts;
  if (const auto width = int_param(m->params, "width")) {
    parts.push_back(fmt::format("{} B wide", *width));
  }
  if (const auto bytes = int_param(m->params, "bytes")) {
    parts.push_back(format_size(static_cast<double>(*bytes)));
  }
  if (const auto threads = int_param(m->params, "threads")) {
    parts.push_back(format_count(*threads, "thread"));
  }
  if (const auto algorithm = text_param(m->launch, "algorithm")) parts.push_back(*algorithm);
  if (text_param(m->launch, "nvls") == "0") parts.emplace_back("NVLS off");
  if (const Ceiling* link = device.ceiling(row.resource, Basis::kTheoretical)) {
    const auto& [generation, width] =
        std::pair(link->conditions.pcie_generation, link->conditions.pcie_width);
    if (generation && width) parts.push_back(fmt::format("{}.0 x{}", *generation, *width));
  }
  return joined(parts);
}

// The device's measured or missing bandwidths.
std::vector<const Resource*> bandwidths_of(const DeviceView& device) {
  std::vector<const Resource*> found;
  for (const Resource& resource : device.profile->resources)
    if (resource.kind == Resource::Kind::kMemory && tried(device, resource.name, Basis::kMeasured))
      found.push_back(&resource);
  return found;
}

// The bases of a compute resource that were tried, or that an interrupted run owes.
std::vector<Basis> bases_of(const DeviceView& device, const Resource& resource) {
  std::vector<Basis> found;
  if (resource.kind != Resource::Kind::kCompute) return found;
  for (const Basis basis : {Basis::kInstruction, Basis::kMeasured, Basis::kBurst, Basis::kSustained,
                            Basis::kModelBurst, Basis::kModelShaped}) {
    // A finished quick run never measures the sustained figure.
    const bool owed = basis == Basis::kSustained && !device.profile->complete &&
                      std::ranges::find(found, Basis::kBurst) != found.end();
    if (tried(device, resource.name, basis) || owed) found.push_back(basis);
  }
  return found;
}

}  // namespace

Table headlines_table(const DeviceView& device) {
  const Alike alone{.names = {}, .devices = {&device}};
  Table table = figures_table("headlines", alone, device.is_node() ? "links allow" : "published");
  add_headlines(table, alone, Checks{});
  return table;
}

Table compute_table(const DeviceView& device) {
  Table table{.key = "compute",
              .title = "Compute, TFLOP/s",
              .remark =
                  "dense, FMA = 2 FLOP; peaks at the clock after @, in MHz; pJ/OP: the whole "
                  "board's energy per FLOP or OP",
              .labels_once = true};
  if (device.facts == nullptr) return table;
  const auto& max_hz = device.facts->sm_clock_max_hz;
  // Ranks of columns: a narrow terminal drops the highest first.
  enum { kNever, kObserved, kEnergy, kPublished, kNextRun, kEfficiency, kConditions };
  const auto share = [](const char* key, int rank) {
    return Column{.key = key, .head = "%", .gap = 1, .dispensable = rank, .bare = true};
  };
  table.columns = {
      {.key = "basis", .is_text = true, .gap = 1},
      {.key = "measured", .head = "measured", .gap = 1, .bare = true},
      {.key = "theoretical",
       .head = max_hz ? fmt::format("@{:.0f}", *max_hz / 1e6) : "peak",
       .bare = true},
      share("share_of_theoretical", kNever),
      {.key = "published", .head = "published", .dispensable = kPublished, .bare = true},
      share("share_of_published", kPublished),
      {.key = "observed", .head = "observed", .dispensable = kObserved, .bare = true},
      share("share_of_observed", kObserved),
      {.key = "per_clock_per_sm", .head = "/clk/SM", .dispensable = kEfficiency, .bare = true},
      {.key = "energy", .head = "pJ/OP", .dispensable = kEnergy, .bare = true},
      {.key = "power", .head = "W", .dispensable = kConditions, .bare = true},
      {.key = "temperature", .head = "°C", .dispensable = kConditions, .bare = true},
      {.key = "next_run", .head = "next run", .dispensable = kNextRun},
      {.key = "why", .head = "why not 100 %", .is_text = true}};
  // Resources of an engine stand together, even if the profile separates them.
  std::vector<std::pair<std::string, std::vector<Row>>> groups;
  for (const Resource& resource : device.profile->resources) {
    for (const Basis basis : bases_of(device, resource)) {
      const std::string engine = placed(resource).engine;
      auto group = std::ranges::find(groups, engine, &decltype(groups)::value_type::first);
      if (group == groups.end()) group = groups.insert(group, {engine, {}});
      group->second.push_back(compute_row(device, resource, basis));
    }
  }
  for (auto& [engine, rows] : groups) {
    table.rows.push_back(heading(engine));
    std::ranges::move(rows, std::back_inserter(table.rows));
  }
  return table;
}

Table mfu_table(const DeviceView& gpu, const ResourceLabels& labels) {
  Table table{.key = "mfu",
              .title = "Peaks for MFU, TFLOP/s",
              .remark =
                  "burst: large GEMMs from rest; achievable: the same under load; "
                  "model: a transformer's layers under load"};
  // Ranks of columns: a narrow terminal drops the highest first.
  enum { kNever, kShares, kBurst };
  table.columns = {{.key = "published", .head = "published", .bare = true}};
  for (const auto& [key, rank, shares] : {std::tuple{"burst", kBurst, kBurst},
                                          {"achievable", kNever, kShares},
                                          {"model", kNever, kShares}}) {
    table.columns.push_back({.key = key, .head = key, .dispensable = rank, .bare = true});
    table.columns.push_back({.key = fmt::format("share_of_{}", key),
                             .head = "%",
                             .gap = 1,
                             .dispensable = shares,
                             .bare = true});
  }
  for (const Resource& resource : gpu.profile->resources) {
    const std::string& name = resource.name;
    const std::string_view unit = part_of(name);
    if ((unit != "tensor" && unit != "gemm") || (gpu.ceiling(name, Basis::kBurst) == nullptr &&
                                                 gpu.ceiling(name, Basis::kSustained) == nullptr))
      continue;
    const auto published = value_of(gpu.ceiling(name, Basis::kDatasheet)),
               computed = value_of(gpu.ceiling(name, Basis::kTheoretical));
    const auto& peak = published ? published : computed;
    Row row{.key = name, .label = labels(name)};
    row.cells = {value_cell(peak, resource.unit,
                            !published && computed ? CellMark::kComputed : CellMark::kNone)};
    for (const Basis basis : {Basis::kBurst, Basis::kSustained, Basis::kModelShaped}) {
      const bool there = gpu.ceiling(name, basis) != nullptr;
      row.cells.push_back(there ? measured_cell(gpu, name, basis) : value_cell({}, resource.unit));
      row.cells.push_back(there ? share_cell(row.cells.back().value, peak) : text_cell(""));
    }
    if (row.cells[0].mark == CellMark::kComputed) table.notes = {kComputedNote};
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table host_table(const DeviceView& host, const ResourceLabels& labels) {
  Table table{.key = "host"};
  table.columns = {{.key = "measured"},
                   {.key = "next_run", .head = "next run"},
                   {.key = "notes", .is_text = true, .dispensable = 1}};
  const auto add = [&](const Resource& resource, Basis basis) {
    const Ceiling* row = host.ceiling(resource.name, basis);
    table.rows.push_back(
        {.key = to_string(FigureKey{resource.name, basis}),
         .label = labels(resource.name),
         .cells = {measured_cell(host, resource.name, basis), next_run_cell(host, row),
                   text_cell(row == nullptr ? "" : how_measured(host, *row))}});
  };
  for (const Resource* resource : bandwidths_of(host)) add(*resource, Basis::kMeasured);
  for (const Resource& resource : host.profile->resources)
    for (const Basis basis : bases_of(host, resource)) add(resource, basis);
  return table;
}

Table bandwidth_table(const DeviceView& device, const ResourceLabels& labels) {
  Table table =
      device.is_node()
          ? Table{.key = "links",
                  .title = "Between GPUs, GB/s",
                  .remark =
                      "each byte once; NCCL: bus bandwidth, as nccl-tests counts; %: of the rate "
                      "beside it"}
          : Table{.key = "bandwidth",
                  .title = "Memory and host link, GB/s",
                  .remark = "bytes read + written; PCIe: each byte once"};
  // Ranks of columns: a narrow terminal drops the highest first.
  enum { kNever, kPeak, kNotes, kPublished };
  table.columns = {
      {.key = "measured", .head = "measured", .bare = true},
      {.key = "theoretical", .head = "theoretical", .dispensable = kPeak, .bare = true},
      {.key = "share_of_theoretical", .head = "%", .gap = 1, .bare = true},
      {.key = "published", .head = "published", .dispensable = kPublished, .bare = true},
      {.key = "share_of_published", .head = "%", .gap = 1, .dispensable = kPublished, .bare = true},
      {.key = "next_run", .head = "next run"},
      {.key = "notes", .head = "notes", .is_text = true, .dispensable = kNotes}};
  table.columns[1].gap = table.columns[3].gap = 3;
  for (const Resource* resource : bandwidths_of(device)) {
    const std::string& name = resource->name;
    const Ceiling *row = device.ceiling(name, Basis::kMeasured),
                  *theoretical = device.ceiling(name, Basis::kTheoretical);
    const auto peak = reachable(row, theoretical),
               published = value_of(device.ceiling(name, Basis::kDatasheet));
    std::string notes = row == nullptr ? "" : how_measured(device, *row);
    if (peak && *peak != theoretical->value)
      notes += fmt::format(", raw {}", format_bare(theoretical->value, theoretical->unit));
    table.rows.push_back(
        {.key = to_string(FigureKey{name, Basis::kMeasured}),
         .label = labels(name),
         .cells = {measured_cell(device, name, Basis::kMeasured), value_cell(peak, resource->unit),
                   share_cell(value_of(row), peak), value_cell(published, resource->unit),
                   share_cell(value_of(row), published), next_run_cell(device, row),
                   text_cell(std::move(notes))}});
  }
  return table;
}

Table memory_map_table(const DeviceView& gpu) {
  Table table{.key = "memory_map",
              .title = "Memory map",
              .remark =
                  "size as the driver states; holds, near part: by latency; GB/s of the fastest "
                  "access (caches: by footprint); latency of the near part, if there are two"};
  // Bandwidths alone are in another table.
  if (std::ranges::none_of(gpu.memory_map, [](const MemoryLevel* l) { return !!l->latency_s; }))
    return table;
  // Ranks of columns: a narrow terminal drops the highest first.
  enum { kNever, kLines, kFarPart, kNearPart };
  table.columns = {{.key = "size", .head = "size"},
                   {.key = "holds", .head = "holds"},
                   {.key = "near_part", .head = "near part", .dispensable = kNearPart},
                   {.key = "line", .head = "line", .dispensable = kLines},
                   {.key = "sector", .head = "sector", .gap = 1, .dispensable = kLines},
                   {.key = "latency", .head = "latency"},
                   {.key = "far_latency", .head = "far part", .dispensable = kFarPart},
                   {.key = "read", .head = "GB/s", .bare = true}};
  for (const MemoryLevel* level : gpu.memory_map) {
    const auto cell = [](const std::optional<double>& value, const char* unit,
                         const char* suffix = "") {
      Cell made = value ? value_cell(value, unit) : text_cell("");
      made.suffix = suffix;
      return made;
    };
    const char* each = level->per_sm ? "/SM" : "";
    table.rows.push_back(
        {.key = level->level,
         .label = level->label,
         .cells = {cell(level->size_bytes, "B", each), cell(level->held_bytes, "B", each),
                   cell(level->near_bytes, "B", each), cell(level->line_bytes, "B"),
                   cell(level->sector_bytes, "B"), cell(level->latency_s, "s"),
                   cell(level->far_latency_s, "s"), cell(level->bytes_per_s, "B/s")}});
  }
  return table;
}

Table factors_table(const DeviceView& device, const ResourceLabels& labels) {
  Table table{.key = "factors",
              .title = "Why not 100 %",
              .remark = "of the theoretical peak, PCIe's of the raw rate, in factors of 100"};
  table.columns = {{.key = "factors", .is_text = true}};
  for (const Ceiling* row : device.ceilings) {
    if (row->factors.empty()) continue;
    double share = 1;
    std::vector<std::string> factors;
    for (const Factor& factor : row->factors) {
      share *= factor.value;
      factors.push_back(fmt::format("{} {:.1f}", factor.name, factor.value * 100));
    }
    table.rows.push_back({.key = to_string(FigureKey{row->resource, row->basis}),
                          .label = ceiling_label(labels(row->resource), row->basis),
                          .cells = {text_cell(fmt::format("{} = {}", format_percent(share),
                                                          fmt::join(factors, " x ")))}});
  }
  return table;
}

Table ridge_table(const DeviceView& device, const ResourceLabels& labels) {
  Table table{.key = "ridge_points",
              .title = "Ridge points, FLOP/byte",
              .remark = "memory binds below",
              .labels_once = true};
  if (device.rooflines.empty()) return table;
  const std::vector<RidgePoint>& points = device.rooflines.back()->ridge_points;
  // Columns stand in the order of names; the first are kept longest.
  std::map<std::string_view, std::size_t> column_of;
  for (const RidgePoint& point : points) column_of[point.memory];
  table.columns = {{.key = "basis", .is_text = true, .gap = 1}};
  for (auto& [memory, column] : column_of) {
    column = table.columns.size();
    table.columns.push_back({.key = std::string(memory),
                             .head = labels(memory),
                             .dispensable = static_cast<int>(column) - 1,
                             .bare = true});
  }
  // Rows of a resource stand together; those of first figures come first.
  std::map<std::string_view, std::size_t> order;
  for (const Headline* first : device.headlines) order.try_emplace(first->resource, order.size());
  for (const RidgePoint& point : points) order.try_emplace(point.compute, order.size());
  std::map<std::pair<std::size_t, Basis>, Row> rows;
  for (const RidgePoint& point : points) {
    Row& row = rows[{order[point.compute], point.compute_basis}];
    if (row.cells.empty()) {
      row = {.key = to_string(FigureKey{point.compute, point.compute_basis}),
             .label = labels(point.compute),
             .cells = {text_cell(basis_label(point.compute_basis))}};
      row.cells.resize(table.columns.size(), value_cell({}, "FLOP/B"));
    }
    row.cells[column_of[point.memory]].value = point.intensity;
  }
  for (auto& [place, row] : rows) table.rows.push_back(std::move(row));
  return table;
}

Table instruction_table(const std::vector<const Curve*>& curves) {
  Table table{.key = "instructions",
              .title = "Instructions",
              .remark = "results per clock and SM; latency in cycles"};
  table.columns = {{.key = "measured", .head = "measured", .bare = true},
                   {.key = "documented", .head = "documented", .bare = true},
                   {.key = "share", .head = "%", .gap = 1, .bare = true},
                   {.key = "latency", .head = "latency", .bare = true}};
  const auto fill = [&](const char* role, std::size_t column) {
    for (const Curve* curve : curves) {
      for (const Figure& figure : curve->figures) {
        const auto op = text_param(figure.by, "op");
        if (figure.role != role || !op) continue;
        auto row = std::ranges::find(table.rows, *op, &Row::key);
        if (row == table.rows.end())
          row = table.rows.insert(
              row, {.key = *op, .label = *op, .cells = std::vector(4, value_cell({}, ""))});
        row->cells[column].value = figure.value;
      }
    }
  };
  fill(role::kResults, 0);
  fill(role::kDocumentedResults, 1);
  fill(role::kCycles, 3);
  for (Row& row : table.rows) row.cells[2] = share_cell(row.cells[0].value, row.cells[1].value);
  return table;
}

namespace {

// The figures' rows, and columns of a memory level or link, that fail.
void mark_failing(Table& table, const DeviceView& device, const Checks& checks) {
  const Alike alone{.names = {}, .devices = {&device}};
  for (const FigureKey& failing : failing_figures(checks, device.name())) {
    for (Row& row : table.rows)
      if (row.key == to_string(failing)) add_verdict(row, checks, alone, failing);
    for (Column& column : table.columns)
      if (column.key == failing.resource) column.head += ' ' + verdict_word(Outcome::kFail);
  }
}

}  // namespace

std::vector<Table> tables_of(const DeviceView& device, const ResourceLabels& labels,
                             const Checks* checks) {
  std::vector<Table> tables;
  if (device.is_host()) {
    tables = {host_table(device, labels)};
  } else {
    tables = {compute_table(device), mfu_table(device, labels), bandwidth_table(device, labels),
              memory_map_table(device)};
  }
  tables.push_back(factors_table(device, labels));
  tables.push_back(ridge_table(device, labels));
  std::erase_if(tables, [](const Table& table) { return table.empty(); });
  if (checks != nullptr)
    for (Table& table : tables) mark_failing(table, device, *checks);
  return tables;
}

}  // namespace peakline
