#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/values/facts.hpp"
#include "harness/values/figure.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/picture.hpp"
#include "harness/values/resources.hpp"

namespace peakline {

// The summary of one topic's benchmarks on a device.
struct Curve {
  std::string device;
  std::string topic;       // "kernel launch"
  std::string title = {};  // the main message; empty without its figures
  std::vector<Figure> figures = {};
  std::optional<Picture> picture = {};  // as declared

  bool operator==(const Curve&) const = default;
};

// A level of a device's memory: documented and measured properties.
struct MemoryLevel {
  std::string device;
  std::string level;                         // "shared", "l1", "l2", "hbm", "host"
  std::string label;                         // "shared memory"
  bool per_sm = false;                       // sizes are per SM
  std::optional<double> size_bytes = {};     // as the device states it
  std::optional<double> held_bytes = {};     // largest footprint that fits
  std::optional<double> near_bytes = {};     // likewise, near part
  std::optional<double> line_bytes = {};     // fetched at a time
  std::optional<double> sector_bytes = {};   // part of a line filled at a time
  std::optional<double> latency_s = {};      // per load; near part
  std::optional<double> far_latency_s = {};  // far part
  std::optional<double> bytes_per_s = {};    // read by all SMs; host memory: over PCIe

  bool operator==(const MemoryLevel&) const = default;
};

// A ceiling that was attempted but not measured.
struct MissingCeiling {
  std::string device;
  std::string resource;
  Basis basis = Basis::kMeasured;
  Absence why = Absence::kUnknown;
  std::string reason;  // "skipped: compute capability 9.0 has no mma.sync for this format"

  bool operator==(const MissingCeiling&) const = default;
};

// A headline figure, as the ceilings it is made of.
struct Headline {
  std::string device;
  std::string label;  // "PCIe H2D"
  std::string resource;
  Basis basis = Basis::kMeasured;
  std::optional<Basis> reference;  // what it is compared with
  std::string missing;             // why there is no ceiling

  bool operator==(const Headline&) const = default;
};

// A measurement, reduced for comparisons of many runs.
struct MeasuredPoint {
  // In a packed profile, only what identifies the measurement and its status.
  const Measurement* what = nullptr;
  bool sound = false;
  double value = 0;  // 0: none
  std::optional<double> sm_clock_hz = {};

  bool operator==(const MeasuredPoint&) const = default;
};
using MeasuredPoints = std::shared_ptr<const std::vector<MeasuredPoint>>;

// Replaces text that an anonymized profile leaves out.
inline constexpr std::string_view kLeftOut = "(left out)";

// Values of --device.
inline constexpr std::string_view kAllDevices = "all", kNoDevices = "none";

// What a run was asked to measure, and how; by default everything.
struct Asked {
  std::string filter = {};   // of points
  std::string devices = {};  // "0,1", "none"; empty: all GPUs of the machine
  bool verify = true;        // compare results with a reference

  bool operator==(const Asked&) const = default;
};

struct Profile {
  std::string created;  // UTC, "2026-11-20T20:17:00Z"
  std::string tool;     // "peakline 1.2.3"
  std::vector<std::string> command;
  Asked asked = {};
  std::string mode;  // "full", "quick"
  bool complete = false;
  double duration_s = 0;
  HostFacts host;
  SoftwareFacts software;
  std::vector<DeviceFacts> devices;
  std::vector<Measurement> measurements;
  std::vector<Resource> resources;  // those that occur, in display order
  std::vector<Ceiling> ceilings;
  std::vector<MissingCeiling> missing_ceilings;
  std::vector<Roofline> rooflines;
  std::vector<Headline> headlines;
  std::vector<Curve> curves;
  std::vector<MemoryLevel> memory_map;  // nearest level of each device first
  std::vector<Finding> findings;
  // Replaces most measurements of a packed profile (harness/values/packed.hpp); not in the file.
  std::map<std::string, MeasuredPoints, std::less<>> points = {};

  bool operator==(const Profile&) const = default;
};

}  // namespace peakline
