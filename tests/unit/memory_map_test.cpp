#include "harness/conclude/memory_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "harness/conclude/findings.hpp"
#include "harness/values/units.hpp"
#include "tests/unit/figures.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using sample::finding;

// Latency in ns by footprint in MiB.
using Steps = std::vector<std::pair<double, double>>;
const Steps kTwoParts = {{1, 142},  {8, 142},  {16, 142}, {28, 144}, {32, 202},  {40, 258},
                         {48, 257}, {56, 260}, {64, 324}, {96, 333}, {128, 333}, {256, 334}};
const Steps kOnePart = {{1, 200},  {8, 200},  {16, 200}, {28, 201}, {32, 203},  {40, 204},
                        {48, 205}, {56, 207}, {64, 390}, {96, 410}, {128, 410}, {256, 411}};

Figure of_level(const char* level, const char* role, double bytes) {
  return {.id = "cache.sweep",
          .name = "held",
          .by = {{"level", level}},
          .value = bytes,
          .unit = "B",
          .role = role};
}

// A run with figures of such an L2, which holds `held_mib` at full rate.
Profile with_l2(const Steps& steps, double near_ns, double far_ns, double held_mib) {
  Profile p = sample::h200_run();
  p.devices[0].shared_per_sm_bytes = 228 * kKiB;
  Curve curve;
  curve.device = p.devices[0].uuid;
  curve.topic = "memory latency";
  const auto say = [&](const CurveRule& rule, const std::vector<Measurement>& points) {
    const std::vector<Figure> said = said_by(rule, points, &p.devices[0]);
    curve.figures.insert(curve.figures.end(), said.begin(), said.end());
  };
  const auto latency = [](Params params, double ns) {
    return sample::measurement("x", std::move(params), Quantity::kTime, ns * 1e-9);
  };
  std::vector<Measurement> sweep;
  for (const auto& [mib, ns] : steps)
    sweep.push_back(latency({{"bytes", static_cast<std::int64_t>(mib * kMiB)}}, ns));
  say(sample::rule_of("latency.l1"), {latency({}, 16.2)});
  say(sample::rule_of("latency.l2"),
      {latency({{"part", "near"}}, near_ns), latency({{"part", "far"}}, far_ns)});
  say(sample::rule_of("latency.hbm"), {latency({}, 337)});
  say(sample::rule_of("latency.sweep"), sweep);
  p.curves.push_back(std::move(curve));
  p.curves.push_back({.device = p.devices[0].uuid,
                      .topic = "caches",
                      .title = "",
                      .figures = {of_level("l1", role::kHeldByRate, 208 * kKiB),
                                  of_level("l2", role::kHeldByRate, held_mib * kMiB)}});
  p.memory_map = derive_memory_map(p);
  p.findings = derive_findings(p, sample::benchmarks());
  return p;
}

const MemoryLevel* level(const Profile& p, std::string_view name) {
  const auto found = std::ranges::find(p.memory_map, name, &MemoryLevel::level);
  return found == p.memory_map.end() ? nullptr : &*found;
}

TEST(FarPart, IsAFindingWhereLatenciesOrRatesShowIt) {
  const Profile by_latency = with_l2(kTwoParts, 142, 259, 49.5);
  ASSERT_NE(finding(by_latency, "l2_far_part"), nullptr);
  EXPECT_EQ(finding(by_latency, "l2_far_part")->severity, Severity::kInfo);
  // In an L2 of one part there is none.
  Profile p = with_l2(kOnePart, 200, 207, 49.5);
  EXPECT_EQ(finding(p, "l2_far_part"), nullptr);
  EXPECT_FALSE(level(p, "l2")->far_latency_s);
  EXPECT_FALSE(level(p, "l2")->near_bytes);
  p.curves.back().figures.push_back(of_level("l2", role::kFullRate, 20 * kMiB));
  p.findings = derive_findings(p, sample::benchmarks());
  ASSERT_NE(finding(p, "l2_far_part"), nullptr);
  // Both parts' latencies contradict the step.
  EXPECT_EQ(finding(with_l2(kTwoParts, 142, 150, 49.5), "l2_far_part"), nullptr);
}

TEST(SmallL2, IsAFindingWhereLatencyAndRateAgree) {
  EXPECT_EQ(finding(with_l2(kTwoParts, 142, 259, 49.5), "l2_small"), nullptr);
  EXPECT_EQ(finding(with_l2(kOnePart, 200, 207, 30), "l2_small"), nullptr);  // not by latency
  const Steps half = {{1, 200}, {8, 200}, {16, 200}, {28, 201}, {32, 330}, {40, 410}, {48, 410}};
  const Profile p = with_l2(half, 200, 410, 28);
  ASSERT_NE(finding(p, "l2_small"), nullptr);
  EXPECT_EQ(finding(p, "l2_small")->severity, Severity::kWarning);
  Profile unknown = p;
  unknown.devices[0].l2_bytes.reset();
  unknown.findings = derive_findings(unknown, sample::benchmarks());
  EXPECT_EQ(finding(unknown, "l2_small"), nullptr);
}

}  // namespace
}  // namespace peakline
