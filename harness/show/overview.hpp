#pragma once

// The content of a summary as values, for text and JSON alike.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline {

// The next run's interval of a ceiling.
struct NextRun {
  std::optional<double> ci_low, ci_high;
  std::optional<RunSpread> spread;  // unknown in older profiles
  bool varies = false;              // within the run, by more than that

  // Relative to `value`.
  std::optional<double> half_width(double value) const;
  // The figure varied within the run, or its interval is useless.
  bool unsure() const { return varies || (spread && !ci_low); }
};

struct HeadlineFigure {
  std::string label;     // "HBM read"
  std::string resource;  // "hbm.read"
  Basis basis = Basis::kMeasured;
  std::optional<double> value;
  std::string unit;
  NextRun next_run;
  std::optional<double> reference;  // for comparison, in `unit`
  std::string reference_name;       // "theoretical", "datasheet"; "data_rate" for links
  // Why there is no value; nullopt: the run did not try for it.
  std::optional<Absence> absence;
  std::string missing;
};

// A compute ceiling and its references, in `unit`.
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
  // measured / (observed clock x SMs) and / power: tell a slow chip from a low power cap.
  std::optional<double> ops_per_clock_per_sm, flops_per_joule;
  std::string why;  // below 100 %, or not measured
};

// A bandwidth ceiling and its references, in B/s.
struct BandwidthRow {
  std::string resource;  // "hbm.read"
  std::optional<double> measured;
  NextRun next_run;
  std::optional<double> theoretical, datasheet;
  // `theoretical` without packet headers, for links with known packet size.
  std::optional<double> data_rate;
  std::string how;  // access width, footprint, link; or why not measured
  // NCCL's algorithm, and whether multicast was off.
  std::string algorithm;
  bool multicast_off = false;
};

struct DeviceOverview {
  std::string device;                // UUID, "host" or "node"
  const DeviceFacts* gpu = nullptr;  // nullptr: host or node
  std::string name;                  // "GPU 0 · NVIDIA H200", "node", "host"
  std::vector<std::string> traits;   // SMs, clock, memory, power, link
  std::string title() const;         // name and traits
  std::vector<HeadlineFigure> headlines;
  std::vector<ComputeRow> compute;
  std::vector<BandwidthRow> bandwidth;
  std::vector<RidgePoint> ridge_points;
  std::vector<MemoryLevel> memory_map;
  std::vector<Curve> curves;

  // nullptr without such a row.
  const ComputeRow* find_compute(std::string_view resource, Basis basis) const;
  const BandwidthRow* find_bandwidth(std::string_view resource) const;
};

// The profile must outlive this.
struct Overview {
  std::vector<DeviceOverview> devices;          // GPUs, node, host; only those requested
  std::size_t ok = 0, skipped = 0, failed = 0;  // measurements
};

// All figures with a role (harness/values/figure.hpp).
std::vector<const Figure*> figures_with(const std::vector<Curve>& curves, std::string_view role);

// "2 x AMD EPYC 9654, 192 cores, 4 of 384 CPUs usable"; "" if the model is unknown.
std::string cpu_text(const HostFacts& host);

// Uses the profile's stored conclusions.
Overview overview(const Profile& profile);

}  // namespace peakline
