// Findings on error counters, before and after the run.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "harness/conclude/findings.hpp"
#include "harness/conclude/findings/subjects.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

std::int64_t increase(const std::optional<std::int64_t>& from,
                      const std::optional<std::int64_t>& to) {
  return from && to ? *to - *from : 0;
}

void ecc_errors(const EccCounts& before, const EccCounts& after, Collector& out) {
  const auto add = [&](Severity severity, std::int64_t count, const char* evidence,
                       const char* kind, const char* meaning) {
    out.add("ecc_errors", severity, fmt::format("{} {}", format_count(count, kind), meaning),
            {{evidence, std::to_string(count)}});
  };
  if (const auto n = increase(before.uncorrected, after.uncorrected); n > 0) {
    add(Severity::kError, n, "uncorrected_in_run", "uncorrected ECC error",
        "occurred during the run: the memory is failing and the results cannot be trusted.");
  } else if (const auto corrected = increase(before.corrected, after.corrected); corrected > 0) {
    add(Severity::kWarning, corrected, "corrected_in_run", "corrected ECC error",
        "occurred during the run: harmless if isolated, a sign of wear if recurring.");
  } else if (before.uncorrected.value_or(0) > 0) {
    add(Severity::kWarning, *before.uncorrected, "uncorrected_before", "uncorrected ECC error",
        "had been recorded since the driver was loaded, none of them during the run.");
  }
}

void row_remapping(const DeviceHealth& before, const DeviceHealth& after, Collector& out) {
  const auto add = [&](Severity severity, std::string message, Evidence evidence) {
    out.add("row_remap", severity, std::move(message), std::move(evidence));
  };
  const std::int64_t uncorrectable =
      increase(before.remapped_rows_uncorrectable, after.remapped_rows_uncorrectable);
  const std::int64_t correctable =
      increase(before.remapped_rows_correctable, after.remapped_rows_correctable);
  const std::int64_t old =
      before.remapped_rows_correctable.value_or(0) + before.remapped_rows_uncorrectable.value_or(0);
  if (after.remap_failed.value_or(before.remap_failed.value_or(false))) {
    add(Severity::kError, "A faulty memory row could not be remapped: replace the device.",
        {{"remap_failed", "yes"}});
  } else if (uncorrectable > 0) {
    add(Severity::kError,
        fmt::format("Uncorrectable errors during the run caused {} to be remapped.",
                    format_count(uncorrectable, "memory row")),
        {{"uncorrectable_in_run", std::to_string(uncorrectable)}});
  } else if (correctable > 0 ||
             after.remap_pending.value_or(before.remap_pending.value_or(false))) {
    add(Severity::kWarning, "A memory row is being remapped: reset the device to complete it.",
        {{"correctable_in_run", std::to_string(correctable)},
         {"pending", after.remap_pending.value_or(false) ? "yes" : "no"}});
  } else if (old > 0) {
    add(Severity::kInfo,
        fmt::format("{} had been remapped before the run: the device has been repaired and has "
                    "fewer spare rows left.",
                    format_count(old, "memory row")),
        {{"remapped_before", std::to_string(old)}});
  }
}

// A verifying soak is made to find links that corrupt data.
Severity severity_of_errors(const DeviceView& device) {
  return std::ranges::any_of(device.profile->measurements, compares_results) ? Severity::kError
                                                                             : Severity::kWarning;
}

// "12 replays, 1 recovery event, 0.3 per GB"; empty: no counter has grown. Other counters grow on
// healthy links.
std::string growth_of(const NvLinkCounters& before, const NvLinkCounters& after) {
  constexpr std::pair<std::optional<std::int64_t> NvLinkCounters::*, const char*> kJudged[] = {
      {&NvLinkCounters::replays, "replay"},
      {&NvLinkCounters::recoveries, "recovery event"},
      {&NvLinkCounters::crc_errors, "CRC error"}};
  std::int64_t sum = 0;
  std::vector<std::string> parts;
  for (const auto& [member, what] : kJudged) {
    const std::int64_t n = increase(before.*member, after.*member);
    if (n <= 0) continue;
    sum += n;
    parts.push_back(format_count(n, what));
  }
  constexpr double kGB = 1e9;
  if (const double bytes = before.bytes && after.bytes ? *after.bytes - *before.bytes : 0;
      sum > 0 && bytes > 0)
    parts.push_back(fmt::format("{:.2g} per GB", static_cast<double>(sum) / bytes * kGB));
  return joined(std::move(parts));
}

void link_errors(const DeviceView& device, Collector& out) {
  const DeviceHealth &before = device.facts->before, &after = device.facts->after;
  std::vector<std::string> links;
  Evidence evidence;
  for (const NvLinkCounters& link : after.nvlinks) {
    const auto start = std::ranges::find(before.nvlinks, link.link, &NvLinkCounters::link);
    if (start == before.nvlinks.end()) continue;
    const std::string growth = growth_of(*start, link);
    if (growth.empty()) continue;
    evidence.emplace_back(fmt::format("NVLink {}", link.link), growth);
    links.push_back(fmt::format("NVLink {} ({})", link.link, growth));
  }
  if (!links.empty())
    out.add(std::string(kNvLinkErrors), severity_of_errors(device),
            fmt::format("Errors during the run on {}: check seating, cables and nvidia-smi nvlink "
                        "-e, since links wear out.",
                        shortened(links)),
            std::move(evidence));
  if (const std::int64_t replays = increase(before.pcie_replays, after.pcie_replays); replays > 0)
    out.add(std::string(kPcieReplays), severity_of_errors(device),
            fmt::format("The PCIe link sent {} again during the run: check the card's seating, "
                        "riser and cables.",
                        format_count(replays, "packet")),
            {{"replays_in_run", std::to_string(replays)},
             {"replays_before", std::to_string(*before.pcie_replays)}});
}

// Temperatures besides those under load: no limit is known for them, so nothing is judged.
void temperatures(const DeviceHealth& after, Collector& out) {
  Evidence evidence;
  std::vector<std::string> parts;
  if (after.memory_temperature_c) {
    parts.push_back(fmt::format("its memory was at {:.0f} °C", *after.memory_temperature_c));
    evidence.emplace_back("memory_c", fmt::format("{:.0f}", *after.memory_temperature_c));
  }
  if (after.temperature_margin_c) {
    parts.push_back(
        fmt::format("{:.0f} °C were left until it slows down", *after.temperature_margin_c));
    evidence.emplace_back("margin_c", fmt::format("{:.0f}", *after.temperature_margin_c));
  }
  if (parts.empty()) return;
  const std::string gpu = after.temperature_c
                              ? fmt::format("the GPU was at {:.0f} °C, ", *after.temperature_c)
                              : std::string();
  out.add("temperatures", Severity::kInfo,
          fmt::format("After the run {}{}.", gpu, fmt::join(parts, ", and ")), std::move(evidence));
}

// Whether NVIDIA's Xid catalog lists applications as a cause: memory page fault, graphics engine
// exception, reset channel, ended program.
bool may_be_of_a_program(std::int64_t xid) {
  constexpr std::array<std::int64_t, 4> kXids{13, 31, 43, 45};
  return std::ranges::find(kXids, xid) != kXids.end();
}

bool failed_where_never_run(const DeviceView& device) {
  return std::ranges::any_of(device.measurements, [](const Measurement* m) {
    return m->status == Status::kSkipped && m->never_run;
  });
}

}  // namespace

void health_findings(const DeviceView& device, Collector& out) {
  const DeviceFacts& gpu = *device.facts;
  ecc_errors(gpu.before.ecc, gpu.after.ecc, out);
  row_remapping(gpu.before, gpu.after, out);
  link_errors(device, out);
  temperatures(gpu.after, out);
  if (gpu.xids.empty()) return;
  const std::string codes = fmt::format("{}", fmt::join(gpu.xids, ", "));
  if (failed_where_never_run(device) && std::ranges::all_of(gpu.xids, may_be_of_a_program)) {
    out.add(std::string(kXidOfPeakline), Severity::kInfo,
            fmt::format("The driver reported {} during the run (Xid {}), of the kind that a fault "
                        "in a program causes, and code of peakline failed that had never run on "
                        "hardware: most likely the device is not to blame.",
                        format_count(std::ssize(gpu.xids), "error"), codes),
            {{"xids", codes}});
    return;
  }
  out.add(std::string(kXid), Severity::kError,
          fmt::format("The driver reported {} during the run (Xid {}): see NVIDIA's Xid catalog "
                      "for the cause.",
                      format_count(std::ssize(gpu.xids), "error"), codes),
          {{"xids", codes}});
}

}  // namespace peakline
