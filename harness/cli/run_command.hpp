#pragma once

// The measuring part of `run`, also for commands that measure first.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/measure_options.hpp"
#include "harness/cli/program.hpp"
#include "harness/cli/storage_options.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/interrupt.hpp"
#include "harness/run/progress.hpp"
#include "harness/values/profile.hpp"

namespace peakline::bench {

struct RunArguments {
  std::vector<std::string> command = {};
  MeasureOptions measure = {};
  StorageOptions storage = {};
  std::optional<std::string> device = {};
  std::string filter = {};
  bool kept = true;  // in a file
  std::string output = ".";
  std::vector<std::string> populations = {};  // files
  std::size_t runs = 1;
  std::optional<double> time_limit_s = {};
  bool if_idle = false;
  bool anonymize = false;
  bool dry_run = false;
  bool quiet = false;
  bool verbose = false;
  bool summary = true;     // on stdout, at the end
  bool needs_gpu = false;  // measure nothing without a GPU

  Verbosity verbosity() const {
    return quiet ? Verbosity::kQuiet : verbose ? Verbosity::kVerbose : Verbosity::kNormal;
  }
};

struct RunEnd {
  int exit_code = kExitOk;
  Profile profile = {};
  std::filesystem::path file = {};  // empty: not kept, or unwritable
  bool stopped = false;             // by a signal or the time limit, before the end
};

// Measures and, if wanted, writes the profile.
RunEnd run(const RunArguments& arguments, const Program& program, Interrupt& interrupt);

}  // namespace peakline::bench
