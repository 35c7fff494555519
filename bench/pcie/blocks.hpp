#pragma once

// Ways of moving scattered blocks over the host link, for registrations; free of CUDA.

#include <array>
#include <cstddef>
#include <cstdint>

namespace peakline::bench::pcie {

enum class BlocksBy {
  kLoop,    // a copy call for each block
  kBatch,   // one call for all
  kKernel,  // SMs that read or write mapped memory
};
// By the parameter "by".
struct NamedBlocksBy {
  const char* name;
  BlocksBy by;
};
inline constexpr std::array kBlocksBy = {NamedBlocksBy{"loop", BlocksBy::kLoop},
                                         NamedBlocksBy{"batch", BlocksBy::kBatch},
                                         NamedBlocksBy{"kernel", BlocksBy::kKernel}};

// A block of 16 tokens in one layer of an 8B model.
inline constexpr std::int64_t kUsualBlock = 64 << 10;

// One launch moves so much, as much as the KV cache of some hundred tokens.
inline constexpr std::size_t kBlocksBytes = std::size_t{64} << 20;

}  // namespace peakline::bench::pcie
