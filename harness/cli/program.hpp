#pragma once

#include <span>
#include <string>

#include "harness/benchmark/registry.hpp"
#include "harness/values/topic_word.hpp"

namespace peakline::bench {

// The executable is made of these.
struct Program {
  Catalog catalog = nullptr;
  std::span<const TopicWord> topics = {};
  // Opens the library, which only a run needs; nullptr in a build without GPU benchmarks.
  std::string (*cublaslt_version)() = nullptr;
};

}  // namespace peakline::bench
