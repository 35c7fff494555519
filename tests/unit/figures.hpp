#pragma once

// Runs rules and curves on measurements, and looks up figures.

#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/conclude/benchmark.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

inline std::vector<Figure> summarized(const CurveRule& rule, const CurveView& view) {
  Figures figures("test.rule", rule.figures);
  rule.summarize(view, figures);
  return figures.all();
}
// device: nullptr for host or node.
inline std::vector<Figure> said_by(const CurveRule& rule,
                                   const std::vector<Measurement>& measurements,
                                   const DeviceFacts* device = nullptr) {
  CurveView view{.device = device, .points = {}};
  for (const Measurement& m : measurements) view.points.push_back(&m);
  return summarized(rule, view);
}

// The first match. Throws std::out_of_range without one.
inline double figure_of(std::span<const Figure> figures, const FigureQuery& query) {
  if (const Figure* found = find_figure(figures, query)) return found->value;
  throw std::out_of_range("no figure " + point_name(query.name, query.by) + " of " +
                          std::string(query.id));
}
inline double figure_of(const Curve& curve, const FigureQuery& query) {
  return figure_of(curve.figures, query);
}

// A rule's figures: "rate/way:plain" and value.
using FigureValues = std::map<std::string, double>;
inline FigureValues figure_values(std::span<const Figure> figures) {
  FigureValues values;
  for (const Figure& figure : figures) values[point_name(figure.name, figure.by)] = figure.value;
  return values;
}

}  // namespace peakline
