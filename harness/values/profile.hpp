#pragma once

// The profile: one run of peakline on one machine.

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

// The summary of the points of one or several benchmarks.
struct Curve {
  std::string device;
  std::string topic;  // "kernel launch"
  std::string sentence = {};
  std::string title = {};  // the one thing worth telling; empty where the run lacks a figure of it
  std::vector<Figure> figures = {};
  std::optional<Picture> picture = {};  // as it was declared

  bool operator==(const Curve&) const = default;
};

// One level of a device's memory: what the device states of it and what was measured.
struct MemoryLevel {
  std::string device;
  std::string level;                         // "shared", "l1", "l2", "hbm", "host"
  std::string label;                         // "shared memory"
  bool per_sm = false;                       // the sizes are those of each SM
  std::optional<double> size_bytes = {};     // as the device states it
  std::optional<double> held_bytes = {};     // the largest footprint that it held
  std::optional<double> near_bytes = {};     // the same of its near part, where it has parts
  std::optional<double> line_bytes = {};     // fetched at a time
  std::optional<double> sector_bytes = {};   // filled at a time
  std::optional<double> latency_s = {};      // of a load; of its near part
  std::optional<double> far_latency_s = {};  // of its far part
  std::optional<double> bytes_per_s = {};    // read by all SMs; of host memory, over PCIe

  bool operator==(const MemoryLevel&) const = default;
};

// A ceiling that was tried for and could not be had.
struct MissingCeiling {
  std::string device;
  std::string resource;
  Basis basis = Basis::kMeasured;
  std::string reason;  // "skipped: compute capability 9.0 has no mma.sync for this format"

  bool operator==(const MissingCeiling&) const = default;
};

// One of the few figures that stand at the top: names the ceilings it is made of.
struct Headline {
  std::string device;
  std::string label;  // "PCIe H2D"
  std::string resource;
  Basis basis = Basis::kMeasured;
  std::optional<Basis> reference;  // what it is held against
  std::string missing;             // why there is no such ceiling

  bool operator==(const Headline&) const = default;
};

// A measurement as comparisons of many runs see it.
struct MeasuredPoint {
  // The measurement, and whether it worked; in a packed profile without all figures.
  const Measurement* what = nullptr;
  bool sound = false;
  double value = 0;  // 0: it has none
  std::optional<double> sm_clock_hz = {};

  bool operator==(const MeasuredPoint&) const = default;
};
using MeasuredPoints = std::shared_ptr<const std::vector<MeasuredPoint>>;

// The placeholder for a text that an anonymized profile leaves out.
inline constexpr std::string_view kLeftOut = "(left out)";

struct Profile {
  std::string created;  // UTC, "2026-11-20T20:17:00Z"
  std::string tool;     // "peakline 0.1.0"
  std::vector<std::string> command;
  std::string mode;  // "full", "quick"
  bool complete = false;
  double duration_s = 0;
  HostFacts host;
  SoftwareFacts software;
  std::vector<DeviceFacts> devices;
  std::vector<Measurement> measurements;
  std::vector<Resource> resources;  // those that occur, in the order shown
  std::vector<Ceiling> ceilings;
  std::vector<MissingCeiling> missing_ceilings;
  std::vector<Roofline> rooflines;
  std::vector<Headline> headlines;
  std::vector<Curve> curves;
  std::vector<MemoryLevel> memory_map;  // the nearest level of each device first
  std::vector<Finding> findings;
  // Stands in a packed profile (harness/judge/packed.hpp) for most measurements, by device. It is
  // no part of the file.
  std::map<std::string, MeasuredPoints, std::less<>> points = {};

  bool operator==(const Profile&) const = default;
};

}  // namespace peakline
