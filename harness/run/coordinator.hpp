#pragma once

// Runs a plan: one worker process per device, one profile.

#include <cstddef>
#include <string>

#include "harness/run/gpus.hpp"
#include "harness/run/interrupt.hpp"
#include "harness/run/plan.hpp"
#include "harness/run/progress.hpp"
#include "harness/run/session.hpp"
#include "harness/values/profile.hpp"

namespace peakline::bench {

struct RunResult {
  Profile profile;        // with conclusions
  std::size_t saved = 0;  // measurements in the output file so far
  bool stopped = false;   // by a signal or the time limit, before the end
};

// Measures the plan and saves the profile to settings.output every few seconds; the caller writes
// its first and final state. `complete` is false if a measurement failed, time ran out or a stop
// was requested. start: provenance, host, software and devices. gpus: reads counters, processes and
// Xid errors before and after; nullptr without real devices.
RunResult run_plan(const Plan& plan, const RunSettings& settings, Profile start, Gpus* gpus,
                   const Interrupt& interrupt, Progress& progress);

// A foreign process on a GPU before or after the run, "GPU 0: python (4711)"; "" without one.
std::string other_user(const Profile& profile);

}  // namespace peakline::bench
