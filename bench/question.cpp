#include "bench/question.hpp"

namespace peakline::bench {

std::vector<Point> points_over(const std::vector<Swept>& params, const Point& like) {
  std::vector<Point> points = {like};
  for (const auto& [param, values] : params) {
    std::vector<Point> longer;
    for (const Point& point : points)
      for (const ParamValue& value : values)
        longer.emplace_back(point).params.emplace_back(param, value);
    points = std::move(longer);
  }
  return points;
}

std::vector<ParamValue> multiples(std::int64_t first, std::int64_t last, std::int64_t factor) {
  std::vector<ParamValue> values;
  for (std::int64_t value = first; value <= last; value *= factor) values.emplace_back(value);
  return values;
}

}  // namespace peakline::bench
