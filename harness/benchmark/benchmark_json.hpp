#pragma once

#include <string>

#include "harness/core/profile.hpp"

namespace peakline::bench {

// The profile's measurements in Google Benchmark's JSON format, for its compare.py and what else
// reads that: one entry each, named as --filter names it (with the device in front of the
// parameters where several GPUs were measured), its time the median of one launch.
std::string to_benchmark_json(const Profile& profile);

}  // namespace peakline::bench
