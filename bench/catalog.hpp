#pragma once

#include <string>
#include <vector>

#include "harness/benchmark/registry.hpp"

namespace peakline::bench {

// The one list: every benchmark that is part of this build.
void register_all(Registry& registry, const CatalogInput& input);

// The areas of the GPU benchmarks' ids, "hbm", also of a build that has none of them.
std::vector<std::string> gpu_areas();

// Version of the cuBLASLt in use, "13.0.2"; "" if there is none. Opens the library.
std::string cublaslt_version();

}  // namespace peakline::bench
