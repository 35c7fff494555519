#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline {

// The parts of a profile that concern one device. Refers to the profile, which has to outlive it.
struct DeviceView {
  const Profile* profile;
  std::string_view device;                            // its UUID, "host" or "node"
  const DeviceFacts* facts;                           // nullptr: the host or the node
  std::vector<const Measurement*> measurements = {};  // in the order of the run
  MeasuredPoints points = {};                         // likewise; of a packed profile, all of them
  std::vector<const Ceiling*> ceilings = {};          // in the order of the profile
  std::vector<const MissingCeiling*> missing_ceilings = {};
  std::vector<const Finding*> findings = {};
  // Measurements by point name, the first one of each name.
  std::unordered_map<std::string, const Measurement*> by_name = {};

  std::string_view name() const { return device; }
  bool is_host() const { return device == kHostDevice; }
  bool is_node() const { return device == kNodeDevice; }
  // The measurement behind a ceiling; nullptr where there is none.
  const Measurement* source(const Ceiling& ceiling) const;
};

// The first figure of the device's curves that fits; nullopt where there is none.
std::optional<double> figure(const DeviceView& device, const FigureQuery& query);

// The GPU whose facts bound a measurement: its own, or, of one of the node, the first of those that
// its point names (or of the profile, where it names none). nullptr: the host, or no such GPU.
const DeviceFacts* facts_for(const Profile& profile, const Measurement& measurement);

// The profile's devices in its order, then the node and the host, even if nothing was measured
// there. Takes time
// linear in the size of the profile; what belongs to an unknown device is left out.
std::vector<DeviceView> device_views(const Profile& profile);

}  // namespace peakline
