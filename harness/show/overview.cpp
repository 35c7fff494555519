#include "harness/show/overview.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/conclude/factors.hpp"
#include "harness/conclude/findings.hpp"
#include "harness/conclude/headlines.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Rates from here on count as at their limit, given the precision of the clock.
constexpr double kAtTheLimit = 0.995;

std::optional<double> value(const DeviceView& view, std::string_view resource, Basis basis) {
  const Ceiling* row = view.ceiling(resource, basis);
  return row == nullptr ? std::nullopt : std::optional(row->value);
}

bool tried(const DeviceView& view, std::string_view resource, Basis basis) {
  return view.ceiling(resource, basis) != nullptr || view.missing(resource, basis) != nullptr;
}

std::string why_missing(const DeviceView& view, std::string_view resource, Basis basis) {
  const MissingCeiling* row = view.missing(resource, basis);
  return row == nullptr ? std::string(kNotTried) : row->reason;
}

NextRun next_run_of(const DeviceView& view, const Ceiling& row) {
  const Measurement* source = view.source(row);
  return {.ci_low = row.ci_low,
          .ci_high = row.ci_high,
          .spread = row.spread,
          .varies = source != nullptr && source->flags.unstable};
}

// The largest loss: a lowered clock with its cause, or another factor. A product's half rate is no
// loss of the run and is printed first.
std::string why_not_all(const ComputeRow& row, const Ceiling& measured) {
  if (!row.peak_at_max_clock) return "theoretical peak not known";
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
  const double share = *row.measured / *row.peak_at_max_clock / half_rate;
  if (share >= kAtTheLimit) return product + "at the limit";
  if (!row.observed_clock_hz || measured.factors.empty()) return "clock not read";
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
      clock > 1 ? fmt::format(" (boost: {:.0f})", *row.observed_clock_hz / clock / 1e6) : "";
  return product + fmt::format("{}: {}{}", cause, format_clock(*row.observed_clock_hz), above);
}

ComputeRow compute_row(const DeviceView& view, const Resource& of, Basis basis) {
  const std::string& resource = of.name;
  ComputeRow row;
  row.resource = resource;
  row.basis = basis;
  row.unit = of.unit;
  if (view.facts != nullptr) {
    row.max_clock_hz = view.facts->sm_clock_max_hz;
    row.peak_at_max_clock = value(view, resource, Basis::kTheoretical);
    if (const Ceiling* datasheet = view.ceiling(resource, Basis::kDatasheet)) {
      row.datasheet = datasheet->value;
      row.datasheet_clock_hz = datasheet->conditions.sm_clock_hz;
    }
  }
  const Ceiling* measured = view.ceiling(resource, basis);
  if (measured == nullptr) {
    row.why = why_missing(view, resource, basis);
    return row;
  }
  row.measured = measured->value;
  row.next_run = next_run_of(view, *measured);
  row.power_w = measured->conditions.power_w;
  row.temperature_c = measured->conditions.temperature_c;
  row.power_capped = power_capped(measured->conditions);
  row.observed_clock_hz = measured->conditions.sm_clock_hz;
  if (view.facts != nullptr) {
    if (row.observed_clock_hz) {
      row.peak_at_observed_clock = theoretical_flops(*view.facts, resource, *row.observed_clock_hz);
      if (const auto sms = view.facts->sm_count) {
        row.ops_per_clock_per_sm = *row.measured / *row.observed_clock_hz / *sms;
      }
    }
    if (row.power_w) row.flops_per_joule = *row.measured / *row.power_w;
    row.why = (row.next_run.varies ? "varies; " : "") + why_not_all(row, *measured);
  } else if (const Measurement* m = view.source(*measured)) {
    if (const auto threads = int_param(m->params, "threads")) {
      row.why = format_count(*threads, "thread");
    }
  }
  return row;
}

std::vector<ComputeRow> compute_rows(const DeviceView& view) {
  std::vector<ComputeRow> rows;
  for (const Resource& resource : view.profile->resources) {
    if (resource.kind != Resource::Kind::kCompute) continue;
    bool burst = false;
    for (const Basis basis : {Basis::kInstruction, Basis::kMeasured, Basis::kBurst,
                              Basis::kSustained, Basis::kModelBurst, Basis::kModelShaped}) {
      // An interrupted run owes the sustained figure, which a finished quick one never measures.
      const bool owed = burst && basis == Basis::kSustained && !view.profile->complete;
      if (!tried(view, resource.name, basis) && !owed) continue;
      burst = burst || basis == Basis::kBurst;
      rows.push_back(compute_row(view, resource, basis));
    }
  }
  return rows;
}

std::string how_measured(const DeviceView& view, const Ceiling& row) {
  const Measurement* m = view.source(row);
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
  if (const Ceiling* link = view.ceiling(row.resource, Basis::kTheoretical)) {
    const auto& [generation, width] =
        std::pair(link->conditions.pcie_generation, link->conditions.pcie_width);
    if (generation && width) parts.push_back(fmt::format("{}.0 x{}", *generation, *width));
  }
  return joined(parts);
}

// Share of a link's raw rate besides packet headers, if known.
std::optional<double> packets_share(const Ceiling& row) {
  const auto packets = std::ranges::find(row.factors, kPacketsFactor, &Factor::name);
  return packets == row.factors.end() ? std::nullopt : std::optional(packets->value);
}

std::vector<BandwidthRow> bandwidth_rows(const DeviceView& view) {
  std::vector<BandwidthRow> rows;
  for (const Resource& resource : view.profile->resources) {
    if (resource.kind != Resource::Kind::kMemory || !tried(view, resource.name, Basis::kMeasured))
      continue;
    BandwidthRow& row = rows.emplace_back();
    row.resource = resource.name;
    row.theoretical = value(view, resource.name, Basis::kTheoretical);
    row.datasheet = value(view, resource.name, Basis::kDatasheet);
    if (const Ceiling* measured = view.ceiling(resource.name, Basis::kMeasured)) {
      row.measured = measured->value;
      row.next_run = next_run_of(view, *measured);
      row.how = how_measured(view, *measured);
      if (const Measurement* m = view.source(*measured)) {
        row.algorithm = text_param(m->launch, "algorithm").value_or("");
        row.multicast_off = text_param(m->launch, "nvls") == "0";
      }
      if (const auto packets = packets_share(*measured); packets && row.theoretical)
        row.data_rate = *row.theoretical * *packets;
    } else {
      row.how = why_missing(view, resource.name, Basis::kMeasured);
    }
  }
  return rows;
}

std::vector<HeadlineFigure> headline_figures(const DeviceView& view) {
  std::vector<HeadlineFigure> figures;
  for (const Headline* of : view.headlines) {
    const Headline& headline = *of;
    HeadlineFigure& figure = figures.emplace_back();
    figure.label = headline.label;
    figure.resource = headline.resource;
    figure.basis = headline.basis;
    if (const MissingCeiling* row = view.missing(headline.resource, headline.basis))
      figure.absence = row->why;
    figure.missing = headline.missing;
    const Ceiling* row = view.ceiling(headline.resource, headline.basis);
    if (row != nullptr) {
      figure.value = row->value;
      figure.unit = row->unit;
      figure.next_run = next_run_of(view, *row);
    }
    // Published figures take precedence, even if an older program chose a computed one.
    const Ceiling* reference = view.ceiling(headline.resource, Basis::kDatasheet);
    if (reference == nullptr && headline.reference)
      reference = view.ceiling(headline.resource, *headline.reference);
    if (reference == nullptr) continue;
    figure.unit = reference->unit;
    figure.reference = reference->value;
    figure.reference_name = to_string(reference->basis);
    if (const auto packets = row == nullptr ? std::nullopt : packets_share(*row)) {
      *figure.reference *= *packets;
      figure.reference_name = "data_rate";
    }
  }
  return figures;
}

std::vector<std::string> traits_of(const DeviceFacts& d) {
  std::vector<std::string> parts;
  if (d.mig_enabled.value_or(false)) parts.emplace_back("MIG slice");
  if (d.sm_count) {
    parts.push_back(fmt::format("{} SMs", *d.sm_count));
    if (d.sm_clock_max_hz) parts.back() += ", " + format_clock(*d.sm_clock_max_hz);
  }
  if (d.memory_bytes) parts.push_back(format_size(*d.memory_bytes));
  if (d.power_limit_w) parts.push_back(fmt::format("{:.0f} W", *d.power_limit_w));
  if (d.c2c) {
    parts.emplace_back(host_link_name(d));
    if (d.c2c->count && d.c2c->bytes_per_s)
      parts.back() += " " + format_rate(*d.c2c->count * *d.c2c->bytes_per_s, "B/s");
  } else if (d.pcie.generation && d.pcie.width && d.pcie_read_under_load) {
    parts.push_back(fmt::format("PCIe {}.0 x{}", *d.pcie.generation, *d.pcie.width));
  }
  if (const NvLinks& links = d.nvlinks; links.up() > 0) {
    parts.push_back(fmt::format("{} NVLinks", links.up()));
    if (const auto payload = nvlink_payload_bandwidth(links))
      parts.back() += " of " + format_rate(*payload, "B/s");
    else if (links.bytes_per_s)
      parts.back() += fmt::format(" of {} raw", format_rate(*links.bytes_per_s, "B/s"));
  }
  if (d.ecc_enabled) parts.emplace_back(*d.ecc_enabled ? "ECC on" : "ECC off");
  return parts;
}

std::vector<std::string> traits_of(const HostFacts& host) {
  std::vector<std::string> parts;
  if (!host.cpu_model.empty()) parts.push_back(host.cpu_model);
  if (host.cores) parts.push_back(fmt::format("{} cores", *host.cores));
  if (!host.vector_extension.empty()) parts.push_back(host.vector_extension);
  return parts;
}

std::vector<std::string> traits_of_node(const Profile& profile) {
  const auto switched = [](const DeviceFacts& gpu) { return gpu.nvlinks.to_switch; };
  const bool links = std::ranges::any_of(
      profile.devices, [](const DeviceFacts& gpu) { return nvlinks_to(gpu, std::nullopt) > 0; });
  const bool through_switch = std::ranges::all_of(
      profile.devices, [&](const DeviceFacts& gpu) { return switched(gpu).value_or(false); });
  return {format_count(std::ssize(profile.devices), "GPU"), !links           ? "no NVLinks"
                                                            : through_switch ? "NVSwitch"
                                                                             : "direct NVLinks"};
}

DeviceOverview device_overview(const DeviceView& view) {
  const Profile& profile = *view.profile;
  DeviceOverview result;
  const DeviceFacts* const gpu = view.facts;
  result.device = std::string(view.name());
  result.gpu = gpu;
  result.name = gpu == nullptr
                    ? result.device
                    : fmt::format("{} · {}", device_label(profile, gpu->uuid), gpu->name);
  result.traits = gpu != nullptr   ? traits_of(*gpu)
                  : view.is_host() ? traits_of(profile.host)
                                   : traits_of_node(profile);
  result.headlines = headline_figures(view);
  result.compute = compute_rows(view);
  result.bandwidth = bandwidth_rows(view);
  for (const Roofline* roofline : view.rooflines) result.ridge_points = roofline->ridge_points;
  for (const MemoryLevel* level : view.memory_map) result.memory_map.push_back(*level);
  for (const Curve* curve : view.curves) result.curves.push_back(*curve);
  return result;
}

}  // namespace

std::optional<double> NextRun::half_width(double value) const {
  if (!spread || !ci_low || !ci_high || value <= 0) return std::nullopt;
  return (*ci_high - *ci_low) / 2 / value;
}

std::string DeviceOverview::title() const {
  return traits.empty() ? name : fmt::format("{} · {}", name, fmt::join(traits, " · "));
}

const ComputeRow* DeviceOverview::find_compute(std::string_view resource, Basis basis) const {
  const auto found = std::ranges::find_if(compute, [&](const ComputeRow& row) {
    return row.resource == resource && row.basis == basis;
  });
  return found == compute.end() ? nullptr : &*found;
}

const BandwidthRow* DeviceOverview::find_bandwidth(std::string_view resource) const {
  const auto found = std::ranges::find(bandwidth, resource, &BandwidthRow::resource);
  return found == bandwidth.end() ? nullptr : &*found;
}

std::vector<const Figure*> figures_with(const std::vector<Curve>& curves, std::string_view role) {
  std::vector<const Figure*> found;
  for (const Curve& curve : curves)
    for (const Figure& figure : curve.figures)
      if (figure.role == role) found.push_back(&figure);
  return found;
}

std::string cpu_text(const HostFacts& host) {
  std::string cpu = host.cpu_model;
  if (cpu.empty()) return cpu;
  if (host.sockets.value_or(1) > 1) cpu = fmt::format("{} x {}", *host.sockets, cpu);
  if (host.cores) cpu += fmt::format(", {} cores", *host.cores);
  if (host.usable_threads && host.hardware_threads && *host.usable_threads < *host.hardware_threads)
    cpu += fmt::format(", {} of {} CPUs usable", *host.usable_threads, *host.hardware_threads);
  return cpu;
}

Overview overview(const Profile& profile) {
  Overview result;
  for (const Measurement& m : profile.measurements) {
    ++(m.status == Status::kOk        ? result.ok
       : m.status == Status::kSkipped ? result.skipped
                                      : result.failed);
  }
  for (const DeviceView& device : device_views(profile))
    if (device.facts != nullptr || !device.measurements.empty())
      result.devices.push_back(device_overview(device));
  return result;
}

}  // namespace peakline
