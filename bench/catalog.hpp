#pragma once

#include <string>
#include <vector>

#include "harness/benchmark/registry.hpp"

namespace peakline::bench {

// The one list: every benchmark. A build without CUDA knows all of them, and measures those of the
// host.
void register_all(Registry& registry, const CatalogInput& input);

// Version of the cuBLASLt in use, "13.0.2"; "" if there is none. Opens the library.
std::string cublaslt_version();

}  // namespace peakline::bench
