// The committed references match today's conclusions from their measurements.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "harness/profile/profile.hpp"
#include "harness/values/measurement.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using ::testing::IsEmpty;

// For messages.
std::string text_of(const Figure& f) {
  return fmt::format("{} {} = {} {} {}", f.id, point_name(f.name, f.by), f.value, f.unit, f.role);
}
std::string text_of(const Ceiling& c) {
  return fmt::format("{} {}/{} = {} from {}", c.device, c.resource, to_string(c.basis), c.value,
                     c.measurement);
}
std::string text_of(const Finding& f) {
  return fmt::format("{} {}: {}", f.device, f.code, f.message);
}
std::string text_of(const MemoryLevel& l) { return fmt::format("{} {}", l.device, l.level); }
std::string text_of(const Curve& c) { return fmt::format("{} {}", c.device, c.topic); }

// Rows that only one side has.
template <class Row>
std::vector<std::string> differences(const std::vector<Row>& stored,
                                     const std::vector<Row>& derived) {
  std::vector<std::string> texts;
  const auto add_missing = [&](const char* what, const auto& rows, const auto& from) {
    for (const Row& row : rows)
      if (std::ranges::find(from, row) == from.end()) texts.push_back(what + text_of(row));
  };
  add_missing("only stored: ", stored, derived);
  add_missing("only derived: ", derived, stored);
  if (texts.empty() && stored != derived) texts.emplace_back("another order");
  return texts;
}

// Differences of curves, which are too long to print.
std::vector<std::string> curve_differences(const std::vector<Curve>& stored,
                                           const std::vector<Curve>& derived) {
  std::vector<std::string> texts;
  for (const Curve& was : stored) {
    const auto now = std::ranges::find_if(
        derived, [&](const Curve& c) { return c.device == was.device && c.topic == was.topic; });
    if (now == derived.end() || *now == was) continue;
    const std::size_t count = texts.size();
    const auto add = [&](const std::string& what) {
      texts.push_back(fmt::format("{}: {}", text_of(was), what));
    };
    if (was.title != now->title) add(fmt::format("\"{}\", not \"{}\"", now->title, was.title));
    for (const std::string& figure : differences(was.figures, now->figures)) add(figure);
    if (texts.size() == count) add("something else, such as its picture");
  }
  return texts.empty() ? differences(stored, derived) : texts;
}

class Reference : public testing::TestWithParam<const char*> {
 protected:
  const Profile stored_ = read_profile(std::string(PEAKLINE_SOURCE_DIR "/") + GetParam());
};

// If this fails, `peakline_reconclude PROFILE OUT` updates the reference.
TEST_P(Reference, SaysWhatFollowsFromItsMeasurements) {
  // As stored in a file.
  const Profile derived = profile_from_json(to_json(sample::concluded(stored_)), GetParam());
  EXPECT_THAT(curve_differences(stored_.curves, derived.curves), IsEmpty());
  EXPECT_THAT(differences(stored_.ceilings, derived.ceilings), IsEmpty());
  EXPECT_THAT(differences(stored_.findings, derived.findings), IsEmpty());
  EXPECT_THAT(differences(stored_.memory_map, derived.memory_map), IsEmpty());
  EXPECT_EQ(stored_.rooflines, derived.rooflines);
  EXPECT_EQ(stored_.headlines, derived.headlines);
  EXPECT_EQ(stored_.missing_ceilings, derived.missing_ceilings);
}

TEST_P(Reference, HasEachFigureOnce) {
  std::set<std::string> figures;
  for (const Curve& curve : stored_.curves)
    for (const Figure& figure : curve.figures)
      EXPECT_TRUE(figures
                      .insert(fmt::format("{} {} {}", curve.device, figure.id,
                                          point_name(figure.name, figure.by)))
                      .second)
          << text_of(figure);
  EXPECT_FALSE(figures.empty());
}

INSTANTIATE_TEST_SUITE_P(, Reference,
                         testing::Values("reports/reference/nvidia-h200.json",
                                         "reports/reference/nvidia-h200-x2.json",
                                         "tests/golden/nvidia-h200.json"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace peakline
