#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/benchmark/registry.hpp"
#include "harness/values/topic_word.hpp"

namespace peakline::bench {

// Registers every benchmark. A build without CUDA lists all, but measures only the host's.
void register_all(Registry& registry, const CatalogInput& input);

// The words that `show --topic` takes.
std::span<const TopicWord> topic_words();

// The cuBLASLt version in use, such as "13.0.2"; "" if there is none. Opens the library.
std::string cublaslt_version();

}  // namespace peakline::bench
