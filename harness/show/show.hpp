#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/show/terminal_text.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

struct Checks;  // harness/judge/check.hpp

// The first screen, in 100 columns at most 60 lines for one GPU, 70 for more: verdict, machine,
// figures to act on, peaks for MFU, memory levels, host link, findings, and how to see more. Links
// between GPUs come first; the slowest of equal GPUs counts. checks: those of this profile.
std::string first_screen(const Profile& profile, const Checks& checks, const ShowOptions& options);

// Everything: devices, ceilings with references, findings, ridge points, curves. Ends in a newline.
// Missing figures are "–" with the reason. checks: mark figures that fail.
std::string show_all(const Profile& profile, const ShowOptions& options,
                     const Checks* checks = nullptr);

// The profile's tables ("memory map") and topics ("caches").
std::vector<std::string> topics_of(const Profile& profile);
// Parts by name: their answers, then their figures, long tables in words unless `all`. "" without a
// match.
std::string show_topics(const Profile& profile, std::span<const std::string> names, bool all,
                        const ShowOptions& options, const Checks* checks = nullptr);

}  // namespace peakline
