#pragma once

#include <span>
#include <string>

#include "harness/benchmark/registry.hpp"
#include "harness/values/topic_word.hpp"

namespace peakline::bench {

// The parts that vary between executables.
struct Program {
  Catalog catalog = nullptr;
  std::span<const TopicWord> topics = {};
  // Opens cuBLASLt, which only a run needs; nullptr in builds without GPU benchmarks.
  std::string (*cublaslt_version)() = nullptr;
};

}  // namespace peakline::bench
