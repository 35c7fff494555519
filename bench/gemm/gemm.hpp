#pragma once

#include <string>

namespace peakline::bench {

// Of the library that the GEMM benchmarks run, "13.0.2".
std::string cublaslt_version();

}  // namespace peakline::bench
