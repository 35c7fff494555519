#pragma once

#include <string>
#include <string_view>

#include "harness/show/text_table.hpp"
#include "harness/values/benchmark.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// The summary that a person reads: devices, ceilings side by side, findings, ridge points, curves
// in brief. Ends in a newline. What is missing shows as "–" with the reason.
std::string show_text(const Profile& profile, const ShowOptions& options);

// The same content as a document (schema "peakline-summary", version 1).
std::string show_json(const Profile& profile);

// "host", "gpu" or "node".
std::string_view measured_on(const Benchmark& benchmark);
// Lists what can be measured: a document of schema "peakline-catalog", version 1, one benchmark a
// line.
std::string list_json(Benchmarks benchmarks);

}  // namespace peakline
