#pragma once

// Sections of the first screen; empty ones have no rows.

#include <optional>
#include <string>
#include <string_view>

#include "harness/show/alike.hpp"
#include "harness/show/screen.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

struct Checks;  // harness/show/check.hpp

// The lowest healthy value of a figure, if known.
std::optional<double> healthy_from(const Checks& checks, std::string_view uuid,
                                   const std::string& resource, Basis basis);

Screen::Section machine_section(const Profile& profile, const Overview& content);
Screen::Section links_section(const Profile& profile, const Checks& checks,
                              const DeviceOverview& node);
Screen::Section gpus_section(const Profile& profile, const Checks& checks, const Alike& group,
                             const ResourceLabels& labels);
// The peaks to divide by for MFU, in the precision of the first loaded figure.
Screen::Section mfu_section(const Alike& group, const ResourceLabels& labels);
// Memory levels of the first GPU; no rows without latencies.
Screen::Section memory_map_section(const Alike& group);
// Compared with the raw rate less packet headers, if known.
Screen::Section host_link_section(const Checks& checks, const Alike& group,
                                  const ResourceLabels& labels);
Screen::Section host_section(const Profile& profile, const DeviceOverview& host);
// How fast files reach the host and the slowest GPU.
Screen::Section storage_section(const Profile& profile, const Overview& content,
                                const ResourceLabels& labels);

}  // namespace peakline
