#pragma once

#include "harness/conclude/benchmark.hpp"
#include "harness/values/profile.hpp"

namespace peakline::zoo {

// A run that nobody made: the points of a run on an H200, each at the share of this device's limit
// that it had of the H200's. Where theory knows no limit, the datasheet stands in, and where that
// has none, the point stays as it was. Points of units that the architecture does not have are
// skipped. Says in tool and command that it is made up.
Profile made_up_run(const DeviceFacts& device, const Profile& of_h200, Benchmarks benchmarks);

}  // namespace peakline::zoo
