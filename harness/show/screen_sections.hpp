#pragma once

// The sections of the first screen. One without rows has nothing to say.

#include <string>

#include "harness/show/alike.hpp"
#include "harness/show/screen.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

struct Checks;  // harness/show/check.hpp

// The GPUs, the host, the run.
Screen::Section machine_section(const Profile& profile, const Overview& content);
// Links between GPUs, beside what healthy ones reach.
Screen::Section links_section(const Profile& profile, const Checks& checks,
                              const DeviceOverview& node);
// The figures that people act on.
Screen::Section gpus_section(const Profile& profile, const Alike& group,
                             const ResourceLabels& labels);
// Which peak to divide by, in the precision of the first figure under load.
Screen::Section mfu_section(const Alike& group, const ResourceLabels& labels);
// The levels of the first GPU's memory; without rows where no latency was measured.
Screen::Section memory_map_section(const Alike& group);
// Compared with what the headers of packets leave of the link's raw rate, where that is known.
Screen::Section host_link_section(const Checks& checks, const Alike& group,
                                  const ResourceLabels& labels);
Screen::Section host_section(const Profile& profile, const DeviceOverview& host);
// How fast files reach the host and the slowest GPU.
Screen::Section storage_section(const Profile& profile, const Overview& content,
                                const ResourceLabels& labels);

}  // namespace peakline
