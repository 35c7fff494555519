#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/check.hpp"
#include "harness/show/text_table.hpp"

namespace peakline {

// One profile, checked.
struct CheckedFile {
  std::string file;  // empty: measured just now, and not kept
  CheckResult result;
};

struct Checks {
  std::vector<CheckedFile> files;
  // What the profiles were held against: "the populations of this peakline", or a path.
  std::string source;
  std::string why_none = {};  // why nothing was judged: "stopped by a signal"

  Outcome verdict() const;  // the worst of all
};

// The grounds of the verdict: device and groups, or the worst reason. count: whether it says that
// the number of GPUs was not given.
std::string check_sentence(const Checks& checks, bool count = true);
// That with the verdict before it, in a line.
std::string check_line(const Checks& checks, bool count = true);
// What to do where that is no clean pass, for who has the profile in a FILE; else empty.
std::string check_advice(const Checks& checks);

// That line; then comes a line for each rule that does not pass, or for every rule (all).
std::string check_text(const Checks& checks, bool all, const ShowOptions& options);
// Says what a rule compares with, and how its limit came about; empty where no device has it.
std::string explained_rule(const Checks& checks, std::string_view name, std::size_t width);

// A document (schema "peakline-check", version 1).
std::string check_json(const Checks& checks);
// How every such report begins, which tells it from other files.
inline constexpr std::string_view kJunitBeginning =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
inline constexpr std::string_view kPrometheusBeginning = "# HELP peakline_check_";

// A test case a rule: what fails or cannot be judged is a failure, what is excused is skipped.
std::string check_junit(const Checks& checks);
// Text for Prometheus, as the node exporter's textfile collector reads it.
std::string check_prometheus(const Checks& checks);

}  // namespace peakline
