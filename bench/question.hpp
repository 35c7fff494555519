#pragma once

// What every question uses: registry, limits, rules, formatting, points over parameters.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/benchmark/registry.hpp"
#include "harness/conclude/curves.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {

using Swept = std::pair<std::string, std::vector<ParamValue>>;

// A copy of `like` for each combination of values; the last parameter varies fastest.
std::vector<Point> points_over(const std::vector<Swept>& params, const Point& like);
inline std::vector<Point> points_over(std::string param, std::vector<ParamValue> values,
                                      const Point& like) {
  return points_over({{std::move(param), std::move(values)}}, like);
}

template <class Range>
std::vector<ParamValue> values_of(const Range& range) {
  std::vector<ParamValue> values;
  for (const auto& value : range) {
    if constexpr (requires { std::int64_t{value}; })
      values.emplace_back(std::int64_t{value});
    else
      values.emplace_back(std::string(value));
  }
  return values;
}
inline constexpr const char* kSustainedLoad = "sustained load";
// load:sustained: whether the rate settled, when, and its swing from then on. of: "BF16 layers".
// Figures settled_after or not_settled_after, and swing, by `of`.
CurveRule sustained_load_curve(std::string of);

// The topic that compares kinds of host memory by copy rate and by the cost of having them.
inline constexpr const char* kHostMemory = "host memory";

// Figures time, and cycles if the kernel read the clock, by `param` (empty: none).
CurveRule waits_curve(std::string topic, const std::string& param);

// The values of a text parameter, in the order of the points.
std::vector<std::string> values_in(const CurveView& curve, std::string_view param);

// Of SMs, of bytes in flight, ...
struct Amount {
  double amount = 0, rate = 0;
};
// The amount for a rate, interpolated between points; the fastest of equal amounts counts. nullopt
// if the least suffices, which tells nothing, or the most does not.
std::optional<double> amount_for(std::span<const Amount> points, double wanted);

// Goes from `first` to `last`, each `factor` times the one before.
std::vector<ParamValue> multiples(std::int64_t first, std::int64_t last, std::int64_t factor = 2);

}  // namespace peakline::bench
