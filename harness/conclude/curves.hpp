#pragma once

// Rules that turn the points of a benchmark into a sentence and its figures. These serve any
// benchmark; a registration may bring one of its own.

#include <optional>
#include <string>
#include <vector>

#include "harness/values/benchmark.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// The sentences about each device, topics in the order of their first benchmark. Uses
// profile.ceilings. A topic of which a rule or the title throws, which is a mistake in it, is left
// out and noted in `broken`; where that is nullptr, the exception is passed on.
std::vector<Curve> derive_curves(const Profile& profile, Benchmarks benchmarks,
                                 std::vector<BrokenTopic>* broken = nullptr);

// --- For rules

// One point of a sweep: x is the swept integer parameter.
struct CurvePoint {
  double x = 0;
  const Measurement* m = nullptr;

  double value() const { return *m->value; }
};
// Returns those that have the parameter, by x.
std::vector<CurvePoint> sweep(const CurveView& curve, std::string_view param);
// Returns those of them whose other parameter has this value.
std::vector<CurvePoint> sweep_where(const CurveView& curve, std::string_view param,
                                    std::string_view other, const ParamValue& value);
// The point with exactly these parameters; nullptr where there is none.
const Measurement* single(const CurveView& curve, const Params& params);
// The ratio of rates per clock. Points of one sweep run at whatever clock power and heat allow at
// that moment, so only rates per clock compare. nullopt if a clock was not read.
std::optional<double> share_per_clock(const Measurement& m, const Measurement& of);
// "bf16" -> "BF16"
std::string upper(std::string_view text);

// --- Rules

// "submit 1.9 us": the time of a benchmark of one point. Figure time.
CurveRule time_curve(std::string topic, const std::string& label, std::string role = {});
// "graph 3.5 us + 0.62 us per node": the line through the times over `param`. Figures fixed and
// per_item, and time_per_item of each point by `param`.
CurveRule line_curve(std::string topic, const std::string& param, const std::string& label,
                     const std::string& item);
// "H2D: 4 KiB in 5.2 us, half of the top rate from 1 MiB". Figures smallest_copy and
// half_rate.
CurveRule rate_over_size_curve(std::string topic, const std::string& label);
// "pageable H2D 8.6 GB/s": the rate of the largest size. Figure largest_size_rate.
CurveRule largest_size_curve(std::string topic, const std::string& label, std::string role = {});
// "4311 GB/s with 4 B per thread (throttled to 1440 MHz); ...": the highest rate at each access
// width, among sizes that stand for ceilings. Figures rate by width.
CurveRule width_curve(std::string topic);
// "read 2.4 us + 4632 GB/s, 4701 GB/s over 132 GiB": the line through the times over the bytes
// moved at the widest access, whose slope is the rate without what starting and ending a launch
// cost, and the rate over the whole memory. Figures fixed, slope and whole_memory.
CurveRule footprint_curve(std::string topic, const std::string& label);
// "32 paths inside a warp take 31.9 x as long as 1": the last value of `param` against 1. text:
// with a place for that value and one for the factor. Figures slowdown by `param`.
CurveRule slowdown_curve(std::string topic, const std::string& param, const std::string& text);
// "worst offset of 0 to 128 B: 4 (4-byte accesses), 90.0 % of aligned": the lowest share of the
// rate at `aligned` with the same width. unit: " B" or " elements"; reference: "aligned". Figures
// worst_at, worst_share, furthest (the end of the range), and the share of each point by width and
// `param`.
CurveRule worst_share_curve(std::string topic, const std::string& param, std::int64_t aligned,
                            const std::string& unit, const std::string& reference);
// "fetched 64 B at a time", or by "limit": "fetched 32 B at a time with a limit of 32 B, ...".
// Reads of "width" bytes at ever larger "stride": where several share a fetch, doubling the stride
// halves the rate; the distance at which it no longer does is what is fetched at a time. Says
// nothing where that is not seen. Figures fetched of the level hbm, and by limit.
CurveRule fetch_curve(std::string topic);
// "L1 33000 GB/s up to 224 KiB per SM; L2 9600 GB/s up to 60 MiB (60 MiB stated); memory
// 4600 GB/s". Reads of "sm_bytes" by each SM, "through" the l1 or past it, the l2. A level's rate
// is that of its smallest footprints, and it holds those at which most of its lead over the next
// level is left. Where a smaller lead then lasts, the L2 has a near part: "up to 20 MiB, its near
// part, slower up to 40 MiB". Says nothing of a level whose end is not seen. Figures by
// level: rate, held (of the l1: of an SM) and, where the l2 has a near part, full_rate_up_to; and
// over the footprint of all SMs together rate, held_by_all_sms.
CurveRule cache_curve(std::string topic);
// "memory read: 34 GB/s with 1 thread, 20 x as much with 192", or "no more with several". quantity:
// of the measurements.
// Figures one_thread and speedup.
CurveRule thread_curve(std::string topic, const std::string& label, Quantity quantity);
// "FP32: 4500 GB/s, then 64.5 TFLOP/s from 14.3 FLOP/byte; 99 % of the roof at the bend".
// Figures bandwidth, roof, knee and share_at_knee.
CurveRule knee_curve(std::string topic, const std::string& precision);

}  // namespace peakline
