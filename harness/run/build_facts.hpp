#pragma once

#include "harness/core/facts.hpp"

namespace peakline::bench {

// Versions of what this build was made with and links; what belongs to the driver and to libraries
// of the benchmarks is left empty.
SoftwareFacts build_facts();

}  // namespace peakline::bench
