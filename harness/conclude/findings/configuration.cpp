#include <fmt/format.h>

#include <algorithm>

#include "harness/conclude/findings.hpp"
#include "harness/conclude/findings/subjects.hpp"
#include "harness/hardware/datasheets.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// A limit within 1 % of the default is the default, rounded.
constexpr double kDefaultPowerShare = 0.99;

void power_limit(const DeviceFacts& gpu, Collector& out) {
  const auto& limit_w = gpu.power_limit_w;
  const auto& default_w = gpu.power_limit_default_w;
  if (!limit_w || !default_w || *limit_w >= kDefaultPowerShare * *default_w) return;
  out.add("power_limit_lowered", Severity::kWarning,
          fmt::format("The power limit is set to {:.0f} W, below the default of {:.0f} W: "
                      "computing under load is slower than on others of this model.",
                      *limit_w, *default_w),
          {{"power_limit", format_value(*limit_w, "W")},
           {"power_limit_default", format_value(*default_w, "W")}});
}

void pcie_link(const DeviceFacts& gpu, Collector& out) {
  const PcieLink& link = gpu.pcie;
  if (gpu.c2c || !gpu.pcie_read_under_load || !link.generation || !link.width ||
      !link.max_generation || !link.max_width ||
      (*link.generation >= *link.max_generation && *link.width >= *link.max_width)) {
    return;
  }
  const std::string under_load = fmt::format("{}.0 x{}", *link.generation, *link.width);
  const std::string maximum = fmt::format("{}.0 x{}", *link.max_generation, *link.max_width);
  out.add("pcie_link_narrow", Severity::kWarning,
          fmt::format("The PCIe link ran at {} under load; the device and slot support {}. Check "
                      "the slot, the riser and the BIOS settings.",
                      under_load, maximum),
          {{"link_under_load", under_load}, {"link_maximum", maximum}});
}

void mps(const DeviceFacts& gpu, Collector& out) {
  if (std::ranges::none_of(gpu.processes, is_mps_server)) return;
  out.add("mps", Severity::kWarning,
          "CUDA MPS shares this GPU between processes: figures are what its clients leave, within "
          "their share of the SMs. Measure without it (echo quit | nvidia-cuda-mps-control).",
          {{"mps", "on"}});
}

// Only traffic over the link is encrypted; kernels and device memory are unaffected.
void confidential_computing(const DeviceFacts& gpu, Collector& out) {
  const std::string& mode = gpu.confidential_computing;
  if (mode.empty() || mode == "off") return;
  out.add("confidential_computing", Severity::kWarning,
          fmt::format("Confidential computing is on ({}): copies between host and GPU are "
                      "encrypted, so that the link and launches are slower than without it.",
                      mode),
          {{"mode", mode}});
}

void fabric(const DeviceFacts& gpu, Collector& out) {
  if (gpu.fabric.empty() || gpu.fabric == "completed") return;
  out.add(std::string(kFabricNotReady),
          gpu.unusable.empty() ? Severity::kWarning : Severity::kError,
          fmt::format("The NVSwitch fabric is not set up ({}): GPUs behind it answer no CUDA call "
                      "before. Start Fabric Manager of the driver's version (systemctl start "
                      "nvidia-fabricmanager).",
                      gpu.fabric),
          {{"fabric", gpu.fabric}});
}

void other_processes(const DeviceFacts& gpu, Collector& out) {
  const std::vector<std::string> names = other_users(gpu);
  if (names.empty()) return;
  Evidence evidence;
  for (const DeviceProcess& process : gpu.processes)
    if (!is_mps_server(process))
      evidence.emplace_back(names[evidence.size()], process.memory_bytes
                                                        ? format_size(*process.memory_bytes)
                                                        : "memory not known");
  out.add("other_process", Severity::kWarning,
          fmt::format("Other processes used the device during the run: {}. Figures may be too low; "
                      "measure again when the device is idle.",
                      shortened(names)),
          std::move(evidence));
}

void datasheet(const DeviceFacts& gpu, Collector& out) {
  const std::string why = why_no_datasheet(gpu);
  if (why.empty() || !gpu.unusable.empty()) return;
  Evidence evidence = {{"name", gpu.name}};
  if (!gpu.pci_device_id.empty())
    evidence.emplace_back("pci_ids", gpu.pci_device_id + " " + gpu.pci_subsystem_id);
  out.add("no_datasheet", Severity::kInfo,
          fmt::format("No datasheet figures for this device: {}.", why), std::move(evidence));
}

}  // namespace

void configuration_findings(const DeviceFacts& gpu, Collector& out) {
  datasheet(gpu, out);
  power_limit(gpu, out);
  pcie_link(gpu, out);
  other_processes(gpu, out);
  mps(gpu, out);
  confidential_computing(gpu, out);
  fabric(gpu, out);
  if (gpu.ecc_enabled == true) {
    out.add("ecc_enabled", Severity::kInfo,
            "ECC is on: memory figures are those of ECC-protected memory.", {{"ecc", "on"}});
  } else if (gpu.ecc_enabled == false) {
    out.add("ecc_disabled", Severity::kWarning,
            "ECC is off: memory errors go unnoticed, and memory figures are not comparable with "
            "those of devices that have it on.",
            {{"ecc", "off"}});
  }
  if (gpu.mig_enabled == true) {
    if (is_mig_instance(gpu))
      out.add("mig", Severity::kInfo,
              "This is a MIG instance: the figures are those of the slice, and what runs on other "
              "slices of the card takes from its power and clocks.",
              {{"mig", "instance"}});
    else
      out.add("mig", Severity::kWarning,
              "MIG is on: the device is partitioned, and figures are at best those of one slice.",
              {{"mig", "on"}});
  }
}

}  // namespace peakline
