#pragma once

#include <string>
#include <vector>

#include "harness/judge/fleet.hpp"
#include "harness/show/terminal_text.hpp"

namespace peakline {

// Who stands out in the fleet, and by how much.
std::string fleet_sentence(const Fleet& fleet);
// Which values of a fact of the stack differ, and where.
std::string drift_sentence(const Drift& drift);
// Groups rules by cause: "HBM read -9.1 %, L2 read -8.0 % and 2 more: heat".
std::vector<std::string> reasons_of(const FleetMember& member);

// The verdict in at most 80 columns, then a line per device that stands out; with `all`, per
// device, and the distribution of each group's ceilings.
std::string fleet_text(const Fleet& fleet, bool all, const ShowOptions& options);

}  // namespace peakline
