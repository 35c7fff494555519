#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline {

// One device's part of a profile, which must outlive this.
struct DeviceView {
  const Profile* profile;
  std::string_view device;                            // its UUID, "host" or "node"
  const DeviceFacts* facts;                           // nullptr: the host or the node
  std::vector<const Measurement*> measurements = {};  // in the order of the run
  MeasuredPoints points = {};  // in the order of the run; complete even in a packed profile
  std::vector<const Ceiling*> ceilings = {};  // in the order of the profile
  std::vector<const MissingCeiling*> missing_ceilings = {};
  std::vector<const Headline*> headlines = {};
  std::vector<const Roofline*> rooflines = {};
  std::vector<const MemoryLevel*> memory_map = {};
  std::vector<const Curve*> curves = {};
  std::vector<const Finding*> findings = {};

  std::string_view name() const { return device; }
  std::string key() const;    // "gpu0", "host", "node"
  std::string model() const;  // "NVIDIA H200", "AMD EPYC 9654"; of the node "2 x NVIDIA H200"
  bool is_host() const { return device == kHostDevice; }
  bool is_node() const { return device == kNodeDevice; }

  // The first of that name and key; nullptr without one.
  const Measurement* measurement(std::string_view name) const;
  const Ceiling* ceiling(std::string_view resource, Basis basis) const;
  const MissingCeiling* missing(std::string_view resource, Basis basis) const;
  // The measurement behind a ceiling; nullptr without one.
  const Measurement* source(const Ceiling& ceiling) const;
  // The sound measurements of a benchmark, in the order of the run.
  std::vector<const Measurement*> sweep(std::string_view id) const;
  // The first match among the curves, and all.
  std::optional<double> figure(const FigureQuery& query) const;
  std::vector<const Figure*> figures(const FigureQuery& query) const;

  using Key = std::pair<std::string_view, Basis>;
  // The first of each, for the functions above.
  std::unordered_map<std::string, const Measurement*> by_name = {};
  std::map<Key, const Ceiling*> by_key = {};
  std::map<Key, const MissingCeiling*> missing_by_key = {};
};

// The GPU whose facts bound a measurement: its own, or for the node the first GPU that the point
// names, else the profile's first. nullptr: the host, or no such GPU.
const DeviceFacts* facts_for(const Profile& profile, const Measurement& measurement);

// The profile's devices in order, then node and host, which may be empty. Rows of unknown devices
// are left out. Linear in the size of the profile.
std::vector<DeviceView> device_views(const Profile& profile);

}  // namespace peakline
