#pragma once

// What curves say: how the points of a benchmark become a sentence and its figures. The rules here
// serve any benchmark; a registration may bring one of its own.

#include <optional>
#include <string>
#include <vector>

#include "harness/values/benchmark.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// The sentences about each device, topics in the order of their first benchmark. Uses
// profile.ceilings.
std::vector<Curve> derive_curves(const Profile& profile, Benchmarks benchmarks);

// --- For rules

// One point of a sweep: x is the swept integer parameter.
struct CurvePoint {
  double x = 0;
  const Measurement* m = nullptr;

  double value() const { return *m->value; }
};
// Those that have the parameter, by x.
std::vector<CurvePoint> sweep(const CurveView& curve, std::string_view param);
// Those of them whose other parameter has this value.
std::vector<CurvePoint> sweep_where(const CurveView& curve, std::string_view param,
                                    std::string_view other, const ParamValue& value);
// The point with exactly these parameters; nullptr where there is none.
const Measurement* single(const CurveView& curve, const Params& params);
// Points of one sweep run at whatever clock power and heat allow at that moment: per clock they can
// be held against each other. nullopt where a clock was not read.
std::optional<double> share_per_clock(const Measurement& m, const Measurement& of);
// "bf16" -> "BF16"
std::string upper(std::string_view text);

// --- Rules

// Topics of which other conclusions take figures.
inline constexpr const char* kCaches = "caches";
inline constexpr const char* kAlignment = "alignment";

// "submit 1.9 us": the value of a benchmark of one point. name: of the figure.
CurveRule value_curve(std::string topic, std::string label, std::string name);
// "graph 3.5 us + 0.62 us per node": the line through the times over `param`. Figures
// <prefix>_fixed_s and <prefix>_per_<item>_s.
CurveRule line_curve(std::string topic, std::string param, std::string prefix, std::string item);
// "to device: 4 KiB in 5.2 us, half of the top rate from 1 MiB".
CurveRule rate_over_size_curve(std::string topic, std::string label, std::string prefix);
// "pageable to device 8.6 GB/s": the rate of the largest size.
CurveRule largest_size_curve(std::string topic, std::string label, std::string name);
// "4311 GB/s with 4 B per thread (throttled to 1440 MHz); ...": the highest rate at each access
// width, among sizes that stand for ceilings.
CurveRule width_curve(std::string topic, std::string prefix);
// "read 2.4 us + 4632 GB/s, 4701 GB/s over 132 GiB": the line through the times over the bytes
// moved at the widest access, whose slope is the rate without what starting and ending a launch
// cost, and the rate over the whole memory. Figures <name>_fixed_s, <name>_slope_bytes_per_s and
// <name>_whole_memory_bytes_per_s.
CurveRule footprint_curve(std::string topic, std::string name);
// "32 paths inside a warp take 31.9 x as long as 1": the last value of `param` against 1. text:
// with a place for that value and one for the factor.
CurveRule slowdown_curve(std::string topic, std::string param, std::string text, std::string name);
// "worst offset 4 B (4-byte accesses): 90.0 % of aligned": the lowest share of the rate at
// `aligned` with the same width. reference: "aligned".
CurveRule worst_share_curve(std::string topic, std::string param, std::int64_t aligned,
                            std::string unit, std::string reference);
// "fetched 64 B at a time", or by "limit": "fetched 32 B at a time with a limit of 32 B, ...".
// Reads of "width" bytes at ever larger "stride": where several share a fetch, doubling the stride
// halves the rate; the distance at which it no longer does is what is fetched at a time. Says
// nothing where that is not seen. Figures fetch_bytes, fetch_bytes_limit_<limit>.
CurveRule fetch_curve(std::string topic);
// "L1 33000 GB/s up to 224 KiB per SM; L2 9600 GB/s up to 60 MiB (60 MiB stated); memory
// 4600 GB/s". Reads of "sm_bytes" by each SM, "through" the l1 or past it, the l2. A level's rate
// is that of its smallest footprints, and it holds those at which most of its lead over the next
// level is left. Where a smaller lead then lasts, the L2 has a near part: "up to 20 MiB, its near
// part, slower up to 40 MiB". Says nothing of a level whose end is not seen. Figures
// l1_bytes_per_s, l1_held_bytes (of an SM), l2_bytes_per_s, l2_held_bytes, l2_near_bytes,
// memory_bytes_per_s.
CurveRule cache_curve(std::string topic);
// "memory read: 34 GB/s with 1 thread, 20 x that with 192".
CurveRule thread_curve(std::string topic, std::string label, std::string prefix);
// "FP32: 4500 GB/s, then 64.5 TFLOP/s from 14.3 FLOP/byte; 99 % of the roof at the bend".
CurveRule knee_curve(std::string topic, std::string precision);

}  // namespace peakline
