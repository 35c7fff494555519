#pragma once

// Collectives and their figures as in nccl-tests
// (https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md): algorithm bandwidth is an
// operation's bytes over its time; bus bandwidth is the bytes that each GPU has to send over the
// time, so it compares with a link's rate, and between nodes of different size.

#include <array>
#include <cstddef>
#include <string_view>

#include "harness/conclude/benchmark.hpp"

namespace peakline::bench {

enum class Collective {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kSendReceive,  // each rank sends to the next one and receives from the previous one
};
inline constexpr std::array kCollectives = {Collective::kAllReduce,     Collective::kAllGather,
                                            Collective::kReduceScatter, Collective::kAllToAll,
                                            Collective::kBroadcast,     Collective::kSendReceive};
std::string_view to_string(Collective collective);  // "all_reduce", as in ids
std::string_view label_of(Collective collective);   // "all-reduce"

// Shared by the registration of NCCL's operations and the code that runs them.
struct NcclVariant {
  Collective collective = {};
  bool in_place = false;
  bool fp32 = false;  // else BF16
};

constexpr std::size_t bytes_of_element(const NcclVariant& variant) { return variant.fp32 ? 4 : 2; }

// The bytes that each GPU has to send. bytes: of the whole array; in all-gather, reduce-scatter and
// all-to-all each rank has a part of it.
double bus_bytes(Collective collective, std::size_t ranks, double bytes);
// The algorithm bandwidth at a bus bandwidth, both in B/s.
double algorithm_bandwidth(Collective collective, std::size_t ranks, double bus_rate);

// One-way rate of all active NVLinks of a GPU. Unknown with NVLS, where GPUs send less.
Limit collective_limit();

}  // namespace peakline::bench
