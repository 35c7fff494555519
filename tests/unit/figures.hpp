#pragma once

// Runs rules and curves on measurements, and looks up figures.

#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/values/benchmark.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// A rule's answer to measurements.
struct Statement {
  std::vector<std::string> pieces;
  std::vector<Figure> figures;
};

inline Statement summarized(const CurveRule& rule, const CurveView& view) {
  Sentence sentence("test.rule", rule.figures);
  rule.summarize(view, sentence);
  return {.pieces = sentence.pieces(), .figures = sentence.figures()};
}
// device: nullptr for host or node.
inline Statement said_by(const CurveRule& rule, const std::vector<Measurement>& measurements,
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
inline double figure_of(const Statement& statement, const FigureQuery& query) {
  return figure_of(statement.figures, query);
}

// A rule's figures: "rate/way:plain" and value.
using FigureValues = std::map<std::string, double>;
inline FigureValues values_of(const Statement& statement) {
  FigureValues values;
  for (const Figure& figure : statement.figures)
    values[point_name(figure.name, figure.by)] = figure.value;
  return values;
}

}  // namespace peakline
