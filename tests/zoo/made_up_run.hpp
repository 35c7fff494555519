#pragma once

#include "harness/values/benchmark.hpp"
#include "harness/values/profile.hpp"

namespace peakline::zoo {

// A run that nobody made: the points of a run on an H200, each at the share of this device's limit
// that it had of the H200's. Where theory knows no limit of this device, a point is skipped if its
// architecture is known, and else stays as it was. Says in tool and command that it is made up.
Profile made_up_run(const DeviceFacts& device, const Profile& of_h200, Benchmarks benchmarks);

}  // namespace peakline::zoo
