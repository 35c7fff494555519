// First screens of real and modified profiles.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/check.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/show/screen.hpp"
#include "harness/show/show.hpp"
#include "harness/values/resources.hpp"
#include "tests/unit/crowded_profile.hpp"
#include "tests/unit/golden_profile.hpp"
#include "tests/unit/sample_profile.hpp"
#include "tests/unit/texts.hpp"

namespace peakline {
namespace {

using sample::concluded;
using sample::reference;
using sample::without_gpus;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Checks checks_of(const Profile& profile) {
  static const std::vector<Population> known = bundled_populations();
  Checks checks;
  checks.files.push_back(
      {.file = {}, .result = check(profile, {.populations = known, .donors = known})});
  return checks;
}

std::string screen(const Profile& profile, std::size_t width = 100, bool color = false) {
  return first_screen(profile, checks_of(profile), {.color = color, .width = width});
}

// At 100 columns.
constexpr std::size_t kMostLines = 60, kMostLinesOfSeveral = 76;

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// Eight GPUs; the last six measured what the second of two did.
Profile eight_gpus() {
  Profile profile = reference("nvidia-h200-x2");
  const std::vector<Measurement> measured = profile.measurements;
  const DeviceFacts second = profile.devices[1];
  for (int index = 2; index < 8; ++index) {
    DeviceFacts gpu = second;
    gpu.index = index;
    gpu.uuid = fmt::format("GPU-0000000{}", index);
    gpu.peers.clear();  // pairs with it were not measured
    profile.devices.push_back(gpu);
    for (Measurement m : measured) {
      if (m.device == kNodeDevice && int_param(m.params, "gpu") == second.index)
        m.params[0].second = std::int64_t{index};
      else if (m.device == second.uuid)
        m.device = gpu.uuid;
      else
        continue;
      profile.measurements.push_back(std::move(m));
    }
  }
  return concluded(std::move(profile));
}

void add_ceiling(Profile& profile, const std::string& device, const char* name, double value) {
  Ceiling& row = profile.ceilings.emplace_back();
  row.device = device;
  row.resource = name;
  row.basis = Basis::kMeasured;
  row.value = value;
  row.unit = "B/s";
}

using sample::Change;

Profile changed(Profile profile, Change change) {
  change(profile);
  return profile;
}

// The other GPU's link is half as wide.
void lag(Profile& profile) {
  DeviceFacts& second = profile.devices[1];
  second.pcie.width = 8;
  for (Ceiling& row : profile.ceilings)
    if (row.device == second.uuid && part_of(row.resource) == "pcie") row.value /= 2;
}

void add_storage(Profile& profile) {
  for (const char* name : {"storage.read", "input.pipeline"})
    profile.resources.push_back(resource(name));
  add_ceiling(profile, std::string(kHostDevice), "storage.read", 3.21e9);
  add_ceiling(profile, profile.devices[0].uuid, "input.pipeline", 2.5e9);
  add_ceiling(profile, profile.devices[1].uuid, "input.pipeline", 2.1e9);
  StorageFacts& storage = profile.host.storage.emplace();
  storage.source = "/dev/nvme0n1p1";
  storage.file_system = "ext4";
  storage.direct = true;
  Curve& curve = profile.curves.emplace_back();
  curve.device = std::string(kHostDevice);
  curve.topic = "storage";
  for (const auto& [depth, rate] : {std::pair{1, 10266.3}, {64, 34313.4}})
    curve.figures.push_back({.id = "host.storage.read",
                             .name = "reads_per_s",
                             .by = {{"block", 4096}, {"depth", depth}},
                             .value = rate,
                             .unit = "IOPS",
                             .role = role::kRandomReads});
}

// A GPU of another name, packets of unknown size and a figure that failed.
Profile unknown_gpu() {
  Profile profile = reference();
  profile.devices[0].name = "NVIDIA H300";
  profile.devices[0].pcie.max_payload_bytes.reset();
  Measurement& lost = sample::find(profile, "gemm.bf16/load:sustained");
  lost.status = Status::kError;
  lost.reason = "the worker was killed";
  return concluded(std::move(profile));
}

Profile partial() {
  Profile profile = reference();
  profile.complete = false;
  profile.measurements.resize(600);
  return concluded(std::move(profile));
}

Profile some_of_quick() {
  Profile profile = reference();
  profile.asked.filter = "hbm";
  std::erase_if(profile.measurements, [](const Measurement& m) { return part_of(m.id) != "hbm"; });
  return concluded(std::move(profile), true);
}

TEST(FirstScreen, IsThatOfTheGoldenFiles) {
  const Profile two = reference("nvidia-h200-x2");
  const std::vector<std::pair<const char*, Profile>> screens = {
      {"one-gpu", reference()},
      {"two-gpus", two},
      {"eight-gpus", eight_gpus()},
      {"quick", concluded(reference(), true)},
      {"quick-memory", some_of_quick()},
      {"host", concluded(without_gpus())},
      {"partial", partial()},
      {"unknown-gpu", unknown_gpu()},
      {"lagging-link", changed(two, lag)},
      {"storage", changed(two, add_storage)},
      {"failing", changed(reference(), [](Profile& profile) {
         sample::ceiling(profile, "tensor.bf16", Basis::kBurst).value *= 0.85;
       })}};
  for (const auto& [name, profile] : screens) {
    const std::string text = screen(profile);
    EXPECT_LE(lines_of(text), profile.devices.size() < 2 ? kMostLines : kMostLinesOfSeveral);
    golden::expect_screen(text, name);
  }
}

TEST(FirstScreen, CallsALowClockNormalOnlyWhereTheRateIsHealthy) {
  Profile profile = reference();
  for (Ceiling& row : profile.ceilings)
    if (row.resource == "tensor.bf16" &&
        (row.basis == Basis::kSustained || row.basis == Basis::kModelShaped)) {
      row.value *= 0.4;
      if (row.conditions.sm_clock_hz) *row.conditions.sm_clock_hz *= 0.4;
    }
  const std::string text = screen(profile);
  EXPECT_THAT(text, HasSubstr("\n  Under load the 700 W limit holds BF16 at 528 of 1980 MHz.\n"));
  // No share of what is achievable is above 100 %.
  EXPECT_THAT(text, HasSubstr("\n  An MFU of 10 % is 35.3 % of achievable and 37.6 % of model.\n"));
}

TEST(FirstScreen, SaysWhatMemoryLetsAModelDecode) {
  Profile profile = reference("nvidia-h200-x2");
  const std::string llama = "Llama-3.1-8B in BF16 decodes one sequence of 1024 tokens at ";
  EXPECT_THAT(screen(profile), HasSubstr(llama + "306 tokens/s at most (HBM read).\n"));
  const auto slow_down = [&](double share) {
    for (Ceiling& row : profile.ceilings)
      if (row.device == profile.devices[1].uuid && row.resource == "hbm.read") row.value *= share;
    return screen(profile);
  };
  EXPECT_THAT(slow_down(0.98), HasSubstr(llama + "300 tokens/s"));
  EXPECT_THAT(slow_down(0.5), HasSubstr("a healthy GPU decodes more"));
  slow_down(2);
  // Weights and input table alone take 16.06 GB.
  for (DeviceFacts& gpu : profile.devices) gpu.memory_bytes = 16.1e9;
  EXPECT_THAT(screen(profile), Not(HasSubstr(llama)));
  for (DeviceFacts& gpu : profile.devices) gpu.memory_bytes = 16.3e9;
  EXPECT_THAT(screen(profile), HasSubstr(llama));
  std::erase_if(profile.ceilings, [](const Ceiling& c) { return c.resource == "hbm.read"; });
  EXPECT_THAT(screen(profile), Not(HasSubstr(llama)));
}

TEST(ShowTopics, NameFailingFiguresInRed) {
  const Profile slow = changed(reference(), [](Profile& p) {
    for (Ceiling& row : p.ceilings)
      if (row.resource == "hbm.read") row.value *= 0.6;
  });
  const auto shown = [](const Profile& profile, const char* topic) {
    const Checks checks = checks_of(profile);
    return show_topics(profile, std::vector<std::string>{topic}, false,
                       {.color = true, .width = 200}, &checks);
  };
  const std::string red =
      "\x1b[31mSlower than healthy devices, so are conclusions: HBM read.\x1b[0m\n";
  EXPECT_THAT(shown(slow, "device memory by width"), HasSubstr(red));
  EXPECT_THAT(shown(slow, "kernel launch"), Not(HasSubstr("Slower than healthy")));
  EXPECT_THAT(shown(reference(), "device memory by width"), Not(HasSubstr("Slower than healthy")));
}

TEST(FirstScreen, MarksFailingFiguresAndTheirBounds) {
  const std::string text = screen(changed(reference("nvidia-h200-x2"), [](Profile& p) {
    for (Ceiling& row : p.ceilings)
      if (row.device == p.devices[1].uuid && row.resource == "hbm.read") row.value *= 0.6;
  }));
  EXPECT_THAT(text,
              AllOf(HasSubstr("\n  HBM read FAIL "), HasSubstr("\n  HBM write  "),
                    HasSubstr("\n  HBM FAIL "), HasSubstr("fails: a healthy GPU decodes more")));
  EXPECT_THAT(screen(reference()), Not(HasSubstr(" FAIL")));
}

TEST(FirstScreen, GpusOfSeveralModelsHaveTablesOfTheirOwn) {
  Profile profile = reference("nvidia-h200-x2");
  profile.devices[1].name = "NVIDIA H300";
  const std::string text = screen(profile);
  EXPECT_THAT(text, AllOf(HasSubstr("\nGPU 0\n"), HasSubstr("\nGPU 1\n")));
  EXPECT_THAT(text, Not(HasSubstr("slowest")));
}

TEST(FirstScreen, HeadlinesOfOneGpuAloneDoNoHarm) {
  Profile profile = reference("nvidia-h200-x2");
  std::erase_if(profile.headlines,
                [&](const Headline& h) { return h.device == profile.devices[1].uuid; });
  EXPECT_THAT(screen(profile), HasSubstr(" GPU 0  "));
}

TEST(FirstScreen, WhatMayVaryTenfoldIsNotPrintedInBold) {
  const Profile host = concluded(without_gpus());
  EXPECT_THAT(screen(host, 80, true), HasSubstr("\033[33mabout 100 GB/s\033[0m"));
  const std::string all = show_all(host, {.color = true, .width = 80});
  EXPECT_THAT(all, HasSubstr("\033[33mabout 100 GB/s\033[0m"));
  EXPECT_THAT(all, Not(HasSubstr("\033[1mabout 100 GB/s")));
}

TEST(FirstScreen, OfAGpuWithoutFp8OrAMigSlice) {
  EXPECT_THAT(screen(sample::h200_run()),
              HasSubstr("Not measured in this run: FP8 burst, FP8 achievable."));
  EXPECT_THAT(screen(sample::run_with(sample::gpu([](auto& d) { d.compute_major = 8; }))),
              Not(HasSubstr("FP8")));
  EXPECT_THAT(screen(sample::run_with(sample::gpu([](auto& d) {
                d.name = "NVIDIA H200 MIG 1g.18gb";
                d.mig_enabled = true;
              }))),
              AllOf(HasSubstr("\nGPU 0  NVIDIA H200 MIG 1g.18gb, MIG slice, "),
                    HasSubstr("\n  warning  MIG is on: ")));
}

TEST(FirstScreen, FindingsLeaveRoomForTheRest) {
  Profile profile = reference();
  for (int i = 0; i < 30; ++i)
    profile.findings.insert(profile.findings.begin(),
                            {.code = fmt::format("fault_{}", i),
                             .severity = Severity::kError,
                             .device = profile.devices[0].uuid,
                             .message = "The card has a fault that has not been seen before.",
                             .evidence = {}});
  const std::string text = screen(profile);
  EXPECT_LE(lines_of(text), kMostLines) << text;
  EXPECT_THAT(text, HasSubstr(" more that matter, 7 other notes: "));
  EXPECT_THAT(text, HasSubstr("\n  error    The card has a fault"));
}

// A full and a quick run, of one GPU, two and none.
std::vector<Profile> runs_of_every_kind() {
  return {reference(), reference("nvidia-h200-x2"), concluded(reference(), true),
          concluded(without_gpus()), sample::h200_run()};
}

TEST(FirstScreen, FitsTheTerminal) {
  for (const Profile& profile : runs_of_every_kind())
    for (const std::size_t width : {60, 72, 80, 120})
      EXPECT_LE(widest_line(screen(profile, width)), width) << screen(profile, width);
}

TEST(FirstScreen, HasTablesWithKeysForPrograms) {
  std::vector<Profile> profiles = runs_of_every_kind();
  profiles.emplace_back();
  for (const Profile& profile : profiles) {
    const Screen found = make_screen(profile, checks_of(profile));
    EXPECT_FALSE(found.tables.empty());
    for (const Table& table : found.tables) {
      EXPECT_FALSE(table.empty()) << table.key;
      std::set<std::string> keys;
      for (const Column& column : table.columns)
        EXPECT_TRUE(keys.insert(column.key).second) << table.key << ' ' << column.key;
      for (const Row& row : table.rows)
        EXPECT_LE(row.cells.size(), table.columns.size()) << table.key << ' ' << row.label;
    }
  }
}

TEST(FirstScreen, OfAnEmptyProfileDoesNotFail) {
  EXPECT_THAT(screen({}), HasSubstr("\n  nothing stands out\n"));
}

TEST(FirstScreen, TimedManyCeilingsTakeNoLongerThanTheyHaveTo) {
  EXPECT_LT(growth([](const Profile& p) { screen(p); }), kMostGrowth);
}

}  // namespace
}  // namespace peakline
