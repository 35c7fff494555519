#pragma once

// Several runs of one machine held against one another: how far its figures differ, whether the
// printed intervals hold, and whether a comparison of two of its runs accuses it. Pure functions.

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline {

// A measured ceiling over the runs that have it, two at least.
struct CeilingStudy {
  std::string device, resource;
  Basis basis = Basis::kMeasured;
  std::string unit;
  std::size_t runs = 0;
  double median = 0;
  double spread = 0;                 // (highest - lowest) / median
  std::optional<double> half_width;  // of the interval over the value; median of the runs
  // The share of all ordered pairs of runs in which the second's value lies inside the first's
  // interval; nullopt where a run has none.
  std::optional<double> inside;
};

// Runs of the same devices in the same mode.
struct Study {
  std::string mode;
  std::vector<std::string> created;  // of the runs, ascending
  std::vector<CeilingStudy> ceilings;
  std::size_t pairs = 0;                      // ordered
  std::size_t alarms = 0;                     // of them, those that a gate does not let pass
  std::map<std::string, std::size_t> causes;  // of the alarms: names of gate reasons
};

// Studies each mode, in the order of their first profiles. What was run once is left out.
std::vector<Study> study_runs(std::span<const Profile> profiles);

}  // namespace peakline
