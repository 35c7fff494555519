#pragma once

#include <string>

#include "harness/judge/fleet.hpp"
#include "harness/show/terminal_text.hpp"

namespace peakline {

// The verdict in at most 80 columns, then a line per device that stands out; with `all`, per
// device, and the distribution of each group's ceilings.
std::string fleet_text(const Fleet& fleet, bool all, const ShowOptions& options);

// JSON (schema "peakline-fleet", version 2).
std::string fleet_json(const Fleet& fleet);

// A row per ceiling and device, with a header (RFC 4180); values in the row's unit.
std::string fleet_csv(const Fleet& fleet);

}  // namespace peakline
