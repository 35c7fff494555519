#pragma once

// How the curves of what lies between a node's GPUs are summed up.

#include <string>

#include "harness/values/benchmark.hpp"

namespace peakline::bench {

// Rates of pairs: of the largest size the slowest and the fastest, and from which size on one has
// half of its rate. `prefix`_bytes_per_s (the median pair), _slowest_bytes_per_s, _half_rate_bytes.
CurveRule pair_rate_curve(std::string topic, std::string label, std::string prefix);
// Times of pairs: from the shortest to the longest. `name` is the median pair's.
CurveRule pair_time_curve(std::string topic, std::string label, std::string name);
// The rate of all GPUs together, and of each. `name`_bytes_per_s.
CurveRule all_gpus_curve(std::string topic, std::string label, std::string name);

// Rates of each GPU beside all others and by itself: what each has, what all have together, and the
// share of what it has alone, by group of GPUs that share a PCIe switch or a NUMA node where groups
// differ. `name`_total, `name`_share (the median) and `name`_least_share.
CurveRule concurrent_curve(std::string topic, std::string label, std::string name);
// What the host's memory reads and copies, the other limit of copies between it and all GPUs.
CurveRule host_memory_curve(std::string topic);

}  // namespace peakline::bench
