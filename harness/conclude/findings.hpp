#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "harness/conclude/benchmark.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// Findings explain gaps between measured and possible. Worst first, then the machine's before the
// devices'. Unknown facts, of which virtual machines have many, give no finding. Codes:
//   error:   device_unusable, fabric_not_ready (if it made the device unusable), failed, unverified
//            (a wrong result), wrong_results (verifying soak), broken_topic, xid, ecc_errors
//            (uncorrected in the run), row_remap (failed, or uncorrectable in the run)
//   warning: thermal_limit, clocks_below_max, power_limit_lowered, pcie_link_narrow, other_process,
//            ecc_errors (corrected in the run, uncorrected before), ecc_disabled, row_remap
//            (pending, or correctable in the run), mig, environment, implausible, noisy,
//            debug_build, unverified (--no-verify), cpu_quota, cpu_binding, mps,
//            confidential_computing, fabric_not_ready, memory_untested, nvlink_errors and
//            pcie_replays (in the run; error in a verifying soak)
//   info:    row_remap (before the run), cpu_governor, clock_above_max, tlb_reach, assumed_spread,
//            nvlink_down, peer_access_refused, results_compared, never_run; kForTheRecord
// broken: topics that derive_curves omitted.
std::vector<Finding> derive_findings(const Profile& profile, Benchmarks benchmarks,
                                     std::span<const BrokenTopic> broken = {});

// Derives the findings that need no benchmarks: on measurements that failed, and on a GPU's errors,
// heat and settings.
std::vector<Finding> findings_of_facts(const DeviceView& device);

// Findings that explain figures and need no action.
inline constexpr std::array<std::string_view, 9> kForTheRecord = {
    "power_cap",   "ecc_enabled", "unsupported",             // one per device
    "virtualized", "cpuset",      "dirty_build", "varying",  // of curves
    "l2_far_part", "temperatures"};
inline constexpr std::string_view kMeasurementsFailed = "failed";
inline constexpr std::string_view kWrongResults = "wrong_results";
inline constexpr std::string_view kMemoryUntested = "memory_untested";
inline constexpr std::string_view kThermalLimit = "thermal_limit";
inline constexpr std::string_view kFabricNotReady = "fabric_not_ready";
inline constexpr std::string_view kNvLinkErrors = "nvlink_errors";
inline constexpr std::string_view kPcieReplays = "pcie_replays";
inline constexpr std::string_view kXid = "xid", kXidOfPeakline = "xid_of_peakline";
// Whether it belongs on the first screen.
bool matters(const Finding& finding);

bool power_capped(const Conditions& conditions);
bool thermally_limited(const Conditions& conditions);

// Clocks below this share of the maximum are lowered: steps of 15 MHz are under 1 % on data-center
// GPUs, and averaging blurs as much again.
inline constexpr double kFullClockShare = 0.98;

}  // namespace peakline
