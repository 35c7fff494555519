#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/values/facts.hpp"

namespace peakline::bench {

// Versions of this build; those of the driver and of benchmarks' libraries stay empty.
SoftwareFacts build_facts();

// Set environment variables that change measurements, sorted by name.
std::vector<std::pair<std::string, std::string>> relevant_environment();

}  // namespace peakline::bench
