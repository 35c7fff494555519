#pragma once

#include <string>

#include "harness/benchmark/registry.hpp"

namespace peakline::bench {

// The executable is made of these.
struct Program {
  Catalog catalog = nullptr;
  // Opens the library, which only a run needs; nullptr in a build without GPU benchmarks.
  std::string (*cublaslt_version)() = nullptr;
};

}  // namespace peakline::bench
