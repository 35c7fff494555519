// Plain values: measurements, facts, figures and titles.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/conclude/benchmark.hpp"
#include "harness/conclude/curves.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/facts.hpp"
#include "harness/values/figure.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/picture.hpp"
#include "harness/values/resources.hpp"
#include "tests/unit/figures.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

TEST(PointName, JoinsIdAndParameters) {
  const Params params{{"width", std::int64_t{16}}, {"load", std::string("burst")}};
  EXPECT_EQ(point_name("hbm.read", params), "hbm.read/width:16/load:burst");
  EXPECT_EQ(point_name("launch.submit", {}), "launch.submit");
  // Parameters are found by name and type.
  EXPECT_EQ(int_param(params, "width"), 16);
  EXPECT_EQ(int_param(params, "load"), std::nullopt);
  EXPECT_EQ(text_param(params, "load"), "burst");
  EXPECT_EQ(text_param(params, "missing"), std::nullopt);
}

TEST(DeviceView, FindsTheRowsOfItsDevice) {
  Profile profile = sample::run_with(
      [](Profile& run) { sample::find(run, "gemm.tf32/load:burst").status = Status::kError; });
  Measurement& wrong = sample::find(profile, "hbm.read/width:16/bytes:4294967296");
  wrong.verified = false;
  const std::vector<DeviceView> views = device_views(profile);
  const DeviceView &gpu = views[0], &host = views[2];
  EXPECT_EQ(gpu.ceiling("tensor.bf16", Basis::kBurst)->value, 805e12);
  EXPECT_EQ(gpu.ceiling("tensor.tf32", Basis::kBurst), nullptr);
  EXPECT_EQ(gpu.missing("tensor.tf32", Basis::kBurst)->why, Absence::kFailed);
  EXPECT_EQ(host.ceiling("tensor.bf16", Basis::kBurst), nullptr);
  EXPECT_EQ(gpu.measurement(wrong.name()), &wrong);
  // Sweeps hold sound points alone.
  const auto sweep = gpu.sweep("hbm.read");
  EXPECT_FALSE(sweep.empty());
  EXPECT_EQ(std::ranges::find(sweep, &wrong), sweep.end());
}

TEST(Merge, TheFirstGoesFirst) {
  DeviceFacts nvml, cuda;
  nvml.name = "NVIDIA H200";
  nvml.memory_bytes = 150;
  nvml.numa_node = 1;
  cuda.name = "H200";
  cuda.memory_bytes = 140;
  cuda.sm_count = 132;
  cuda.compute_major = 9;
  nvml.sm_clock_max_hz = 1980e6;
  cuda.sm_clock_step_hz = 15e6;
  merge(nvml, cuda);
  EXPECT_EQ(nvml.sm_clock_step_hz, 15e6);
  EXPECT_EQ(highest_sm_clock_hz(nvml), 1980e6);
  nvml.sm_clock_seen_max_hz = 1995e6;
  EXPECT_EQ(highest_sm_clock_hz(nvml), 1995e6);
  EXPECT_EQ(nvml.name, "NVIDIA H200");
  EXPECT_EQ(nvml.memory_bytes, 150);
  EXPECT_EQ(nvml.numa_node, 1);
  EXPECT_EQ(nvml.sm_count, 132);
  EXPECT_EQ(nvml.compute_major, 9);
}

TEST(Merge, OfNothingAndADeviceIsTheDevice) {
  DeviceFacts cuda;
  cuda.uuid = "GPU-1";
  cuda.name = "H200";
  cuda.pci_bus_id = "00000000:01:00.0";
  cuda.pci_device_id = "10de:2335";
  cuda.pci_subsystem_id = "10de:18be";
  cuda.compute_major = 9;
  cuda.compute_minor = 0;
  cuda.l2_bytes = 60;
  cuda.numa_node = 0;
  cuda.power_limit_w = 700;
  cuda.confidential_computing = "off";
  cuda.fabric = "completed";
  DeviceFacts merged;
  merge(merged, cuda);
  EXPECT_EQ(merged, cuda);
}

TEST(NvLinks, OfASwitchLeadToAllOthers) {
  DeviceFacts gpu;
  EXPECT_EQ(nvlinks_to(gpu, std::nullopt), 0);
  gpu.peers = {{.index = 1, .nvlinks = 4}, {.index = 2, .nvlinks = 2}};
  EXPECT_EQ(nvlinks_to(gpu, 2), 2);
  EXPECT_EQ(nvlinks_to(gpu, 3), 0);
  EXPECT_EQ(nvlinks_to(gpu, std::nullopt), 6);
  gpu.nvlinks.to_switch = true;
  gpu.peers = {{.index = 1, .nvlinks = 18}, {.index = 2, .nvlinks = 18}};
  EXPECT_EQ(nvlinks_to(gpu, std::nullopt), 18);
}

Figure a_figure(std::string name, Params by, double value, std::string role = {}) {
  return {.id = "copy.rate",
          .name = std::move(name),
          .by = std::move(by),
          .value = value,
          .unit = "B/s",
          .role = std::move(role)};
}

TEST(FigureQuery, SelectsWhatHasAllThatItNames) {
  const std::vector<Figure> figures = {
      a_figure("rate", {{"way", "plain"}, {"tile", 512}}, 1),
      a_figure("rate", {{"way", "bulk"}, {"tile", 512}}, 2, role::kFullRate),
      a_figure("rate", {{"way", "bulk"}, {"tile", 1024}}, 3), a_figure("time", {}, 4)};
  EXPECT_EQ(figure_of(figures, {}), 1);
  EXPECT_EQ(figure_of(figures, {.name = "time"}), 4);
  EXPECT_EQ(figure_of(figures, {.role = role::kFullRate}), 2);
  EXPECT_EQ(figure_of(figures, {.name = "rate", .by = {{"tile", 1024}}}), 3);
  EXPECT_EQ(figure_of(figures, {.by = {{"tile", 512}, {"way", "bulk"}}}), 2);  // in any order
  EXPECT_EQ(find_figure(figures, {.name = "time", .by = {{"tile", 512}}}), nullptr);
  EXPECT_EQ(find_figure(figures, {.by = {{"tile", "512"}}}), nullptr);  // text
  EXPECT_EQ(find_figure(figures, {.id = "copy", .name = "rate"}), nullptr);
  EXPECT_EQ(find_figure(std::vector<Figure>(), {}), nullptr);
}

TEST(Figures, AreThoseThatTheRuleDeclares) {
  const std::vector<FigureKind> kinds = {
      {"rate", "B/s"}, {"share", unit::kShare}, {"rate", "GB/s", {"way", "tile"}, role::kFullRate}};
  Figures figures("copy.rate", kinds);
  figures.add("rate", 1);
  figures.add("rate", 2, {{"way", "bulk"}, {"tile", 512}});
  ASSERT_EQ(figures.all().size(), 2u);
  EXPECT_EQ(figures.all()[0], a_figure("rate", {}, 1));
  EXPECT_EQ(figures.all()[1].unit, "GB/s");
  EXPECT_EQ(figures.all()[1].role, role::kFullRate);
  figures.add("share", 0.5);
  EXPECT_EQ(figures.all()[2].unit, "1");
  EXPECT_EQ(figures.all()[2].number, PureNumber::kShare);
  EXPECT_THROW(figures.add("time", 1), std::logic_error);
  EXPECT_THROW(figures.add("rate", 1, {{"way", "bulk"}}), std::logic_error);
  EXPECT_THROW(figures.add("rate", 1, {{"tile", 512}, {"way", "bulk"}}), std::logic_error);
  EXPECT_EQ(figures.all().size(), 3u);
}

// Two benchmarks of one topic; the first declares its title.
class Titles : public testing::Test {
 protected:
  Titles() {
    for (const char* id : {"made.up.one", "made.up.other"}) {
      Benchmark& benchmark = benchmarks_.emplace_back();
      benchmark.id = id;
      benchmark.curves = {
          {"made up", {{"time", "s"}}, [](const CurveView& curve, Figures& figures) {
             figures.add("time", *curve.points.front()->value);
           }}};
      profile_.measurements.push_back(sample::measurement(id, {}, Quantity::kTime, 2e-6));
    }
    profile_.devices = {sample::h200()};
  }
  void declare(const std::string& topic, std::function<std::string(const TitleView&)> title) {
    benchmarks_.front().topics.push_back({.name = topic, .title = std::move(title)});
  }
  std::vector<Curve> curves() const { return derive_curves(profile_, benchmarks_); }

  std::vector<Benchmark> benchmarks_;
  Profile profile_;
};

TEST_F(Titles, AreMadeOfTheFiguresOfAllBenchmarksOfTheTopic) {
  declare("made up", [](const TitleView& view) {
    const std::size_t times = view.all({.name = "time"}).size();  // the host has none
    return std::to_string(times) + " times on " + view.facts->name;
  });
  ASSERT_EQ(curves().size(), 1u);
  EXPECT_EQ(curves()[0].title, "2 times on NVIDIA H200");
}

TEST_F(Titles, AreEmptyWhereAnythingOfThemIsMissing) {
  declare("made up", [](const TitleView& view) {
    EXPECT_EQ(view.find({.name = "rate"}), nullptr);
    EXPECT_THROW(view.value({.name = "rate"}), Missing);
    EXPECT_THROW(view.ceiling("hbm.read", Basis::kMeasured), Missing);
    EXPECT_EQ(view.measurement("made.up"), nullptr);
    view.all({.name = "rate"});
    return std::string("not reached");
  });
  ASSERT_EQ(curves().size(), 1u);
  EXPECT_EQ(curves()[0].title, "");
  EXPECT_FALSE(curves()[0].figures.empty());
}

// Anything but Missing is a mistake in the title.
TEST_F(Titles, CostTheirTopicIfTheyThrow) {
  declare("made up", [](const TitleView&) -> std::string { throw std::out_of_range("beyond"); });
  EXPECT_THROW(curves(), std::out_of_range);
  std::vector<BrokenTopic> broken;
  EXPECT_TRUE(derive_curves(profile_, benchmarks_, &broken).empty());
  const auto of_gpu = std::ranges::find(broken, sample::kUuid, &BrokenTopic::device);
  ASSERT_NE(of_gpu, broken.end());
  EXPECT_EQ(of_gpu->topic, "made up");
  EXPECT_EQ(of_gpu->why, "its title: beyond");
}

TEST_F(Titles, NeedNoFigures) {
  declare("another", [](const TitleView& view) {
    return view.measurement("made.up.other") != nullptr ? "It was measured" : "";
  });
  ASSERT_EQ(curves().size(), 2u);
  EXPECT_EQ(curves()[0].topic, "another");
  EXPECT_EQ(curves()[0].title, "It was measured");
  EXPECT_TRUE(curves()[0].figures.empty());
  // Nothing to say: no curve.
  profile_.measurements.clear();
  EXPECT_TRUE(curves().empty());
}

}  // namespace
}  // namespace peakline
