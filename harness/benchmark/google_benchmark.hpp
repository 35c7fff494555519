#pragma once

// Points as entries of Google Benchmark. Workers run single ones; `peakline benchmark` runs the
// chosen ones with its flags, repetitions and reporters.

#include <functional>
#include <string>
#include <vector>

#include "harness/values/measurement.hpp"

namespace peakline::bench {

// Registers an entry that measures once per iteration. Its State gets the median time per launch;
// rate, clock and power as counters; launch notes as label; the reason for a skip or failure.
void enter(const std::string& name, std::function<Measurement()> measure);

// Runs `measure` through a temporary entry without output: to choose one of all points, Google
// Benchmark's filter would try each name, which takes 8.5 ms.
Measurement run_entered(const std::string& name, const std::function<Measurement()>& measure);

// Runs the entries that the flags choose (--benchmark_filter=..., ...); flags[0]: the program's
// name. Returns unknown flags; if there are any, nothing was run.
std::vector<std::string> run_entries(std::vector<std::string> flags);

}  // namespace peakline::bench
