#include "harness/conclude/decoding.hpp"

#include <algorithm>

namespace peakline {
namespace {

// https://huggingface.co/meta-llama/Llama-3.1-8B, config.json.
constexpr double kLayers = 32, kWidth = 4096, kInner = 14336, kVocabulary = 128256;
constexpr double kHeadDim = 128, kKvHeads = 8;
constexpr double kBf16 = 2;  // bytes

constexpr double kKvWidth = kKvHeads * kHeadDim;
// Q and output, K and V, gated MLP.
constexpr double kLayer = kWidth * (2 * kWidth + 2 * kKvWidth + 3 * kInner);
constexpr double kTable = kVocabulary * kWidth;  // output head; the input table has the same size
constexpr double kWeights = kBf16 * (kLayers * kLayer + kTable);
constexpr double kCache = kBf16 * kLayers * 2 * kKvWidth;  // per token

}  // namespace

std::optional<double> llama_tokens_per_s(const DeviceFacts& gpu, double read_bytes_per_s) {
  if (!gpu.memory_bytes || kWeights + kBf16 * kTable + kLlamaContext * kCache > *gpu.memory_bytes)
    return std::nullopt;
  const double kept = std::min(gpu.l2_bytes.value_or(0), kWeights);
  // A step also writes its own token's cache.
  const double moved = kWeights - kept + (kLlamaContext + 1) * kCache;
  return read_bytes_per_s / moved;
}

}  // namespace peakline
