#include "harness/judge/repeatability.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/show/repeatability.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using ::testing::HasSubstr;

// A run whose device memory is read `factor` times as fast as usual.
Profile run(double factor, std::string created, std::string mode = "full") {
  Profile p = sample::h200_run();
  for (Measurement& m : p.measurements) {
    if (m.id != "hbm.read") continue;
    *m.value *= factor;
    for (double* time : {&m.summary->median, &m.summary->ci_low, &m.summary->ci_high}) {
      *time /= factor;
    }
  }
  p.mode = std::move(mode);
  p.created = std::move(created);
  return sample::derived(std::move(p));
}

const CeilingStudy& read_ceiling(const Study& study) {
  for (const CeilingStudy& row : study.ceilings) {
    if (row.resource == "hbm.read") return row;
  }
  throw std::out_of_range("hbm.read was not studied");
}

TEST(Study, SaysHowFarRunsDifferAndWhetherTheNextLiesInside) {
  const std::vector<Profile> runs = {run(1, "2026-11-21T10:00:00Z"),
                                     run(1.0001, "2026-11-21T10:02:00Z"),
                                     run(0.9, "2026-11-21T10:04:00Z")};
  const std::vector<Study> studies = study_runs(runs);
  ASSERT_EQ(studies.size(), 1u);
  const CeilingStudy& read = read_ceiling(studies[0]);
  EXPECT_EQ(read.runs, 3u);
  EXPECT_NEAR(read.spread, 0.1001, 1e-6);
  EXPECT_DOUBLE_EQ(read.median, 4583e9);
  // The first two lie inside each other's interval, the third in none.
  EXPECT_NEAR(read.inside.value(), 2.0 / 6, 1e-12);
  EXPECT_GT(read.half_width.value(), 0);
  EXPECT_EQ(studies[0].pairs, 6u);
  EXPECT_EQ(studies[0].alarms, 2u);  // the third after either of the others
  EXPECT_THAT(repeatability_text(studies, runs, {.width = 80}),
              HasSubstr("fails in 2 of 6 ordered pairs: gpu0/hbm.read"));
}

TEST(Study, KeepsModesApartAndLeavesOutWhatWasRunOnce) {
  const std::vector<Profile> runs = {run(1, "2026-11-21T10:00:00Z"), run(1, "2026-11-21T10:02:00Z"),
                                     run(1, "2026-11-21T10:04:00Z", "quick")};
  const std::vector<Study> studies = study_runs(runs);
  ASSERT_EQ(studies.size(), 1u);
  EXPECT_EQ(studies[0].mode, "full");
  EXPECT_EQ(studies[0].alarms, 0u);
  EXPECT_TRUE(study_runs(std::span(runs).last(1)).empty());
}

}  // namespace
}  // namespace peakline
