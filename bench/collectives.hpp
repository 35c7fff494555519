#pragma once

// Collective operations and what their figures mean, by the convention of nccl-tests
// (https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md). The algorithm bandwidth is
// an operation's bytes over its time. The bus bandwidth is the bytes that each GPU has to send over
// the time, whatever the algorithm: it can be compared with a link's rate, and between nodes of
// different size.

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

// The bytes that each GPU has to send for an operation on `bytes`: those of the whole array, which
// for all-gather, reduce-scatter and all-to-all each rank has a part of.
double bus_bytes(Collective collective, std::size_t ranks, double bytes);
// The algorithm bandwidth at a bus bandwidth, both in B/s.
double algorithm_bandwidth(Collective collective, std::size_t ranks, double bus_rate);

// The rate of all NVLinks of a GPU that are up, in one direction. Unknown where the switches sum
// (NVLS), because GPUs then send less.
Limit collective_limit();

// "all-reduce: 8 B in 12.4 us, half of the top rate from 16 MiB, 321 GB/s at 1 GiB (82.6 % of what
// the links carry)". The bus bandwidths over "bytes"; the links' rate is what each GPU sends while
// all send to all others, nvlink.all_to_all over "ranks". Figures small_time and
// large_bandwidth by bytes, smallest, half_rate,
// bus_bandwidth, algorithm_bandwidth and share_of_links.
CurveRule collective_curve(Collective collective);
inline constexpr const char* kCollectivesTopic = "collectives";
std::string collectives_title(const TitleView& view);
Picture collectives_picture();

}  // namespace peakline::bench
