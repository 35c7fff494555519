#pragma once

// Rules that summarize a benchmark's points as a sentence and figures. These serve several
// questions; a registration may bring its own.

#include <optional>
#include <string>
#include <vector>

#include "harness/values/benchmark.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// Sentences per device, topics in order of their first benchmark. Uses profile.ceilings. A topic
// whose rule or title throws, a mistake, is omitted and noted in `broken`; with nullptr the
// exception is rethrown.
std::vector<Curve> derive_curves(const Profile& profile, Benchmarks benchmarks,
                                 std::vector<BrokenTopic>* broken = nullptr);

// --- For rules

// x: the swept integer parameter.
struct CurvePoint {
  double x = 0;
  const Measurement* m = nullptr;

  double value() const { return *m->value; }
};
// Points that have the parameter, by x.
std::vector<CurvePoint> sweep(const CurveView& curve, std::string_view param);
// Likewise, with this value of the other parameter.
std::vector<CurvePoint> sweep_where(const CurveView& curve, std::string_view param,
                                    std::string_view other, const ParamValue& value);
// The point with exactly these parameters, or nullptr.
const Measurement* single(const CurveView& curve, const Params& params);
// Ratio of rates per clock, as clocks vary between points. nullopt if one is unknown.
std::optional<double> share_per_clock(const Measurement& m, const Measurement& of);
// "bf16" -> "BF16"
std::string upper(std::string_view text);

// --- Rules

// "submit 1.9 us": a single point's time. Figure time.
CurveRule time_curve(std::string topic, const std::string& label, std::string role = {});
// "graph 3.5 us + 0.62 us per node": a line through times over `param`. Figures fixed, per_item,
// and time_per_item by `param`.
CurveRule line_curve(std::string topic, const std::string& param, const std::string& label,
                     const std::string& item);
// "H2D: 4 KiB in 5.2 us, half of the top rate from 1 MiB". Figures smallest_copy and half_rate.
CurveRule rate_over_size_curve(std::string topic, const std::string& label);
// "pageable H2D 8.6 GB/s": the largest size's rate. Figure largest_size_rate.
CurveRule largest_size_curve(std::string topic, const std::string& label, std::string role = {});
// "4311 GB/s with 4 B per thread (throttled to 1440 MHz); ...": the highest rate by access width,
// at sizes that stand for ceilings. Figures rate by width.
CurveRule width_curve(std::string topic);
// "read 2.4 us + 4632 GB/s, 4701 GB/s over 132 GiB": a line through times over bytes at the widest
// access, whose slope is the rate without launch overhead, and the rate over all memory. Figures
// fixed, slope and whole_memory.
CurveRule footprint_curve(std::string topic, const std::string& label);
// "32 paths inside a warp take 31.9 x as long as 1": the last value of `param` over 1. text: a
// format with places for value and factor. Figures slowdown by `param`.
CurveRule slowdown_curve(std::string topic, const std::string& param, const std::string& text);
// "worst offset of 0 to 128 B: 4 (4-byte accesses), 90.0 % of aligned": the lowest share of the
// rate at `aligned` with the same width. unit: " B" or " elements"; reference: "aligned". Figures
// worst_at, worst_share, furthest (end of the range), and each point's share by width and `param`.
CurveRule worst_share_curve(std::string topic, const std::string& param, std::int64_t aligned,
                            const std::string& unit, const std::string& reference);
// "fetched 64 B at a time", or by "limit": "fetched 32 B at a time with a limit of 32 B, ...". From
// reads of "width" bytes: doubling the "stride" halves the rate until elements no longer share a
// fetch. Nothing if that is not seen. Figures fetched of the level hbm, and by limit.
CurveRule fetch_curve(std::string topic);
// "L1 33000 GB/s up to 224 KiB per SM; L2 9600 GB/s up to 60 MiB (60 MiB stated); memory 4600
// GB/s". From reads of "sm_bytes" by each SM, "through" the l1 or past it, the l2. A level's rate
// is that of its smallest footprints; it holds those with most of its lead over the next level. If
// a smaller lead then lasts, the L2 has a near part: "up to 20 MiB, its near part, slower up to 40
// MiB". Nothing for a level without a visible end. Figures by level: rate, held (l1: per SM) and,
// for an l2 with a near part, full_rate_up_to; over all SMs' footprint rate and held_by_all_sms.
CurveRule cache_curve(std::string topic);
// "memory read: 34 GB/s with 1 thread, 20 x as much with 192", or "no more with several". Figures
// one_thread and speedup.
CurveRule thread_curve(std::string topic, const std::string& label, Quantity quantity);
// "FP32: 4500 GB/s, then 64.5 TFLOP/s from 14.3 FLOP/byte; 99 % of the roof at the bend". Figures
// bandwidth, roof, knee and share_at_knee.
CurveRule knee_curve(std::string topic, const std::string& precision);

}  // namespace peakline
