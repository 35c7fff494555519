#pragma once

// Every point as an entry of Google Benchmark. The worker runs single entries on request; `peakline
// benchmark` runs those that the user chooses, with Google Benchmark's own flags, repetitions and
// reporters.

#include <functional>
#include <string>
#include <vector>

#include "harness/values/measurement.hpp"

namespace peakline::bench {

// Registers `name` as an entry that measures once per iteration. Its State carries the result: the
// median time of a launch, rate, clock and power as counters, the launch notes as the label, and
// the reason if the point was skipped or failed.
void enter(const std::string& name, std::function<Measurement()> measure);

// Runs `measure` through a temporary entry, without output, and returns the record.
Measurement run_entered(const std::string& name, const std::function<Measurement()>& measure);

// argv: the program's name and the flags. Runs the entries that the flags (--benchmark_filter=...,
// --benchmark_repetitions=..., ...) choose. Returns the flags that Google Benchmark does not know;
// if there are any, nothing was run.
std::vector<std::string> run_entries(std::vector<std::string> flags);

}  // namespace peakline::bench
