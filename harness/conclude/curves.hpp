#pragma once

// Rules that summarize a benchmark's points as figures. These serve several questions; a
// registration may bring its own.

#include <optional>
#include <string>
#include <vector>

#include "harness/conclude/benchmark.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// Topics of each device, in order of their first benchmark. Uses profile.ceilings. A topic
// whose rule or title throws, a mistake, is omitted and noted in `broken`; with nullptr the
// exception is rethrown.
std::vector<Curve> derive_curves(const Profile& profile, Benchmarks benchmarks,
                                 std::vector<BrokenTopic>* broken = nullptr);

// Tells how figures of older versions with the unit "1" are meant: as a share, factor or count.
void use_own_numbers(Profile& profile, Benchmarks benchmarks);

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

// Figures slowdown: time at each value of `param` over that at 1.
CurveRule slowdown_curve(std::string topic, const std::string& param);
// Figures one_thread and speedup, of the best number of threads.
CurveRule thread_curve(std::string topic, Quantity quantity);
// Figures bandwidth, roof, knee (FLOP/byte where they meet) and share_at_knee (of both).
CurveRule knee_curve(std::string topic);

}  // namespace peakline
