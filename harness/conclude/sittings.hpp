#pragma once

// The interval of a figure, as a pure function of its measurements. A point that stands for a
// ceiling is measured in several sittings of a run, with other points in between and its buffers
// allocated anew, and a run may be repeated.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "harness/values/benchmark.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/population.hpp"

namespace peakline {

// Sittings of a point that a ceiling comes from.
inline constexpr std::size_t kSittings = 2;
// An instruction alone has more: for a whole sitting an H200 may run one 0.5 % faster or slower
// (INT8).
inline constexpr std::size_t kLongBurstSittings = 3;
inline constexpr std::size_t kMostSittings = std::max(kSittings, kLongBurstSittings);

// How many sittings the point may have, by its rule: one, unless a ceiling may come from it.
std::size_t sittings_of(const Benchmark& benchmark, const Point& point);

// The largest relative shift within a measurement of the point that its interval may speak for.
double tolerated_shift(const Benchmark& benchmark, const Point& point);

// All measurements of one point: the sittings of each run, in time order.
using Visits = std::vector<std::vector<Measurement>>;

// One record of all visits: the blocks of all sittings in time order, and what follows from them;
// conditions averaged, flags and throttle reasons united, verified where all were. A failure in any
// sitting is one of the whole. Flagged unstable also where the sittings of a run differ by more
// than `tolerance` (relative to the median) and more than their scatter explains; of what others
// slow, only where the fastest blocks of its sittings do. Launch, work and series are the first
// sitting's; where another's work differs, its times are scaled so that its value holds. Throws
// std::invalid_argument where there are no visits.
Measurement merged(const Visits& visits, double tolerance);

// The value that each run of the record would have given, in the unit of its value. Returns the
// value alone if the record is of one run, or without samples.
std::vector<double> values_of_runs(const Measurement& measurement);

// The parts of the spread of a measured value. usual: standard deviation of one run's value in the
// class of its resource (harness/hardware/usual_spread.hpp), which the measurement's own runs
// correct, and those that were kept. assumed_from: as in RunSpread; empty where `usual` is known of
// the model.
RunSpread spread_of(const Measurement& measurement, double usual, std::string assumed_from = {},
                    const KeptSpread& kept = {});

// The relative half width of the interval in which the next run's value lies with about 95 %, on
// either side of the value: of its logarithm.
double next_run_half_width(const RunSpread& spread);

// asinh(0.5): beyond it the interval is wider than the figure itself, and says nothing of it.
inline constexpr double kWidestHalfWidth = 0.4812;

}  // namespace peakline
