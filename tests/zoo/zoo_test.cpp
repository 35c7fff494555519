// Every device of the zoo goes the way of one that is here: facts, limits, theory, datasheet, a run
// (made up), conclusions, what is shown, the verdict. What a person would see of each stands in
// tests/zoo/expected, which ZOO_EXPECTED=write writes anew.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "bench/catalog.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/cuda/nvml.hpp"
#include "harness/profile/profile.hpp"
#include "harness/show/check.hpp"
#include "harness/show/show.hpp"
#include "tests/zoo/devices.hpp"
#include "tests/zoo/made_up_run.hpp"
#include "tests/zoo/summary.hpp"

namespace peakline::zoo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

const Profile& h200_run() {
  static const Profile kRun =
      read_profile(std::string(PEAKLINE_SOURCE_DIR) + "/tests/golden/nvidia-h200.json");
  return kRun;
}

const bench::Registry& registry() {
  static const bench::Registry kRegistry = [] {
    bench::Registry all;
    bench::register_all(all, {.threads = h200_run().host.usable_threads.value_or(1)});
    return all;
  }();
  return kRegistry;
}

bool writing() {
  const char* wanted = std::getenv("ZOO_EXPECTED");
  return wanted != nullptr && std::string_view(wanted) == "write";
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Zoo, EachFactHasASourceOrIsMarkedConstructed) {
  for (const ZooDevice& device : devices()) {
    for (const auto& report : device.file.at("reports")) {
      SCOPED_TRACE(device.id + ": " + report.dump());
      EXPECT_NE(report.contains("source"), report.contains("constructed"));
      EXPECT_TRUE(report.contains("nvml") || report.contains("cuda"));
      if (!report.contains("source")) continue;
      EXPECT_FALSE(report.value("what", "").empty());
      const std::string source = report["source"];
      EXPECT_TRUE(source.starts_with("https://") ||
                  fs::exists(fs::path(PEAKLINE_SOURCE_DIR) / source));
    }
  }
}

TEST(Zoo, ThoseWithoutAReportAreNamed) {
  const std::string readme = text_of(fs::path(PEAKLINE_SOURCE_DIR) / "tests/zoo/README.md");
  for (const ZooDevice& device : devices()) {
    const auto& reports = device.file.at("reports");
    const bool reported = std::ranges::any_of(reports, [](const auto& report) {
      return !report.value("source", "").empty() && report["what"] != "NVIDIA's list of PCI ids";
    });
    EXPECT_EQ((readme.find("`" + device.id + "`") != std::string::npos), !reported) << device.id;
  }
}

TEST(Zoo, ReportsDoNotContradictEachOther) {
  for (const ZooDevice& device : devices()) {
    for (const char* library : {"nvml", "cuda"}) {
      std::map<std::string, nlohmann::json> seen;
      for (const auto& report : device.file.at("reports")) {
        if (!report.contains(library)) continue;
        for (const auto& [key, value] : report[library].items()) {
          const auto [known, fresh] = seen.emplace(key, value);
          if (fresh || value.is_object()) continue;
          EXPECT_EQ(known->second, value) << device.id << ' ' << key;
        }
      }
    }
  }
}

TEST(Zoo, StepsOfTheClockAreThoseOfTheDriversList) {
  const auto step_hz = [](const char* id) {
    return facts_of(*std::ranges::find(devices(), id, &ZooDevice::id)).sm_clock_step_hz;
  };
  EXPECT_EQ(step_hz("h200-sxm"), 15e6);
  EXPECT_EQ(step_hz("h100-sxm"), std::nullopt);  // its file has no list
}

TEST(Zoo, ModesThatReportsStateAreFacts) {
  const auto facts = [](const char* id) {
    return facts_of(*std::ranges::find(devices(), id, &ZooDevice::id));
  };
  EXPECT_EQ(facts("h20").confidential_computing, "protected PCIe");
  EXPECT_EQ(facts("h800").fabric, "in progress");
  for (const std::string& unknown : {facts("h800").confidential_computing, facts("h20").fabric})
    EXPECT_EQ(unknown, "");
}

class Device : public ::testing::TestWithParam<ZooDevice> {};

void is_summed_up_as_expected(const std::string& id, const Profile& run) {
  const fs::path path = fs::path(PEAKLINE_SOURCE_DIR) / "tests/zoo/expected" / (id + ".txt");
  const DeviceFacts& device = run.devices.at(0);
  std::string found = summary(run) + lacks(device, registry());
  // One alone, so that a new question changes no other file.
  if (id == "h200-sxm") found += plan_summary(device, registry());
  if (writing()) std::ofstream(path) << found;
  EXPECT_EQ(found, text_of(path));
}

void is_sound(const Profile& run) {
  // No point may be thrown away because another device's limit was held against it.
  for (const Measurement& m : run.measurements)
    EXPECT_FALSE(implausible(m, run.devices[0], registry().benchmarks())) << m.name();
  for (const Ceiling& row : run.ceilings) {
    EXPECT_GT(row.value, 0) << row.resource;
    if (row.factors.empty()) continue;
    double product = 1;
    for (const Factor& factor : row.factors) product *= factor.value;
    const Ceiling* theory =
        find_ceiling(run.ceilings, row.device, row.resource, Basis::kTheoretical);
    EXPECT_NEAR(product, row.value / theory->value, 1e-6) << row.resource;
  }
}

void can_be_shown(const Profile& run) {
  const ShowOptions options{.color = false, .width = 100};
  const std::string all = show_all(run, options);
  const std::string first = first_screen(run, {}, options);
  for (const std::string& text : {all, first}) {
    EXPECT_THAT(text, HasSubstr(run.devices[0].name));
    EXPECT_THAT(text, Not(HasSubstr("nan")));
    EXPECT_THAT(text, Not(HasSubstr("inf ")));
    // The other device's facts have no business here.
    if (run.devices[0].name == "NVIDIA H200") continue;
    EXPECT_THAT(text, Not(HasSubstr("NVIDIA H200,")));
  }
}

void can_be_written_and_read(const std::string& id, const Profile& run) {
  const char* kept = std::getenv("ZOO_PROFILES");  // a folder for the test of the reports
  const fs::path folder = kept != nullptr ? kept : ::testing::TempDir();
  const fs::path path = folder / (id + ".json");
  write_profile(run, path);
  EXPECT_EQ(read_profile(path).devices, run.devices);
  if (kept == nullptr) fs::remove(path);
}

// The health of a device with these answers of NVML, before and after.
std::pair<DeviceHealth, DeviceHealth> health_of(const nlohmann::json& nvml) {
  const fs::path file = fs::path(::testing::TempDir()) / "device.json";
  std::ofstream(file) << nlohmann::json{{"reports", {{{"constructed", "here"}, {"nvml", nvml}}}}};
  answer_as(file);
  const cuda::Nvml library("/nowhere");
  const std::string uuid = library.devices().at(0).uuid;
  DeviceHealth before = library.health(uuid);
  return {std::move(before), library.health(uuid)};
}

nlohmann::json counter(std::int64_t start, std::int64_t growth = 0) {
  return {{"start", start}, {"growth", growth}};
}

TEST(Health, CountersOfLinksAreRead) {
  const auto [before, after] = health_of({{"counters", {{"pcie_replays", counter(5'000'000, 3)}}},
                                          {"memory_temperature_c", 71},
                                          {"temperature_margin_c", -2},
                                          {"nvlinks",
                                           {{"count", 2},
                                            {"worn", 1},
                                            {"counters",
                                             {{"138", counter(4, 8)},
                                              {"139", counter(2)},
                                              {"161", counter(7, 2)},
                                              {"162", counter(0)},
                                              {"163", counter(1)}}}}}});
  EXPECT_EQ(before.pcie_replays, 5'000'000);
  EXPECT_EQ(after.pcie_replays, 5'000'003);
  EXPECT_EQ(before.memory_temperature_c, 71);
  EXPECT_EQ(before.temperature_margin_c, -2);
  NvLinkCounters link{.link = 0, .bytes = 6 * 1024, .replays = 7, .recoveries = 0, .crc_errors = 1};
  NvLinkCounters worn = link;
  worn.link = 1;
  EXPECT_THAT(before.nvlinks, ::testing::ElementsAre(link, worn));
  worn.bytes = 14 * 1024;
  worn.replays = 9;
  EXPECT_THAT(after.nvlinks, ::testing::ElementsAre(link, worn));
}

TEST(Health, Nvlink5CountsInFieldsOfItsOwn) {
  const auto [before, after] = health_of({{"nvlinks",
                                           {{"count", 1},
                                            {"counters",
                                             {{"202", counter(100)},
                                              {"204", counter(11)},
                                              {"208", counter(3)},
                                              {"215", counter(0, 1)},
                                              {"219", counter(2)},
                                              {"220", counter(0x50f)},
                                              {"221", counter(-1)},
                                              {"222", counter(0xfff)}}}}}});
  const NvLinkCounters link{.link = 0,
                            .bytes = 111,
                            .recoveries = 0,
                            .receive_errors = 3,
                            .effective_errors = 2,
                            .effective_ber = 5e-15};
  EXPECT_THAT(before.nvlinks, ::testing::ElementsAre(link));
  EXPECT_EQ(after.nvlinks.at(0).recoveries, 1);
}

TEST(Health, WhatIsNotSupportedIsUnknown) {
  const auto [health, again] =
      health_of({{"memory_temperature_c", 0}, {"nvlinks", {{"count", 4}}}});
  EXPECT_EQ(health, DeviceHealth());
}

TEST_P(Device, GoesTheWholeWay) {
  const std::string& id = GetParam().id;
  const Profile run = made_up_run(facts_of(GetParam()), h200_run(), registry().benchmarks());
  is_summed_up_as_expected(id, run);
  is_sound(run);
  can_be_shown(run);
  can_be_written_and_read(id, run);
}

INSTANTIATE_TEST_SUITE_P(Zoo, Device, ::testing::ValuesIn(devices()), [](const auto& test) {
  std::string name = test.param.id;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace peakline::zoo
