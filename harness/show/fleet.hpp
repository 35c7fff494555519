#pragma once

#include <string>

#include "harness/judge/fleet.hpp"
#include "harness/show/text_table.hpp"

namespace peakline {

// Shows for each group how its ceilings are distributed, and a line a device.
std::string fleet_text(const Fleet& fleet, const ShowOptions& options);

// The same as a document (schema "peakline-fleet", version 1).
std::string fleet_json(const Fleet& fleet);

// A row a ceiling of a device, with a head (RFC 4180); values in the unit of the row.
std::string fleet_csv(const Fleet& fleet);

}  // namespace peakline
