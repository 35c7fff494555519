#pragma once

#include <string>

#include "harness/core/profile.hpp"
#include "harness/show/text_table.hpp"

namespace peakline {

// The summary that a person reads: devices, ceilings side by side, findings, ridge points, curves
// in brief. Ends in a newline. What is missing shows as "–" with the reason.
std::string show_text(const Profile& profile, const ShowOptions& options);

// The same content as a document (schema "peakline-summary", version 1).
std::string show_json(const Profile& profile);

}  // namespace peakline
