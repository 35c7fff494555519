#pragma once

// What is said of copies to shared memory, of the ways over the host link and of allocations.

#include <string>

#include "harness/conclude/curves.hpp"

namespace peakline::bench {

// "from memory: plain 4310 GB/s, cp async 4420 GB/s from 2 KiB on, ...": the highest rate of each
// "way", and the smallest "tile" with which it comes near to the highest of all. Figures
// <prefix>_<way>_bytes_per_s and, where a way comes near, <prefix>_<way>_enough_bytes.
CurveRule copy_rate_curve(std::string label, std::string prefix);
// "512 B in 640 ns plain, 700 ns cp async, ...; 8 KiB in ...": by "tile" and "way". Figures
// latency_<way>_<tile>_s.
CurveRule copy_latency_curve();

// "write-combined to device 55.2 GB/s": the rate of a benchmark's largest size, beside those of
// other memory and directions. Figure <memory>_<direction>_bytes_per_s.
CurveRule link_way_curve(const std::string& memory, const std::string& direction);
// "16 MiB at once in 300 us, in pieces of 4 KiB in 10 ms": one copy beside the smallest "piece".
// Figures pieces_whole_s, pieces_smallest_s and pieces_smallest_bytes.
CurveRule pieces_curve();
// "node 0 h2d 55.4 GB/s, d2h 55.3 GB/s, node 1 ...": by "node" and "direction". Figures
// node_<node>_<direction>_bytes_per_s.
CurveRule node_curve();

// "cudaMalloc 1 MiB in 80 us, 1 GiB in 410 us": the smallest and the largest of "bytes". Figures
// <name>_<bytes>_s.
CurveRule size_cost_curve(std::string label, std::string name);
// "cudaHostAlloc 340 ms per GiB", or by "pages": "first touch 250 ms per GiB in small pages, ...":
// from the largest of "bytes". Figures <name>_s_per_gib or <name>_<pages>_pages_s_per_gib.
CurveRule gib_cost_curve(std::string label, std::string name);

}  // namespace peakline::bench
