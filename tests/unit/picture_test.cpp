// Everything that declared pictures name exists: benchmarks, parameters, figures, ceilings.

#include "harness/values/picture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/unit/sample_catalog.hpp"

namespace peakline {
namespace {

// Valid parameter names of the numbers; empty if there are no such numbers.
std::set<std::string> parameters_of(const Numbers& numbers) {
  std::set<std::string> names;
  const Benchmark* benchmark = find_benchmark(sample::benchmarks(), numbers.id);
  if (benchmark == nullptr) return names;
  if (numbers.figure.empty()) {
    names.insert("");
    for (const Point& point : benchmark->points)
      for (const auto& [name, value] : point.params) names.insert(name);
    return names;
  }
  for (const CurveRule& rule : benchmark->curves)
    for (const FigureKind& kind : rule.figures)
      if (kind.name == numbers.figure) {
        names.insert("");
        names.insert(kind.by.begin(), kind.by.end());
      }
  return names;
}

void expect_there(const Numbers& numbers) {
  const auto names = parameters_of(numbers);
  EXPECT_TRUE(names.contains("")) << numbers.id << " " << numbers.figure;
  for (const auto& [name, value] : numbers.where)
    EXPECT_TRUE(names.contains(name)) << numbers.id << " " << numbers.figure << " " << name;
}

bool is_resource(const std::string& name) {
  return std::ranges::any_of(sample::benchmarks(), [&](const Benchmark& benchmark) {
    return std::ranges::any_of(benchmark.ceilings,
                               [&](const CeilingRule& rule) { return rule.resource.name == name; });
  });
}

void expect_complete(const Panel& panel) {
  EXPECT_FALSE(panel.series.empty());
  for (const PictureSeries& series : panel.series) {
    expect_there(series.numbers);
    const auto names = parameters_of(series.numbers);
    for (const std::string& name : {panel.over, series.each})
      EXPECT_TRUE(names.contains(name)) << series.numbers.id << " " << name;
    EXPECT_EQ(series.label.find("{}") != series.label.npos, !series.each.empty()) << series.label;
  }
  EXPECT_TRUE(panel.by.empty() ||
              std::ranges::any_of(panel.series,
                                  [&](const PictureSeries& series) {
                                    return parameters_of(series.numbers).contains(panel.by);
                                  }))
      << panel.by;
  EXPECT_TRUE(panel.kind != PanelKind::kLines || !panel.over.empty());
  for (const Mark& mark : panel.marks) {
    if (mark.figure) expect_there(*mark.figure);
    EXPECT_TRUE(mark.resource.empty() || is_resource(mark.resource)) << mark.resource;
    EXPECT_EQ(1, int{mark.diagonal} + int{!mark.resource.empty()} + int{mark.figure.has_value()} +
                     int{mark.value.has_value()})
        << mark.label;
  }
}

TEST(Pictures, NameOnlyWhatThereIs) {
  std::set<std::string> keys;
  for (const Benchmark& benchmark : sample::benchmarks())
    for (const Topic& topic : benchmark.topics) {
      if (!topic.picture) continue;
      SCOPED_TRACE(topic.name);
      EXPECT_TRUE(keys.insert(topic.picture->key).second) << topic.picture->key;
      EXPECT_FALSE(topic.picture->subject.empty());
      EXPECT_FALSE(topic.picture->how.empty());
      EXPECT_FALSE(topic.picture->panels.empty());
      for (const Panel& panel : topic.picture->panels) expect_complete(panel);
    }
  EXPECT_GE(keys.size(), 22U);
}

}  // namespace
}  // namespace peakline
