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
// Ratio of rates per clock, since power and heat set the clock of each point. nullopt if a clock is
// unknown.
std::optional<double> share_per_clock(const Measurement& m, const Measurement& of);

// --- Rules

// "32 paths inside a warp take 31.9 x as long as 1": the last value of `param` over 1. text: a
// format with places for value and factor. Figures slowdown by `param`.
CurveRule slowdown_curve(std::string topic, const std::string& param, const std::string& text);
// "memory read: 34 GB/s with 1 thread, 20 x as much with 192", or "no more with several". Figures
// one_thread and speedup.
CurveRule thread_curve(std::string topic, const std::string& label, Quantity quantity);
// "FP32: 4500 GB/s, then 64.5 TFLOP/s from 14.3 FLOP/byte; 99 % of the roof at the bend". Figures
// bandwidth, roof, knee and share_at_knee.
CurveRule knee_curve(std::string topic, const std::string& precision);

}  // namespace peakline
