#pragma once

// A figure's interval, from its measurements. Points behind ceilings are measured in several
// sittings per run, apart in time and with new buffers; runs may be repeated.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "harness/conclude/benchmark.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/population.hpp"

namespace peakline {

// Sittings of points behind ceilings.
inline constexpr std::size_t kSittings = 2;
// Single instructions have more: an H200 may run one 0.5 % faster or slower for a sitting (INT8).
inline constexpr std::size_t kLongBurstSittings = 3;
inline constexpr std::size_t kMostSittings = std::max(kSittings, kLongBurstSittings);

// The ceiling that a point may feed; nullptr: none.
const CeilingRule* planned_ceiling(const Benchmark& benchmark, const Point& point);

// One, unless the point may feed a ceiling.
std::size_t sittings_of(const Benchmark& benchmark, const Point& point);

// The largest relative shift within a measurement that its interval covers.
double tolerated_shift(const Benchmark& benchmark, const Point& point);

// A point's measurements by run and sitting, in time order.
using Visits = std::vector<std::vector<Measurement>>;

// Merges all visits into one record: blocks of all sittings in time order and what follows;
// conditions averaged, flags and throttle reasons united, verified if all were, failed if any did.
// Unstable also if a run's sittings (their fastest blocks, for work that others slow) differ by
// more than `tolerance`, relative to the median, and their scatter. Launch, work and series are the
// first sitting's; times of other work are scaled to keep its value. Throws std::invalid_argument
// without visits.
Measurement merged(const Visits& visits, double tolerance);

// The value of each run of the record; the record's own if it has one run or no samples.
std::vector<double> values_of_runs(const Measurement& measurement);

// Components of a value's spread. usual: standard deviation between runs of the class
// (harness/hardware/usual_spread.hpp), corrected by the measurement's and kept runs. assumed_from:
// as in RunSpread.
RunSpread spread_of(const Measurement& measurement, double usual, std::string assumed_from = {},
                    const KeptSpread& kept = {});

// 95 % interval for the next run's value: half width of its logarithm.
double next_run_half_width(const RunSpread& spread);

// asinh(0.5): the interval would be wider than the figure.
inline constexpr double kWidestHalfWidth = 0.4812;

}  // namespace peakline
