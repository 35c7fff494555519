#pragma once

// Collectives and their figures as in nccl-tests
// (https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md): algorithm bandwidth is an
// operation's bytes over its time; bus bandwidth is the bytes that each GPU has to send over the
// time, so it compares with a link's rate, and between nodes of different size.

#include <array>
#include <cstddef>
#include <string_view>

#include "harness/conclude/curves.hpp"

namespace peakline::bench {

enum class Collective {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kSendReceive,  // each rank sends to the next one and receives from the one before
};
inline constexpr std::array kCollectives = {Collective::kAllReduce,     Collective::kAllGather,
                                            Collective::kReduceScatter, Collective::kAllToAll,
                                            Collective::kBroadcast,     Collective::kSendReceive};
std::string_view to_string(Collective collective);  // "all_reduce", as in ids
std::string_view label_of(Collective collective);   // "all-reduce"

// Bytes that each GPU has to send for an operation on `bytes`, the size of the whole array.
double bus_bytes(Collective collective, std::size_t ranks, double bytes);
// The algorithm bandwidth at a bus bandwidth, both in B/s.
double algorithm_bandwidth(Collective collective, std::size_t ranks, double bus_rate);

// One-way rate of all NVLinks of a GPU that are up. Unknown with NVLS, where GPUs send less.
Limit collective_limit();

// "all-reduce: 8 B in 12.4 us, half of the top rate from 16 MiB, 321 GB/s at 1 GiB (82.6 % of what
// the links carry)", with nvlink.all_to_all for the links. Figures small_time, large_bandwidth by
// bytes, smallest, half_rate, bus_bandwidth, algorithm_bandwidth, share_of_links.
CurveRule collective_curve(Collective collective);
inline constexpr const char* kCollectivesTopic = "collectives";
std::string collectives_title(const TitleView& view);
Picture collectives_picture();

}  // namespace peakline::bench
