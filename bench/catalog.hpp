#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/benchmark/registry.hpp"
#include "harness/values/topic_word.hpp"

namespace peakline::bench {

// The one list: every benchmark. A build without CUDA knows all of them, and measures those of the
// host.
void register_all(Registry& registry, const CatalogInput& input);

// The words that show --topic takes.
std::span<const TopicWord> topic_words();

// Version of the cuBLASLt in use, "13.0.2"; "" if there is none. Opens the library.
std::string cublaslt_version();

}  // namespace peakline::bench
