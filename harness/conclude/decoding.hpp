#pragma once

#include <optional>

#include "harness/values/facts.hpp"

namespace peakline {

inline constexpr int kLlamaContext = 1024;

// Upper bound of tokens per second for decoding Llama-3.1-8B in BF16, one sequence of that context:
// weights and KV cache are read at `read_bytes_per_s`, except what the L2 keeps between steps.
// nullopt if the model does not fit. peakline-llm bounds other models, batches and contexts.
std::optional<double> llama_tokens_per_s(const DeviceFacts& gpu, double read_bytes_per_s);

}  // namespace peakline
