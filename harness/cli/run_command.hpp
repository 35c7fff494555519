#pragma once

// What `run` does, for commands that measure first.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/measure_options.hpp"
#include "harness/cli/program.hpp"
#include "harness/run/progress.hpp"

namespace peakline::bench {

struct RunArguments {
  std::vector<std::string> command = {};
  MeasureOptions measure = {};
  std::optional<std::string> device = {};
  std::string filter = {};
  std::string output = ".";
  std::size_t runs = 1;
  std::optional<double> time_limit_s = {};
  bool anonymize = false;
  bool dry_run = false;
  bool quiet = false;
  bool verbose = false;
  bool summary = true;  // on stdout, at the end

  Verbosity verbosity() const {
    return quiet ? Verbosity::kQuiet : verbose ? Verbosity::kVerbose : Verbosity::kNormal;
  }
};

// Measures, writes the profile, and returns the exit code.
int run(const RunArguments& arguments, const Program& program);

}  // namespace peakline::bench
