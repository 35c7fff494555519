#pragma once

#include <string>

#include "harness/judge/fleet.hpp"
#include "harness/show/text_table.hpp"

namespace peakline {

// The verdict in a line of at most 80 columns, then a line a device that stands out; with `all`, of
// every device, and how the ceilings of each group are distributed.
std::string fleet_text(const Fleet& fleet, bool all, const ShowOptions& options);

// The same as a document (schema "peakline-fleet", version 2).
std::string fleet_json(const Fleet& fleet);

// A row a ceiling of a device, with a head (RFC 4180); values in the unit of the row.
std::string fleet_csv(const Fleet& fleet);

}  // namespace peakline
