#pragma once

// Collects what is worth saying about a profile, as values: `show` renders it as text and as a
// document, so that both say the same.

#include <optional>
#include <string>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline {

// Says where the next run on this machine will put a measured ceiling.
struct NextRun {
  std::optional<double> ci_low, ci_high;
  std::optional<RunSpread> spread;  // unknown in profiles of before it was told
  bool varies = false;              // within the run, by more than that

  // Half of the interval, relative to `value`.
  std::optional<double> half_width(double value) const;
  // The figure is not to be relied on: it varied within the run, or its interval says nothing.
  bool unsure() const { return varies || (spread && !ci_low); }
};

// One of the few figures that stand at the top.
struct HeadlineFigure {
  std::string label;     // "HBM read"
  std::string resource;  // "hbm.read"
  Basis basis = Basis::kMeasured;
  std::optional<double> value;
  std::string unit;
  NextRun next_run;
  std::optional<double> reference;  // what it is to be held against, in `unit`
  std::string reference_name;       // "theoretical", "datasheet"; "data_rate" of a link
  std::string missing;              // why there is no value
};

// A compute ceiling beside everything it can be compared with. Rates in `unit`.
struct ComputeRow {
  std::string resource;  // "tensor.bf16"
  Basis basis = Basis::kBurst;
  std::string unit;
  std::optional<double> measured;
  NextRun next_run;
  std::optional<double> max_clock_hz, peak_at_max_clock;
  std::optional<double> datasheet, datasheet_clock_hz;
  std::optional<double> observed_clock_hz, peak_at_observed_clock;
  std::optional<double> power_w, temperature_c;
  bool power_capped = false;
  // measured / (observed clock x SMs) and measured / power: what tells a slow chip from a low power
  // cap.
  std::optional<double> ops_per_clock_per_sm, flops_per_joule;
  std::string why;  // it is not 100 %, or what keeps it from being measured
};

// A bandwidth ceiling beside everything it can be compared with, in B/s.
struct BandwidthRow {
  std::string resource;  // "hbm.read"
  std::optional<double> measured;
  NextRun next_run;
  std::optional<double> theoretical, datasheet;
  // The rate that packet headers leave of `theoretical`, for a link whose packet size is known.
  std::optional<double> data_rate;
  std::string how;  // access width, footprint, link; or what keeps it from being measured
  // The algorithm that the library chose for a collective, and whether multicast was off.
  std::string algorithm;
  bool multicast_off = false;
};

struct DeviceOverview {
  std::string device;                // UUID, "host" or "node"
  const DeviceFacts* gpu = nullptr;  // of the profile; nullptr: the host or the node
  std::string name;                  // "GPU 0 · NVIDIA H200", "node", "host"
  std::vector<std::string> traits;   // what tells the device: SMs, clock, memory, power, link
  std::string title() const;         // the name and the traits
  std::vector<HeadlineFigure> headlines;
  std::vector<ComputeRow> compute;
  std::vector<BandwidthRow> bandwidth;
  std::vector<RidgePoint> ridge_points;
  std::vector<MemoryLevel> memory_map;
  std::vector<Curve> curves;
};

// Refers to the profile, which has to outlive it.
struct Overview {
  std::vector<DeviceOverview>
      devices;  // the GPUs, the node, the host; without what was not asked for
  std::size_t ok = 0, skipped = 0, failed = 0;  // measurements
};

// "2 x AMD EPYC 9654, 192 cores, 4 of 384 CPUs usable"; empty where the model is not known.
std::string cpu_text(const HostFacts& host);

// Uses what the profile concludes as it stands there.
Overview overview(const Profile& profile);

}  // namespace peakline
