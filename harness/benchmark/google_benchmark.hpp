#pragma once

// Every point as an entry of Google Benchmark. The worker runs them one by one as it is told;
// `peakline benchmark` runs those that its user chooses, with Google Benchmark's own flags,
// repetitions and reporters.

#include <functional>
#include <string>
#include <vector>

#include "harness/core/measurement.hpp"

namespace peakline::bench {

// Makes `name` an entry that measures once an iteration. Its State carries what came of it: the
// median time of a launch, rate, clock and power as counters, what was launched as the label, and
// the reason where the point was skipped or failed.
void enter(const std::string& name, std::function<Measurement()> measure);

// Runs `measure` through an entry of its own, with no output, and returns the record.
Measurement run_entered(const std::string& name, const std::function<Measurement()>& measure);

// argv: the program's name and the flags. Runs the entries that the flags (--benchmark_filter=...,
// --benchmark_repetitions=..., ...) choose. Returns those that are no flag of Google Benchmark;
// then nothing was run.
std::vector<std::string> run_entries(std::vector<std::string> flags);

}  // namespace peakline::bench
