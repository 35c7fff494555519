#pragma once

// Runs a plan: one worker process a device, one profile.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/benchmark/bench.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/gpus.hpp"
#include "harness/run/plan.hpp"
#include "harness/run/progress.hpp"
#include "harness/run/worker_process.hpp"

namespace peakline::bench {

struct RunSettings {
  RunOptions options;  // handed to the workers
  std::filesystem::path output;
  std::optional<double> time_limit_s;  // of the whole run
  bool anonymize = false;
  Benchmarks benchmarks;  // all there are: what follows from a measurement stands in them
};

// Measures the plan and returns the profile. What there is of it goes to settings.output at once
// (throws ProfileError where that fails) and every few seconds, so that nothing can lose it; to
// write the whole is the caller's. It is partial (`complete` false) where a measurement failed, the
// time was up or a stop was asked for.
//   start: the profile's provenance, host, software and selected devices; the rest is filled in.
//   gpus: may be null where no device is selected.
Profile run_plan(const Plan& plan, const RunSettings& settings, Profile start, Gpus* gpus,
                 const Interrupt& interrupt, Progress& progress);

// The environment variables that are set and change what is measured, by name.
std::vector<std::pair<std::string, std::string>> environment_that_matters();

// The worker's options as command-line arguments, which the `worker` command parses.
std::vector<std::string> worker_arguments(const std::string& device, const RunOptions& options);

}  // namespace peakline::bench
