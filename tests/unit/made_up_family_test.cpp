// A family of benchmarks known only from its registration here works in the whole program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "harness/benchmark/device.hpp"
#include "harness/benchmark/host_bench.hpp"
#include "harness/conclude/conclusions.hpp"
#include "harness/conclude/curves.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/documents/documents.hpp"
#include "harness/judge/compare.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/plan.hpp"
#include "harness/show/compare.hpp"
#include "harness/show/show.hpp"
#include "harness/values/units.hpp"
#include "tests/unit/figures.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline::bench {
namespace {

using ::testing::HasSubstr;

constexpr double kLimit = 1e18;
constexpr std::int64_t kLarge = 1 << 22;

void toy_sum(HostBench& bench) {
  const auto bytes = static_cast<std::size_t>(bench.integer("bytes"));
  const std::vector<std::uint64_t> data(bytes / sizeof(std::uint64_t), 3);
  std::uint64_t sum = 0;
  bench.measure(
      {.bytes_read = static_cast<double>(bytes)},
      [&](int) { sum = std::accumulate(data.begin(), data.end(), std::uint64_t{0}); }, 1);
  bench.verify([&]() -> std::string { return sum == 3 * data.size() ? "" : "wrong sum"; });
}

std::vector<Point> toy_points() {
  std::vector<Point> points;
  for (const std::int64_t bytes : {std::int64_t{1} << 16, kLarge})
    points.push_back({.params = {{"bytes", bytes}}, .phase = Phase::kHost, .quick = true});
  return points;
}

void register_toy(Registry& registry) {
  registry.add({.id = "toy.sum",
                .what = "How fast does one thread add up an array?",
                .work = "bytes read",
                .quantity = Quantity::kByteRate,
                .loads = Loads::kHost,
                .limit = {.of =
                              [](const Measurement*, const DeviceFacts&) {
                                return std::optional(PhysicalLimit{
                                    .value = kLimit, .how = "made up", .conditions = {}});
                              }},
                .ceilings = {{.resource = {.name = "toy.sum",
                                           .label = "Toy sum",
                                           .unit = "B/s",
                                           .kind = Resource::Kind::kMemory,
                                           .precision = {},
                                           .slope_rank = 1},
                              .counts = at_least("bytes", static_cast<double>(kLarge))}},
                .curves = {{"toy sums",
                            {{"best_rate", "B/s"}},
                            [](const CurveView& curve, Figures& figures) {
                              figures.add("best_rate", *curve.points.back()->value);
                            }}},
                .topics = {{"toy sums",
                            [](const TitleView& view) {
                              return "One thread adds up " +
                                     format_rate(view.value({.name = "best_rate"}), "B/s");
                            }}},
                .points = toy_points()},
               toy_sum);
}

Profile measured(const Registry& registry, const Plan& plan) {
  Profile profile;
  profile.created = "2026-11-20T20:17:00Z";
  profile.tool = "peakline";
  profile.mode = "quick";
  profile.complete = true;
  profile.host = sample::h200_run().host;
  RunOptions options;
  options.quick = true;
  const auto device = open_device(std::string(kHostDevice), options);
  for (const PlannedPoint& point : plan.devices.at(0).points)
    profile.measurements.push_back(device->measure(registry.find(point.name)));
  return with_conclusions(std::move(profile), registry.benchmarks());
}

class MadeUpFamily : public ::testing::Test {
 protected:
  MadeUpFamily() {
    register_toy(registry_);
    plan_ = make_plan(registry_, {}, true, "");
    profile_ = measured(registry_, plan_);
  }

  Registry registry_;
  Plan plan_;
  Profile profile_;
};

TEST_F(MadeUpFamily, IsInPlanAndProfile) {
  ASSERT_EQ(plan_.size(), 2U);
  EXPECT_EQ(plan_.devices[0].points[0].name, "toy.sum/bytes:65536");
  const Profile read = profile_from_json(to_json(profile_), "toy");
  ASSERT_EQ(read.measurements.size(), 2U);
  EXPECT_EQ(read.measurements[1].verified, true) << read.measurements[1].reason;
  ASSERT_EQ(read.ceilings.size(), 1U);
  EXPECT_EQ(read.ceilings[0].resource, "toy.sum");
  EXPECT_EQ(read.ceilings[0].measurement, "toy.sum/bytes:4194304");
  ASSERT_EQ(read.resources.size(), 1U);
  EXPECT_EQ(read.resources[0].label, "Toy sum");
  ASSERT_EQ(read.curves.size(), 1U);
  EXPECT_EQ(read.curves[0].topic, "toy sums");
  EXPECT_THAT(read.curves[0].title, testing::StartsWith("One thread adds up "));
  EXPECT_GT(figure_of(read.curves[0], {.id = "toy.sum", .name = "best_rate"}), 0);
}

TEST_F(MadeUpFamily, HasItsLimit) {
  Profile above = profile_;
  above.devices = {sample::h200()};
  for (Measurement& m : above.measurements) {
    m.device = sample::kUuid;
    m.value = 1.01 * kLimit;
  }
  above = with_conclusions(std::move(above), registry_.benchmarks());
  EXPECT_TRUE(above.measurements[1].flags.implausible);
  ASSERT_EQ(above.missing_ceilings.size(), 1U);
  EXPECT_THAT(above.missing_ceilings[0].reason, HasSubstr("implausible"));
}

TEST_F(MadeUpFamily, IsShownAndCompared) {
  const std::string text = show_all(profile_, {});
  EXPECT_THAT(text, HasSubstr("Toy sum"));
  EXPECT_THAT(text, HasSubstr("One thread adds up"));
  EXPECT_THAT(show_json(profile_, {}), HasSubstr("toy.sum"));
  const CompareResult result =
      compare(std::span(&profile_, 1), std::span(&profile_, 1), {.threshold = 0.03});
  ASSERT_EQ(result.devices.size(), 1U);
  ASSERT_EQ(result.devices[0].ceilings.size(), 1U);
  EXPECT_THAT(compare_text(result, {.all = true}, {}), HasSubstr("Toy sum  "));
  ASSERT_EQ(result.devices[0].curves.size(), 1U);
  EXPECT_EQ(result.devices[0].curves[0].id, "toy.sum");
}

TEST_F(MadeUpFamily, IsInTheReport) {
  const std::string python = PEAKLINE_PYTHON;
  const std::string with_package = "PYTHONPATH=" PEAKLINE_SOURCE_DIR "/reports " + python;
  if (std::system((with_package + " -c 'import matplotlib, peakline' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "no Python with matplotlib";
  const auto folder =
      std::filesystem::temp_directory_path() / ("peakline-made-up-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  write_profile(profile_, folder / "toy.json");
  const std::string command = with_package + " -m peakline report " +
                              (folder / "toy.json").string() + " -o " +
                              (folder / "report").string() + " >/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream page(folder / "report" / "report.html");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  EXPECT_THAT(text, HasSubstr("Toy sum"));
  EXPECT_THAT(text, HasSubstr("One thread adds up"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace peakline::bench
