// The real registrations of host and GPUs; nothing is launched. What their pictures name exists:
// benchmarks, parameters, figures, ceilings.

#include "bench/catalog.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/conclude/limits.hpp"
#include "harness/profile/field_rule.hpp"
#include "harness/run/plan.hpp"
#include "harness/values/figure.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/picture.hpp"
#include "tests/unit/sample_catalog.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline::bench {
namespace {

constexpr int kThreads = 192;

class CatalogTest : public ::testing::Test {
 protected:
  CatalogTest() {
    register_all(registry_,
                 {.threads = kThreads, .soak_s = 60, .verified_soak_s = 60, .energy = true});
  }

  Registry registry_;
};

TEST_F(CatalogTest, EveryBenchmarkSaysWhatItIs) {
  const std::regex id("[a-z0-9_]+(\\.[a-z0-9_]+)+");
  for (const Benchmark& benchmark : registry_.benchmarks()) {
    EXPECT_TRUE(std::regex_match(benchmark.id, id)) << benchmark.id;
    EXPECT_FALSE(benchmark.what.empty()) << benchmark.id;
    EXPECT_FALSE(benchmark.work.empty()) << benchmark.id;
    EXPECT_FALSE(benchmark.points.empty()) << benchmark.id;
  }
}

TEST_F(CatalogTest, WhatLoadsTheHostRunsThere) {
  for (const Benchmark& benchmark : registry_.benchmarks())
    for (const Point& point : benchmark.points)
      EXPECT_EQ(point.phase == Phase::kHost, benchmark.loads == Loads::kHost) << benchmark.id;
}

// On eight GPUs, pairs share rounds.
TEST_F(CatalogTest, EightGpusTakeNoMoreThanThreeTimesAsLongAsTwo) {
  const auto seconds = [](const std::vector<int>& gpus) {
    Registry registry;
    register_all(registry, {.gpus = gpus});
    std::vector<std::string> uuids;
    for (const int gpu : gpus) uuids.push_back("GPU-" + std::to_string(gpu));
    const Plan plan = make_plan(registry, uuids, false, "");
    double sum = 0;
    for (const PlannedPoint& point : plan.devices.back().points)
      sum += point.share_s * static_cast<double>(point.sittings);
    EXPECT_EQ(plan.devices.back().device, kNodeDevice);
    return sum;
  };
  const double two_s = seconds({0, 1}), eight_s = seconds({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_LE(two_s, 33);
  EXPECT_LE(eight_s, 68);
  EXPECT_LE(eight_s, 3 * two_s);
}

TEST_F(CatalogTest, EveryRateOfAGpuButTheL2sHasAPhysicalLimit) {
  DeviceFacts device = sample::h200();
  device.nvlinks.version = 4;
  device.nvlinks.count = 18;
  device.nvlinks.bytes_per_s = 26.562e9;
  device.peers = {{.index = 1, .path = "PHB", .nvlinks = 18, .refused = ""}};
  for (const Benchmark& benchmark : registry_.benchmarks()) {
    if (benchmark.loads == Loads::kHost || benchmark.quantity == Quantity::kTime) continue;
    if (benchmark.id.starts_with("l2.")) continue;
    Measurement m =
        sample::measurement(benchmark.id, benchmark.points.front().params, benchmark.quantity, 1);
    m.work = {.bytes_read = 4, .bytes_written = 0, .flops = 2};
    DeviceFacts with_units = device;
    if (benchmark.runs_on && !benchmark.runs_on(device)) {
      with_units.compute_major = 10;
      ASSERT_TRUE(benchmark.runs_on(with_units)) << benchmark.id;
    }
    EXPECT_TRUE(plausible_limit(benchmark, m, with_units)) << benchmark.id;
  }
}

// Hopper runs none of it; other GPUs what their units support.
TEST_F(CatalogTest, NeverRunCodeGivesCeilingsOnlyWithUnits) {
  const auto ceilings = [&](const std::string& id, int major, int minor) {
    DeviceFacts device = sample::h200();
    device.compute_major = major;
    device.compute_minor = minor;
    const Measurement m = sample::measurement(id, {{"load", "burst"}}, Quantity::kFlopRate, 1);
    std::vector<std::string> names;
    for (const CeilingRule* rule : ceiling_rules(registry_.benchmarks(), m, &device))
      names.push_back(rule->resource.name);
    return names;
  };
  using Names = std::vector<std::string>;
  std::size_t never_run = 0;
  for (const Benchmark& benchmark : registry_.benchmarks()) {
    if (!benchmark.never_run) continue;
    ++never_run;
    ASSERT_TRUE(benchmark.runs_on) << benchmark.id;
    EXPECT_EQ(ceilings(benchmark.id, 9, 0), Names{}) << benchmark.id;
    for (const Point& point : benchmark.points) EXPECT_FALSE(point.quick) << benchmark.id;
  }
  EXPECT_EQ(never_run, 5u);
  EXPECT_EQ(ceilings("gemm.mxfp8", 10, 0), Names{"tensor.mxfp8"});
  EXPECT_EQ(ceilings("gemm.nvfp4", 12, 0), Names{"tensor.nvfp4"});
  EXPECT_EQ(ceilings("gemm.model.nvfp4", 13, 0), Names{"tensor.nvfp4"});
}

TEST_F(CatalogTest, WhatRunsInFp16ForWantOfBf16HasALimitToo) {
  DeviceFacts turing = sample::h200();
  turing.compute_major = 7;
  turing.compute_minor = 5;
  for (const char* id : {"gemm.bf16", "gemm.concurrent"}) {
    const auto limit = find_benchmark(registry_.benchmarks(), id)->limit.of(nullptr, turing);
    ASSERT_TRUE(limit) << id;
    EXPECT_DOUBLE_EQ(limit->value, 1024 * *turing.sm_count * *turing.sm_clock_max_hz);
  }
}

TEST_F(CatalogTest, AFullRunHasWhatEstimatesOfDecodingNeed) {
  // reports/peakline/models/estimate.py
  std::set<std::string> names;
  for (const Benchmark& benchmark : registry_.benchmarks())
    for (const Point& point : benchmark.points)
      names.insert(point_name(benchmark.id, point.params));
  for (const char* part : {"qkv", "output", "up", "down"})
    EXPECT_TRUE(names.contains(std::string("gemm.model.bf16/hidden:4096/tokens:1/part:") + part));
  EXPECT_TRUE(names.contains("gemm.skinny.bf16/m:1"));
}

TEST_F(CatalogTest, MmaSyncIsNoCeilingWhereItIsTheSlowWayIn) {
  const auto counts = [&](const char* id, int major, int minor = 0) {
    DeviceFacts device = sample::h200();
    device.compute_major = major;
    device.compute_minor = minor;
    const Measurement m = sample::measurement(id, {}, Quantity::kFlopRate, 1);
    return !ceiling_rules(registry_.benchmarks(), m, &device).empty();
  };
  for (const int major : {8, 12}) EXPECT_TRUE(counts("mma.sync.bf16", major)) << major;
  for (const int major : {9, 10, 11}) {
    EXPECT_FALSE(counts("mma.sync.bf16", major)) << major;
    EXPECT_FALSE(counts("mma.sync.int8", major)) << major;
    EXPECT_TRUE(counts("mma.sync.fp64", major)) << major;
  }
  EXPECT_TRUE(counts("mma.sync.int8", 10, 3));
}

// Title and picture belong to a whole topic, so no two benchmarks may claim it.
TEST_F(CatalogTest, ATopicIsDeclaredOnceWhereItHasACurve) {
  std::map<std::string, std::vector<std::string>> curves, declared;  // ids by topic
  for (const Benchmark& benchmark : registry_.benchmarks()) {
    for (const CurveRule& rule : benchmark.curves) {
      EXPECT_FALSE(rule.topic.empty()) << benchmark.id;
      EXPECT_TRUE(rule.summarize) << benchmark.id;
      curves[rule.topic].push_back(benchmark.id);
    }
    for (const Topic& topic : benchmark.topics) {
      EXPECT_FALSE(topic.name.empty()) << benchmark.id;
      EXPECT_TRUE(topic.title || topic.picture) << benchmark.id << ": " << topic.name;
      declared[topic.name].push_back(benchmark.id);
    }
  }
  EXPECT_FALSE(declared.empty());
  for (const auto& [topic, ids] : declared) {
    EXPECT_THAT(ids, testing::SizeIs(1)) << topic;
    if (curves.contains(topic)) {
      EXPECT_THAT(curves.at(topic), testing::Contains(ids[0])) << topic;
    }
  }
}

// The name says what the figure is, `by` what it depends on.
TEST_F(CatalogTest, AFigureIsNamedApartFromWhatItHoldsFor) {
  const std::regex name("[a-z]+(_[a-z]+)*");
  for (const Benchmark& benchmark : registry_.benchmarks()) {
    std::set<std::pair<std::string, std::vector<std::string>>> kinds;
    for (const CurveRule& rule : benchmark.curves) {
      for (const FigureKind& kind : rule.figures) {
        SCOPED_TRACE(benchmark.id + ", " + rule.topic + ": " + kind.name);
        EXPECT_TRUE(std::regex_match(kind.name, name));
        EXPECT_THAT(profile_format::kFigureUnits, testing::Contains(kind.unit.name));
        EXPECT_EQ(kind.unit.name == "1", kind.unit.number.has_value());
        EXPECT_THAT(std::set(kind.by.begin(), kind.by.end()), testing::SizeIs(kind.by.size()));
        for (const std::string& by : kind.by)
          EXPECT_TRUE(std::regex_match(by, std::regex("[a-z][a-z0-9_]*"))) << by;
        // Benchmark, name and parameters must identify a figure.
        EXPECT_TRUE(kinds.emplace(kind.name, kind.by).second) << "declared twice";
      }
    }
  }
}

// Runs swap numbers of thread blocks that are alike; the answer is the same.
TEST_F(CatalogTest, FewestOfAlikeThreadBlocksAreTheBest) {
  const Benchmark& beside = *find_benchmark(registry_.benchmarks(), "beside.gemm");
  const auto best = [&](std::int64_t collective_at_8) {
    std::vector<Measurement> measured;
    for (const auto& [ctas, beside_ns] :
         {std::pair(4, std::int64_t{2000}), std::pair(8, collective_at_8),
          std::pair(16, std::int64_t{4000})}) {
      Measurement m;
      m.id = beside.id;
      m.params = {{"collective", "all_reduce"}, {"ctas", std::int64_t{ctas}}};
      m.launch = {{"load_alone_ns", std::int64_t{1000}},
                  {"load_beside_ns", std::int64_t{1100}},
                  {"collective_alone_ns", std::int64_t{1000}},
                  {"collective_beside_ns", beside_ns}};
      measured.push_back(m);
    }
    CurveView view;
    for (const Measurement& m : measured) view.points.push_back(&m);
    const CurveRule& rule = beside.curves.front();
    Figures figures(beside.id, rule.figures);
    rule.summarize(view, figures);
    return find_figure(figures.all(), {.name = "best_ctas"})->value;
  };
  EXPECT_EQ(best(2020), 4);
  EXPECT_EQ(best(1980), 4);
  EXPECT_EQ(best(1500), 8);
}

// Some figure has each role that the harness and the reports ask for.
TEST_F(CatalogTest, EveryRoleIsThatOfAFigure) {
  const std::set<std::string> known = {role::kLatency,
                                       role::kHeldByLatency,
                                       role::kHeldByRate,
                                       role::kNearHeld,
                                       role::kFullRate,
                                       role::kLine,
                                       role::kSector,
                                       role::kReach,
                                       role::kReachRate,
                                       role::kBeyond,
                                       role::kBeyondRate,
                                       role::kResults,
                                       role::kDocumentedResults,
                                       role::kCycles,
                                       role::kEmptyKernel,
                                       role::kPageableToDevice,
                                       role::kPageableToHost,
                                       role::kPiecesToDevice,
                                       role::kPiecesToHost,
                                       role::kShareOfSide,
                                       role::kShareOfTokens,
                                       role::kGemmBeside,
                                       role::kCollectiveBeside};
  std::set<std::string> declared;
  for (const Benchmark& benchmark : registry_.benchmarks())
    for (const CurveRule& rule : benchmark.curves)
      for (const FigureKind& kind : rule.figures) {
        if (kind.role.empty()) continue;
        declared.insert(kind.role);
        // The requested level or instruction must be a parameter.
        if (kind.role.starts_with("level.")) {
          EXPECT_THAT(kind.by, testing::Contains("level")) << benchmark.id;
        }
        if (kind.role.starts_with("instruction.")) {
          EXPECT_THAT(kind.by, testing::Contains("op")) << benchmark.id;
        }
      }
  EXPECT_EQ(declared, known);
}

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
}  // namespace peakline::bench
