#pragma once

// Curves and pictures of copies to shared memory, kinds of host memory, and allocations.

#include <string>

#include "harness/conclude/curves.hpp"

namespace peakline::bench {

inline constexpr const char* kToShared = "copies to shared memory";  // the topic of the next two
// Names as in CUDA's documentation: "cp_async" is "cp.async".
std::string way_label(const std::string& way);
std::string copies_title(const TitleView& view);
// "from memory: plain 4310 GB/s, cp async 4420 GB/s from 2 KiB on, ...": the highest rate, and the
// smallest "tile" near the highest rate of all. Figures rate and enough_from, by way.
CurveRule copy_rate_curve(const std::string& label);
// "512 B in 640 ns plain, 700 ns cp async, ...; 8 KiB in ...". Figures latency by way and tile.
CurveRule copy_latency_curve();

inline constexpr const char* kHostMemory = "host memory";  // the topic of the next seven
// Pageable over pinned H2D rate, at kComparedBytes and the largest size. Figures share_of_pinned by
// bytes.
CurveRule pageable_share_curve();
// "write-combined H2D 55.2 GB/s": rate at a benchmark's largest size. Figure largest_size_rate.
CurveRule link_way_curve(const std::string& memory, const std::string& direction);
// Rate at kComparedBytes; no sentence. Figure compared_rate by memory and direction.
CurveRule compared_rate_curve(const std::string& memory, const std::string& direction);
// "16 MiB at once in 300 us, in pieces of 4 KiB in 10 ms". Figures whole, in_pieces,
// smallest_piece.
CurveRule pieces_curve();
// "node 0 h2d 55.4 GB/s, d2h 55.3 GB/s, node 1 ...". Figures rate by node and direction.
CurveRule numa_curve();

// "cudaMalloc 1 MiB in 80 us, 1 GiB in 410 us": smallest and largest size. Figures time by bytes.
CurveRule size_cost_curve(const std::string& label);
// "cudaHostAlloc 340 ms per GiB", or by "pages": "first touch 250 ms per GiB in small pages, ...",
// at the largest size. Figures time_per_gib, by pages where there are several.
CurveRule gib_cost_curve(const std::string& label);

}  // namespace peakline::bench
