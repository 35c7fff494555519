#pragma once

// Compares several runs of one machine: how far figures differ, whether printed intervals hold, and
// whether comparing two runs raises false alarms. Pure functions.

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline {

// A measured ceiling over at least two runs.
struct CeilingStudy {
  std::string device, resource;
  Basis basis = Basis::kMeasured;
  std::string unit;
  std::size_t runs = 0;
  double median = 0;
  double spread = 0;                 // (highest - lowest) / median
  std::optional<double> half_width;  // of the interval over the value, median over runs
  // Share of ordered pairs with the second value inside the first's interval, if all have one.
  std::optional<double> inside;
};

// Runs of the same devices in the same mode.
struct Study {
  std::string mode;
  std::vector<std::string> created;  // of the runs, ascending
  std::vector<CeilingStudy> ceilings;
  std::size_t pairs = 0;                      // ordered
  std::size_t alarms = 0;                     // pairs that the gate fails
  std::map<std::string, std::size_t> causes;  // names of gate reasons
};

// One study per mode, in the order of first profiles, without single runs.
std::vector<Study> study_runs(std::span<const Profile> profiles);

}  // namespace peakline
