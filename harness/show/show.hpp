#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/show/text_table.hpp"
#include "harness/values/benchmark.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

struct Checks;  // harness/show/check.hpp

// Answers the first questions, at 100 columns in at most 60 lines for one GPU, 70 for more: the
// verdict, the machine, the figures that people act on, which peak to use for what, the levels of
// memory, the host link, what matters, and how to see more. Links between GPUs come first, and the
// slowest of equal GPUs counts. checks: those of this profile.
std::string first_screen(const Profile& profile, const Checks& checks, const ShowOptions& options);

// All that there is to say: devices, ceilings side by side, findings, ridge points, curves in
// brief. Ends in a newline. What is missing shows as "–" with the reason.
std::string show_all(const Profile& profile, const ShowOptions& options);

// The parts of that which the profile has: tables ("memory map") and topics ("caches").
std::vector<std::string> topics_of(const Profile& profile);
// These parts, by their names. Empty where there is none of them.
std::string show_topics(const Profile& profile, std::span<const std::string> names,
                        const ShowOptions& options);

// The summary as a document (schema "peakline-summary", version 1), with the first screen as its
// member `screen`. checks: those of this profile.
std::string show_json(const Profile& profile, const Checks& checks);

// "host", "gpu" or "node".
std::string_view measured_on(const Benchmark& benchmark);
// Lists what can be measured: a document of schema "peakline-catalog", version 1, one benchmark a
// line.
std::string list_json(Benchmarks benchmarks);

}  // namespace peakline
