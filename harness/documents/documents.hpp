#pragma once

// These documents are for programs: JSON, CSV, JUnit and Prometheus. schemas/ describes the JSON.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "harness/conclude/benchmark.hpp"
#include "harness/judge/check.hpp"
#include "harness/judge/comparison.hpp"
#include "harness/judge/fleet.hpp"
#include "harness/judge/repeatability.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// JSON (schema "peakline-summary", version 2): tables of typed cells; `screen` is the first screen.
std::string show_json(const Profile& profile, const Checks& checks);

// "host", "gpu" or "node".
std::string_view measured_on(const Benchmark& benchmark);
// JSON of what can be measured (schema "peakline-catalog", version 1), one benchmark per line.
std::string list_json(Benchmarks benchmarks);

// JSON (schema "peakline-check", version 1).
std::string check_json(const Checks& checks);
// The first characters of such reports, by which they are recognized.
inline constexpr std::string_view kJunitBeginning =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"peakline check\">\n";
inline constexpr std::string_view kPrometheusBeginning = "# HELP peakline_check_";

// A test case per rule: fail and cannot judge are failures, excused rules skipped.
std::string check_junit(const Checks& checks);
// For the node exporter's textfile collector: when the check ended, its verdict, and the results. A
// check that judged no GPU keeps the results of the earlier report. now: seconds since 1970.
std::string check_prometheus(const Checks& checks, std::int64_t now, std::string_view earlier);

// JSON (schema "peakline-comparison", version 2).
std::string compare_json(const CompareResult& result);

// JSON (schema "peakline-fleet", version 2).
std::string fleet_json(const Fleet& fleet);
// A row per ceiling and device, with a header (RFC 4180); values in the row's unit.
std::string fleet_csv(const Fleet& fleet);

// JSON (schema "peakline-peaks", version 2), one product per line. name: as in products_called;
// "": all. Empty without a match.
std::string peaks_json(std::string_view name);

// JSON (schema "peakline-repeatability", version 1).
std::string repeatability_json(std::span<const Study> studies, std::span<const Profile> profiles);

}  // namespace peakline
