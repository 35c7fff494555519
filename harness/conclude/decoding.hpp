#pragma once

#include <optional>

#include "harness/values/facts.hpp"

namespace peakline {

// The most tokens per second that a GPU decodes of Llama-3.1-8B in BF16, for one sequence of 1024
// tokens: every weight and the KV cache come from device memory, `read_bytes_per_s`, but for what
// the L2 cache can keep between steps. Nothing where the model does not fit. peakline-llm bounds
// other models, batches and contexts.
std::optional<double> llama_tokens_per_s(const DeviceFacts& gpu, double read_bytes_per_s);

}  // namespace peakline
