#pragma once

// Runs a plan: one worker process a device, one profile.

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
  Profile profile;        // with its conclusions
  std::size_t saved = 0;  // how many of its measurements the output file holds so far
  bool stopped = false;   // by a signal or the time limit, before all was measured
};

// Measures the plan. What there is of the profile goes to settings.output every few seconds, so
// that nothing can lose it; writing the beginning and the whole is left to the caller. It is
// partial (`complete` false) where a measurement failed, the time was up or a stop was asked for.
//   start: the profile's provenance, host, software and selected devices; the rest is filled in.
//   gpus: what is asked for the devices' counters, processes and Xid errors before and after; where
//   it is null, as without devices and in tests, whose devices are made up, nothing is.
RunResult run_plan(const Plan& plan, const RunSettings& settings, Profile start, Gpus* gpus,
                   const Interrupt& interrupt, Progress& progress);

// Names another process that used a GPU before or after the run, as "GPU 0: python (4711)"; empty
// where there was none.
std::string other_user(const Profile& profile);

}  // namespace peakline::bench
