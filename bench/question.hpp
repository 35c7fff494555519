#pragma once

// Everything a question is written with: the registry, limits and rules, how figures are printed,
// and points over the values of parameters.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
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

// A parameter and the values that it takes.
using Swept = std::pair<std::string, std::vector<ParamValue>>;

// Points like `like`, one for each combination of the values, of which the last parameter's change
// fastest.
std::vector<Point> points_over(const std::vector<Swept>& params, const Point& like);
// Points over one parameter.
inline std::vector<Point> points_over(std::string param, std::vector<ParamValue> values,
                                      const Point& like) {
  return points_over({{std::move(param), std::move(values)}}, like);
}

// The numbers or texts of an array as values of a parameter.
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
// The course of unbroken loads, of which each benchmark with load:sustained says something.
inline constexpr const char* kSustainedLoad = "sustained load";
// load:sustained: whether the rate settled, after which time, and how far it swings from then on.
// of: "BF16 layers". Figures settled_after, absent where it did not settle, and swing, by `of`.
CurveRule sustained_load_curve(std::string of);

// The topic that compares kinds of host memory by copy rate and by the cost of having them.
inline constexpr const char* kHostMemory = "host memory";

// "launch and wait by stream 8.1 us, blocking event 21 us", "barrier of a block of 32 threads 9.1
// ns (18 cycles), ...": by `param` (empty: none), with cycles if the kernel read the clock. Figures
// time and cycles, by the parameter.
CurveRule waits_curve(std::string topic, const std::string& label, const std::string& param);

// The values of a text parameter, in the order of the points.
std::vector<std::string> values_in(const CurveView& curve, std::string_view param);

// Goes from `first` to `last`, each `factor` times the one before.
std::vector<ParamValue> multiples(std::int64_t first, std::int64_t last, std::int64_t factor = 2);

}  // namespace peakline::bench
