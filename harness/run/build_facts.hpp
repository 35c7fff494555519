#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/values/facts.hpp"

namespace peakline::bench {

// The versions of what this build was made with and links; what belongs to the driver and to the
// benchmarks' libraries is left empty.
SoftwareFacts build_facts();

// The environment variables that are set and change what is measured, sorted by name.
std::vector<std::pair<std::string, std::string>> relevant_environment();

}  // namespace peakline::bench
