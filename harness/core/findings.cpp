#include "harness/core/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "harness/core/limits.hpp"
#include "harness/core/units.hpp"

namespace peakline {
namespace {

// A limit set within a per cent of the default is the default, rounded.
constexpr double kDefaultPowerShare = 0.99;
// Below this share of its limit a device was not held back by power, whatever the reading's error.
constexpr double kPowerToSpare = 0.95;
// The half width of an interval that a quick run aims for: a ceiling known less well than that
// cannot be told from a neighbour's.
constexpr double kNoisyHalfWidth = 0.02;
// Power control swings by some percent, as long as a load lasts: no run is quieter.
constexpr double kSwingHalfWidth = 0.05;
// Names listed in a message; the evidence has all.
constexpr std::size_t kNamesShown = 3;

using Evidence = std::vector<std::pair<std::string, std::string>>;

bool has_reason(const Conditions& conditions, std::string_view part) {
  return std::ranges::any_of(conditions.throttle_reasons, [&](const std::string& reason) {
    return reason.find(part) != std::string::npos;
  });
}

std::string count_of(std::size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string shortened(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kNamesShown);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

std::string megahertz_of(double hz, double max_hz) {
  return fmt::format("{:.0f} of {:.0f} MHz", hz / 1e6, max_hz / 1e6);
}

void add_conditions(Evidence& evidence, const Measurement& m) {
  evidence.emplace_back("measurement", m.name());
  if (m.conditions.sm_clock_hz) {
    evidence.emplace_back("sm_clock", format_clock(*m.conditions.sm_clock_hz));
  }
  if (m.conditions.power_w)
    evidence.emplace_back("power", format_value(*m.conditions.power_w, "W"));
  if (m.conditions.temperature_c) {
    evidence.emplace_back("temperature", fmt::format("{:.0f} °C", *m.conditions.temperature_c));
  }
}

// Collects findings of one subject (a device's UUID, "host", or "" for the machine).
class Collector {
 public:
  explicit Collector(std::vector<Finding>& findings) : findings_(findings) {}
  void subject(std::string device) { device_ = std::move(device); }
  void add(std::string code, Severity severity, std::string message, Evidence evidence = {}) {
    findings_.push_back(
        {std::move(code), severity, device_, std::move(message), std::move(evidence)});
  }

 private:
  std::vector<Finding>& findings_;
  std::string device_;
};

using Measurements = std::vector<const Measurement*>;

// What keeps the SMs busy enough for their clock to be a loaded one.
bool loads_sms(const Measurement& m, Benchmarks benchmarks) {
  const Benchmark* benchmark = find_benchmark(benchmarks, m.id);
  return benchmark != nullptr && benchmark->loads == Loads::kCores;
}

void clock_findings(const DeviceFacts& device, const Measurements& measurements,
                    Benchmarks benchmarks, Collector& out) {
  const auto clock_share = [&](const Measurement& m) -> std::optional<double> {
    if (!m.conditions.sm_clock_hz || !device.sm_clock_max_hz) return std::nullopt;
    return *m.conditions.sm_clock_hz / *device.sm_clock_max_hz;
  };
  const auto slowed = [&](const Measurement& m) {
    return clock_share(m).value_or(0) < kFullClockShare;
  };
  // The measurement that a limit cost most, of those in which it was seen and the clock fell.
  const auto worst = [&](auto limited) {
    std::pair<const Measurement*, std::size_t> found{nullptr, 0};
    for (const Measurement* m : measurements) {
      if (m->status != Status::kOk || !limited(m->conditions) || !slowed(*m)) continue;
      ++found.second;
      if (found.first == nullptr ||
          clock_share(*m).value_or(1) < clock_share(*found.first).value_or(1)) {
        found.first = m;
      }
    }
    return found;
  };
  const auto clock_text = [&](const Measurement& m) {
    if (!clock_share(m)) return std::string("a lower SM clock");
    return "an SM clock of " + megahertz_of(*m.conditions.sm_clock_hz, *device.sm_clock_max_hz);
  };

  if (const auto [m, count] = worst(power_capped); m != nullptr) {
    Evidence evidence;
    add_conditions(evidence, *m);
    if (device.power_limit_w) {
      evidence.emplace_back("power_limit", format_value(*device.power_limit_w, "W"));
    }
    evidence.emplace_back("measurements_affected", std::to_string(count));
    const std::string cap = device.power_limit_w
                                ? fmt::format("The power cap of {:.0f} W", *device.power_limit_w)
                                : std::string("The power cap");
    out.add("power_cap", Severity::kInfo,
            fmt::format("{} allowed {} in {} ({} affected): normal under matrix load, and why "
                        "sustained figures are below burst ones.",
                        cap, clock_text(*m), m->name(), count_of(count, "measurement")),
            std::move(evidence));
  }
  if (const auto [m, count] = worst(thermally_limited); m != nullptr) {
    Evidence evidence;
    add_conditions(evidence, *m);
    evidence.emplace_back("measurements_affected", std::to_string(count));
    const std::string at = m->conditions.temperature_c
                               ? fmt::format(" at {:.0f} °C", *m->conditions.temperature_c)
                               : std::string();
    out.add(
        "thermal_limit", Severity::kWarning,
        fmt::format("The device grew too hot{}: a thermal limit allowed {} in {}. Check cooling "
                    "and airflow.",
                    at, clock_text(*m), m->name()),
        std::move(evidence));
  }

  // Short loads end before NVML reports a cap, and clocks stay low for seconds after a capped load,
  // so one low reading proves nothing: it takes a load long enough for its power to be known, with
  // power to spare, and a run in which no limit was seen and no clock was higher.
  const Measurement* fastest = nullptr;
  const Measurement* witness = nullptr;
  for (const Measurement* m : measurements) {
    if (m->status != Status::kOk || !loads_sms(*m, benchmarks) || !clock_share(*m)) continue;
    if (power_capped(m->conditions) || thermally_limited(m->conditions)) return;
    if (fastest == nullptr || *clock_share(*m) > *clock_share(*fastest)) fastest = m;
    if (m->conditions.power_w && device.power_limit_w &&
        *m->conditions.power_w < kPowerToSpare * *device.power_limit_w) {
      witness = m;
    }
  }
  if (fastest == nullptr || witness == nullptr || !slowed(*fastest)) return;
  Evidence evidence;
  add_conditions(evidence, *witness);
  evidence.emplace_back("highest_sm_clock", format_clock(*fastest->conditions.sm_clock_hz));
  evidence.emplace_back("max_sm_clock", format_clock(*device.sm_clock_max_hz));
  if (!witness->conditions.throttle_reasons.empty()) {
    evidence.emplace_back("reasons",
                          fmt::format("{}", fmt::join(witness->conditions.throttle_reasons, ", ")));
  }
  out.add(
      "clocks_below_max", Severity::kWarning,
      fmt::format("The SM clock never rose above {} under load, at {:.0f} of {:.0f} W and with no "
                  "power or thermal limit reported: the clocks may be locked.",
                  megahertz_of(*fastest->conditions.sm_clock_hz, *device.sm_clock_max_hz),
                  *witness->conditions.power_w, *device.power_limit_w),
      std::move(evidence));
}

// A load that a user chose to be as long as heat takes to settle.
void soak_findings(const Measurements& measurements, Collector& out) {
  for (const Measurement* m : measurements) {
    const bool soaked = m->status == Status::kOk && text_param(m->params, "load") == "soak";
    if (!soaked || int_param(m->launch, "equilibrium_s")) continue;
    Evidence evidence;
    add_conditions(evidence, *m);
    std::string length = "the whole load";
    if (const auto seconds = int_param(m->launch, "seconds")) {
      length = fmt::format("{} s of load", *seconds);
      evidence.emplace_back("seconds", std::to_string(*seconds));
    }
    std::string figures;
    const std::vector<double>& degrees = m->series.temperature_c;
    if (!degrees.empty() && std::isfinite(degrees.front()) && std::isfinite(degrees.back())) {
      figures = fmt::format(": {:.0f} °C at its start, {:.0f} °C at its end", degrees.front(),
                            degrees.back());
      evidence.emplace_back("temperature_start", fmt::format("{:.0f} °C", degrees.front()));
      evidence.emplace_back("temperature_end", fmt::format("{:.0f} °C", degrees.back()));
    }
    if (m->value) evidence.emplace_back("rate", format_value(*m->value, m->unit));
    out.add("no_thermal_equilibrium", Severity::kWarning,
            fmt::format("{} came to no thermal equilibrium in {}{}. Soak for longer; if it keeps "
                        "getting hotter, check cooling and airflow.",
                        m->name(), length, figures),
            std::move(evidence));
  }
}

void health_findings(const DeviceFacts& device, Collector& out) {
  const DeviceHealth& before = device.before;
  const DeviceHealth& after = device.after;
  const auto increase = [](const std::optional<std::int64_t>& from,
                           const std::optional<std::int64_t>& to) {
    return from && to ? *to - *from : 0;
  };
  const std::int64_t uncorrected = increase(before.ecc.uncorrected, after.ecc.uncorrected);
  const std::int64_t corrected = increase(before.ecc.corrected, after.ecc.corrected);
  if (uncorrected > 0) {
    out.add(
        "ecc_errors", Severity::kError,
        fmt::format("{} uncorrected ECC error(s) happened during the run: the memory is failing "
                    "and results cannot be trusted.",
                    uncorrected),
        {{"uncorrected_in_run", std::to_string(uncorrected)}});
  } else if (corrected > 0) {
    out.add("ecc_errors", Severity::kWarning,
            fmt::format("{} corrected ECC error(s) happened during the run: harmless alone, a sign "
                        "of wear if they recur.",
                        corrected),
            {{"corrected_in_run", std::to_string(corrected)}});
  } else if (before.ecc.uncorrected.value_or(0) > 0) {
    out.add("ecc_errors", Severity::kWarning,
            fmt::format("{} uncorrected ECC error(s) had been counted since the driver was loaded, "
                        "none of them in this run.",
                        *before.ecc.uncorrected),
            {{"uncorrected_before", std::to_string(*before.ecc.uncorrected)}});
  }

  const std::int64_t new_uncorrectable =
      increase(before.remapped_rows_uncorrectable, after.remapped_rows_uncorrectable);
  const std::int64_t new_correctable =
      increase(before.remapped_rows_correctable, after.remapped_rows_correctable);
  const std::int64_t old_remaps =
      before.remapped_rows_correctable.value_or(0) + before.remapped_rows_uncorrectable.value_or(0);
  if (after.remap_failed.value_or(before.remap_failed.value_or(false))) {
    out.add("row_remap", Severity::kError,
            "A memory row could not be replaced by a spare one: the device should be exchanged.",
            {{"remap_failed", "yes"}});
  } else if (new_uncorrectable > 0) {
    out.add("row_remap", Severity::kError,
            fmt::format("{} memory row(s) were replaced after uncorrectable errors during the run.",
                        new_uncorrectable),
            {{"uncorrectable_in_run", std::to_string(new_uncorrectable)}});
  } else if (new_correctable > 0 ||
             after.remap_pending.value_or(before.remap_pending.value_or(false))) {
    out.add("row_remap", Severity::kWarning,
            "A memory row is being replaced by a spare one: reset the device to complete it.",
            {{"correctable_in_run", std::to_string(new_correctable)},
             {"pending", after.remap_pending.value_or(false) ? "yes" : "no"}});
  } else if (old_remaps > 0) {
    out.add("row_remap", Severity::kInfo,
            fmt::format("{} memory row(s) had been replaced by spare ones before this run: the "
                        "device has been repaired, and has fewer spares left.",
                        old_remaps),
            {{"remapped_before", std::to_string(old_remaps)}});
  }

  if (!device.xids.empty()) {
    const std::string codes = fmt::format("{}", fmt::join(device.xids, ", "));
    out.add("xid", Severity::kError,
            fmt::format("The driver reported {} during the run (Xid {}): see NVIDIA's Xid catalog "
                        "for the cause.",
                        count_of(device.xids.size(), "error"), codes),
            {{"xids", codes}});
  }
}

void configuration_findings(const DeviceFacts& device, Collector& out) {
  if (device.power_limit_w && device.power_limit_default_w &&
      *device.power_limit_w < kDefaultPowerShare * *device.power_limit_default_w) {
    out.add(
        "power_limit_lowered", Severity::kWarning,
        fmt::format("The power limit is set to {:.0f} W, below the default of {:.0f} W: sustained "
                    "compute is slower than this model can be.",
                    *device.power_limit_w, *device.power_limit_default_w),
        {{"power_limit", format_value(*device.power_limit_w, "W")},
         {"power_limit_default", format_value(*device.power_limit_default_w, "W")}});
  }
  const PcieLink& link = device.pcie;
  if (device.pcie_read_under_load && link.generation && link.width && link.max_generation &&
      link.max_width &&
      (*link.generation < *link.max_generation || *link.width < *link.max_width)) {
    const auto name = [](int generation, int width) {
      return fmt::format("{}.0 x{}", generation, width);
    };
    out.add("pcie_link_narrow", Severity::kWarning,
            fmt::format(
                "Under load the PCIe link ran at {}, the device and slot can do {}: check the "
                "slot, riser or BIOS.",
                name(*link.generation, *link.width), name(*link.max_generation, *link.max_width)),
            {{"link_under_load", name(*link.generation, *link.width)},
             {"link_maximum", name(*link.max_generation, *link.max_width)}});
  }
  if (!device.processes.empty()) {
    Evidence evidence;
    std::vector<std::string> names;
    for (const DeviceProcess& process : device.processes) {
      const std::string name = process.name.empty() ? std::string("process") : process.name;
      names.push_back(fmt::format("{} ({})", name, process.pid));
      evidence.emplace_back(names.back(), process.memory_bytes ? format_size(*process.memory_bytes)
                                                               : std::string("memory not known"));
    }
    out.add("other_process", Severity::kWarning,
            fmt::format("Other work was on the device during the run: {}. Figures may be too low; "
                        "measure again when it is idle.",
                        shortened(names)),
            std::move(evidence));
  }
  if (device.ecc_enabled == true) {
    out.add("ecc_enabled", Severity::kInfo,
            "ECC is on: the memory figures are those of protected memory.", {{"ecc", "on"}});
  } else if (device.ecc_enabled == false) {
    out.add("ecc_disabled", Severity::kWarning,
            "ECC is off: memory errors pass unnoticed, and memory figures do not compare with "
            "devices that have it on.",
            {{"ecc", "off"}});
  }
  if (device.mig_enabled == true) {
    out.add("mig", Severity::kWarning,
            "MIG is on: the device is split, and figures are those of a slice at best.",
            {{"mig", "on"}});
  }
}

void measurement_findings(const Profile& profile, const std::string& device,
                          const Measurements& measurements, Benchmarks benchmarks, Collector& out) {
  std::vector<std::string> failed, wrong, implausible, skipped;
  Evidence failures, limits, skips;
  const auto facts = std::ranges::find(profile.devices, device, &DeviceFacts::uuid);
  for (const Measurement* m : measurements) {
    if (m->status == Status::kError) {
      failed.push_back(m->name());
      failures.emplace_back(m->name(), m->reason);
    } else if (m->status == Status::kSkipped) {
      const std::pair<std::string, std::string> skip{m->id, m->reason};
      if (std::ranges::find(skips, skip) != skips.end()) continue;
      skips.push_back(skip);
      skipped.push_back(m->reason.empty() ? m->id : fmt::format("{} ({})", m->id, m->reason));
    } else {
      if (m->verified == false) wrong.push_back(m->name());
      if (m->flags.implausible) {
        implausible.push_back(m->name());
        const Benchmark* benchmark = find_benchmark(benchmarks, m->id);
        const auto limit = facts == profile.devices.end() || benchmark == nullptr
                               ? std::nullopt
                               : plausible_limit(*benchmark, *m, *facts);
        limits.emplace_back(m->name(),
                            fmt::format("{} measured, {} possible",
                                        m->value ? format_value(*m->value, m->unit) : "nothing",
                                        limit ? format_value(*limit, m->unit) : "less"));
      }
    }
  }
  if (!failed.empty()) {
    out.add("failed", Severity::kError,
            fmt::format("{} failed: {}. First reason: {}", count_of(failed.size(), "measurement"),
                        shortened(failed), failures.front().second),
            failures);
  }
  if (!wrong.empty()) {
    Evidence evidence;
    for (const std::string& name : wrong) evidence.emplace_back(name, "differs from its reference");
    out.add("unverified", Severity::kError,
            fmt::format("{} gave a wrong result and is kept out of the ceilings: {}.",
                        count_of(wrong.size(), "measurement"), shortened(wrong)),
            std::move(evidence));
  }
  if (!implausible.empty()) {
    out.add(
        "implausible", Severity::kWarning,
        fmt::format("{} came out above what the hardware can do and is kept out of the ceilings: "
                    "{}.",
                    count_of(implausible.size(), "measurement"), shortened(implausible)),
        limits);
  }
  if (!skipped.empty()) {
    out.add("unsupported", Severity::kInfo,
            fmt::format("Not measured here: {}.", shortened(skipped)), skips);
  }

  // Points of curves, and so model-shaped rates, are short by design; what else is quoted has to be
  // precise.
  std::vector<std::string> noisy;
  Evidence widths;
  for (const Ceiling& ceiling : profile.ceilings) {
    if (ceiling.device != device || ceiling.measurement.empty() ||
        ceiling.basis == Basis::kModelShaped) {
      continue;
    }
    const auto source = std::ranges::find_if(
        measurements, [&](const Measurement* m) { return m->name() == ceiling.measurement; });
    if (source == measurements.end()) continue;
    const double half_width = ceiling.ci_low && ceiling.ci_high && ceiling.value > 0
                                  ? (*ceiling.ci_high - *ceiling.ci_low) / 2 / ceiling.value
                                  : 0;
    const double enough = ceiling.basis == Basis::kSustained ? kSwingHalfWidth : kNoisyHalfWidth;
    if (half_width <= enough && !(*source)->flags.unstable) continue;
    noisy.push_back(ceiling.measurement);
    widths.emplace_back(ceiling.measurement,
                        fmt::format("±{}{}", format_percent(half_width),
                                    (*source)->flags.unstable ? ", drifting" : ""));
  }
  if (!noisy.empty()) {
    out.add("noisy", Severity::kWarning,
            fmt::format("{} varied more than a ceiling should: {}. Run again on a quiet machine.",
                        count_of(noisy.size(), "measurement"), shortened(noisy)),
            std::move(widths));
  }
}

void machine_findings(const Profile& profile, Collector& out) {
  const SoftwareFacts& software = profile.software;
  if (!software.environment.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : software.environment) {
      names.push_back(fmt::format("{}={}", name, value));
    }
    out.add(
        "environment", Severity::kWarning,
        fmt::format("Environment variables that change results were set: {}.", shortened(names)),
        software.environment);
  }
  if (std::ranges::find(profile.command, "--no-verify") != profile.command.end()) {
    out.add("unverified", Severity::kWarning,
            "Results were not verified (--no-verify): a wrong kernel would go unnoticed.",
            {{"option", "--no-verify"}});
  }
  const std::string& virtualization = profile.host.virtualization;
  if (!virtualization.empty()) {
    static constexpr std::array kContainers = {"docker",     "podman", "lxc",      "containerd",
                                               "kubernetes", "oci",    "container"};
    // "kvm", "docker", or both: "kvm, docker".
    const bool container = std::ranges::any_of(kContainers, [&](std::string_view name) {
      return virtualization.find(name) != std::string::npos;
    });
    const bool both = container && virtualization.find(',') != std::string::npos;
    out.add("virtualized", Severity::kInfo,
            fmt::format("Measured inside a {} ({}): the host's figures are bound by its CPU and "
                        "memory share{}.",
                        both        ? "container in a virtual machine"
                        : container ? "container"
                                    : "virtual machine",
                        virtualization,
                        both || !container ? ", and the PCIe topology is the guest's" : ""),
            {{"virtualization", virtualization}});
  }
  const std::string& governor = profile.host.cpu_governor;
  if (!governor.empty() && governor != "performance") {
    out.add("cpu_governor", Severity::kInfo,
            fmt::format("The CPU frequency governor is '{}', not 'performance': host figures and "
                        "launch costs may vary.",
                        governor),
            {{"governor", governor}});
  }
  if (software.git_revision.ends_with("-dirty")) {
    out.add("dirty_build", Severity::kInfo,
            "This peakline was built from a tree with uncommitted changes: the run cannot be "
            "reproduced from its revision alone.",
            {{"git_revision", software.git_revision}});
  }
  const std::string& build = software.build_type;
  if (!build.empty() && build != "Release" && build != "RelWithDebInfo") {
    out.add("debug_build", Severity::kWarning,
            fmt::format("This peakline is a {} build: host figures and launch costs are too slow.",
                        build),
            {{"build_type", build}});
  }
}

}  // namespace

bool power_capped(const Conditions& conditions) { return has_reason(conditions, "power_cap"); }
bool thermally_limited(const Conditions& conditions) { return has_reason(conditions, "thermal"); }

std::vector<Finding> derive_findings(const Profile& profile, Benchmarks benchmarks) {
  std::map<std::string, Measurements> by_device;
  for (const Measurement& m : profile.measurements) by_device[m.device].push_back(&m);

  std::vector<Finding> findings;
  Collector out(findings);
  machine_findings(profile, out);
  for (const DeviceFacts& device : profile.devices) {
    out.subject(device.uuid);
    if (!device.unusable.empty()) {
      out.add("device_unusable", Severity::kError,
              fmt::format("The device could not be measured: {}.", device.unusable),
              {{"reason", device.unusable}});
    }
    const Measurements& measurements = by_device[device.uuid];
    clock_findings(device, measurements, benchmarks, out);
    soak_findings(measurements, out);
    health_findings(device, out);
    configuration_findings(device, out);
    measurement_findings(profile, device.uuid, measurements, benchmarks, out);
  }
  const std::string host(kHostDevice);
  out.subject(host);
  measurement_findings(profile, host, by_device[host], benchmarks, out);

  std::ranges::stable_sort(findings, std::ranges::greater{}, &Finding::severity);
  return findings;
}

}  // namespace peakline
