// First screens of real and modified profiles.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "harness/judge/check.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/show/check.hpp"
#include "harness/show/make_screen.hpp"
#include "harness/show/show.hpp"
#include "harness/values/resources.hpp"
#include "tests/unit/crowded_profile.hpp"
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
using ::testing::StartsWith;

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
constexpr std::size_t kMostLines = 60, kMostLinesOfSeveral = 70;

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

TEST(FirstScreen, AnswersForOneGpu) {
  const Profile profile = reference();
  const std::string text = screen(profile);
  EXPECT_LE(lines_of(text), kMostLines) << text;
  EXPECT_THAT(text, StartsWith("PASS  gpu0, NVIDIA H200: "));
  for (const char* part :
       {"\nGPU 0  NVIDIA H200, 132 SMs, 1980 MHz, ",
        "\nRun    full, complete, 148 s, 2026-11-24; ",
        "\n  HBM read            4617 GB/s     4800 GB/s  96.2 %    ±0.3 %\n",
        "\n  BF16 sustained    701 TFLOP/s   989 TFLOP/s  70.8 %    ±1.7 %\n",
        "\n  Under load the 700 W limit holds BF16 at 1321 of 1980 MHz: that is normal.\n",
        "\n  Llama-3.1-8B in BF16 decodes one sequence at 306 tokens/s at most (HBM read).\n",
        "\nMFU in BF16: which peak to divide by\n",
        "\n  published   989 TFLOP/s  ",
        "\n  achievable  701 TFLOP/s  ",
        "\n  model       658 TFLOP/s  ",
        "\n  An MFU of 50 % is 70.6 % of achievable and 75.2 % of model.\n",
        "\nHost link: packets of 256 B leave 57.6 GB/s of the raw 63.0 GB/s each way\n",
        "\n  PCIe H2D        55.5 GB/s      57.6 GB/s  96.3 %     53.9 GB/s    ±0.9 %\n",
        "\n  Large pageable copies: 6.71 GB/s H2D, 13.4 GB/s D2H. Pin buffers that you copy "
        "often.\n",
        "\nMemory map\n",
        "\n  L1                     at least 208 KiB/SM  33301 GB/s  16.2 ns\n",
        "\n  L2                                  60 MiB   9665 GB/s   142 ns\n",
        "\n  L2, far partition                                        259 ns\n",
        "\nWhat matters here\n  warning  host: ",
        "\n  note     Random access is fast up to 64 GiB",
        "\n  7 other notes: peakline show FILE --topic findings\n",
        "\nMore: peakline show FILE --all"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("ECC is on:")));  // only for the record
}

TEST(FirstScreen, LinksComeFirstAndTheSlowestGpuCounts) {
  // Nodes of eight are judged by nodes of two, with a wider limit.
  for (const auto& [profile, names, healthy] :
       {std::tuple{reference("nvidia-h200-x2"), "\nGPUs 0, 1  NVIDIA H200, ", "380"},
        {eight_gpus(), "\nGPUs 0-7  NVIDIA H200, ", "369"}}) {
    const std::string text = screen(profile);
    EXPECT_LE(lines_of(text), kMostLinesOfSeveral) << text;
    EXPECT_THAT(text,
                StartsWith(fmt::format("PASS  {} GPUs, NVIDIA H200: ", profile.devices.size())));
    EXPECT_THAT(text, HasSubstr(names));
    EXPECT_THAT(text,
                HasSubstr(fmt::format(
                    "\n  NVLink read       396 GB/s     450 GB/s  88.0 %      {} GB/s    ±0.6 %\n",
                    healthy)));
    EXPECT_THAT(text, HasSubstr("\n  NCCL all-reduce   328 GB/s     450 GB/s  73.0 %"));
    EXPECT_LT(text.find("Between GPUs"), text.find("slowest"));
    EXPECT_THAT(text, HasSubstr("\n  FP8 burst        1622 TFLOP/s GPU 0  1979 TFLOP/s  82.0 %   "
                                "1.0 %    ±1.1 %\n"));
    EXPECT_THAT(text, HasSubstr("MFU in BF16: which peak to divide by, of the slowest GPU\n"));
    EXPECT_THAT(text, HasSubstr("GPU 0: Random access"));
    EXPECT_THAT(text, HasSubstr("Likewise: GPU 1"));
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
  const std::string llama = "Llama-3.1-8B in BF16 decodes one sequence at ";
  EXPECT_THAT(screen(profile), HasSubstr(llama + "312 tokens/s at most (HBM read).\n"));
  for (Ceiling& row : profile.ceilings)
    if (row.device == profile.devices[1].uuid && row.resource == "hbm.read") row.value /= 2;
  EXPECT_THAT(screen(profile), HasSubstr(llama + "156 tokens/s"));
  // Weights and input table alone take 16.06 GB.
  for (DeviceFacts& gpu : profile.devices) gpu.memory_bytes = 16.1e9;
  EXPECT_THAT(screen(profile), Not(HasSubstr(llama)));
  for (DeviceFacts& gpu : profile.devices) gpu.memory_bytes = 16.3e9;
  EXPECT_THAT(screen(profile), HasSubstr(llama));
  std::erase_if(profile.ceilings, [](const Ceiling& c) { return c.resource == "hbm.read"; });
  EXPECT_THAT(screen(profile), Not(HasSubstr(llama)));
}

TEST(FirstScreen, SaysHowLargeAGemmHasToBe) {
  Profile profile = reference("nvidia-h200-x2");
  for (std::size_t gpu = 0; gpu < 2; ++gpu) {
    Curve& curve = profile.curves.emplace_back(
        Curve{.device = profile.devices[gpu].uuid, .topic = "GEMM sizes", .sentence = "measured"});
    const auto add = [&](const char* role, const char* format, double size) {
      curve.figures.push_back({.id = "gemm.size",
                               .name = "n",
                               .by = {{"format", format}},
                               .value = size,
                               .unit = "1",
                               .role = role});
    };
    add(role::kFullRateSide, "bf16", gpu == 0 ? 4096 : 5100);
    add(role::kFullRateSide, "fp8", 8200);
    add(role::kFullRateTokens, "bf16", 1000);
    add(role::kFullRateTokens, "fp8", 4100);
  }
  EXPECT_THAT(
      screen(profile),
      HasSubstr("  GEMMs of N x N x N reach 90 % of burst per clock from about N = 5100 in BF16, "
                "8200 in FP8; a\n  transformer's layers from about 1000 tokens in BF16, 4100 in "
                "FP8.\n"));
}

TEST(FirstScreen, OneOfAModelThatLagsIsNamed) {
  Profile profile = reference("nvidia-h200-x2");
  DeviceFacts& second = profile.devices[1];
  second.pcie.width = 8;
  for (Ceiling& row : profile.ceilings) {
    if (row.device != second.uuid || part_of(row.resource) != "pcie") continue;
    row.value /= 2;
  }
  const std::string text = screen(profile);
  EXPECT_LE(lines_of(text), kMostLinesOfSeveral) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("\nGPU 0  NVIDIA H200, "), HasSubstr("\nGPU 1  NVIDIA H200, "),
                          HasSubstr("PCIe 5.0 x8")));
  // Its own link allows half.
  EXPECT_THAT(
      text,
      HasSubstr(
          "\n  PCIe H2D        27.8 GB/s GPU 1      28.8 GB/s  96.4 %     53.9 GB/s   99.8 %"));
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

TEST(FirstScreen, AQuickRunSaysWhatItDoesNotMeasure) {
  const std::string text = screen(concluded(reference(), true));
  EXPECT_LE(lines_of(text), kMostLines) << text;
  EXPECT_THAT(text, HasSubstr("\nRun    quick, complete, "));
  EXPECT_THAT(text, HasSubstr("Not part of a quick run: BF16 sustained, FP8 sustained. peakline "
                              "run without --quick measures\n"
                              "  them.\n"));
  EXPECT_THAT(text, HasSubstr(" TFLOP/s  large GEMMs from rest; "));
  EXPECT_THAT(text, Not(HasSubstr("achievable")));

  Profile some = reference();
  some.asked.filter = "hbm";
  std::erase_if(some.measurements, [](const Measurement& m) { return part_of(m.id) != "hbm"; });
  EXPECT_THAT(screen(concluded(std::move(some), true)),
              HasSubstr("\n  Not measured in this run: FP32 CUDA cores, "));
}

TEST(FirstScreen, OfAHostAlone) {
  const std::string text = screen(concluded(without_gpus()));
  EXPECT_THAT(text, StartsWith("CANNOT JUDGE  no GPU in the profile\n\nHost  "));
  EXPECT_THAT(text, HasSubstr("\n  memory read      about 100 GB/s    varies\n"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("MFU")), Not(HasSubstr("Host link"))));
}

TEST(FirstScreen, WhatMayVaryTenfoldIsNotPrintedInBold) {
  const Profile host = concluded(without_gpus());
  EXPECT_THAT(screen(host, 80, true), HasSubstr("\033[33mabout 100 GB/s\033[0m"));
  const std::string all = show_all(host, {.color = true, .width = 80});
  EXPECT_THAT(all, HasSubstr("\033[2mabout 100 GB/s\033[0m"));
  EXPECT_THAT(all, Not(HasSubstr("\033[1mabout 100 GB/s")));
}

TEST(FirstScreen, APartialRunSaysSo) {
  Profile profile = reference();
  profile.complete = false;
  profile.measurements.resize(600);
  const std::string text = screen(concluded(std::move(profile)));
  EXPECT_THAT(text, StartsWith("CANNOT JUDGE  gpu0, NVIDIA H200: the run ended early\n"
                               "  peakline check FILE says what is missing\n"));
  EXPECT_THAT(text, HasSubstr("\nRun    full, PARTIAL, "));
  EXPECT_THAT(text, HasSubstr("\n  Not measured in this run: FP32 CUDA cores, BF16 burst, "));
}

TEST(FirstScreen, OfAGpuThatNothingIsPublishedOf) {
  Profile profile = reference();
  profile.devices[0].name = "NVIDIA H300";
  const std::string text = screen(concluded(std::move(profile)));
  EXPECT_LE(lines_of(text), kMostLines) << text;
  EXPECT_THAT(text,
              StartsWith("CANNOT JUDGE  gpu0, NVIDIA H300: Tensor Cores not judged: none below "
                         "its floor\n"
                         "  peakline check FILE --against OTHERS compares it with "));
  EXPECT_THAT(text, HasSubstr("\n  BF16 burst        831 TFLOP/s  (1071 TFLOP/s)  77.7 %"));
  EXPECT_THAT(text, HasSubstr("\n  In brackets: computed from units and clocks; "));
  EXPECT_THAT(text, HasSubstr("\n  computed    1071 TFLOP/s  "));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("An MFU of 50 %")), Not(HasSubstr("papers"))));
}

TEST(FirstScreen, OfAGpuWithoutFp8OrAMigSlice) {
  EXPECT_THAT(screen(sample::h200_run()),
              HasSubstr("Not measured in this run: FP8 burst, FP8 sustained."));
  EXPECT_THAT(screen(sample::run_with(sample::gpu([](auto& d) { d.compute_major = 8; }))),
              Not(HasSubstr("FP8")));
  EXPECT_THAT(screen(sample::run_with(sample::gpu([](auto& d) {
                d.name = "NVIDIA H200 MIG 1g.18gb";
                d.mig_enabled = true;
              }))),
              AllOf(HasSubstr("\nGPU 0  NVIDIA H200 MIG 1g.18gb, MIG slice, "),
                    HasSubstr("\n  warning  MIG is on: ")));
}

TEST(FirstScreen, PacketsOfUnknownSizeAreNotGuessed) {
  Profile profile = reference();
  profile.devices[0].pcie.max_payload_bytes.reset();
  const std::string text = screen(concluded(std::move(profile)));
  EXPECT_THAT(text, HasSubstr("\nHost link: the size of its packets, whose headers take a part, is "
                              "not known\n                   measured   raw rate"));
  EXPECT_THAT(text, HasSubstr("\n  PCIe H2D        55.5 GB/s  63.0 GB/s  88.0 %"));
}

TEST(FirstScreen, ACardThatFailsIsToldFirst) {
  Profile profile = reference();
  sample::ceiling(profile, "tensor.bf16", Basis::kBurst).value *= 0.85;
  EXPECT_THAT(screen(profile), AllOf(StartsWith("FAIL  gpu0, NVIDIA H200: BF16 Tensor Cores burst"),
                                     HasSubstr("\n  peakline check FILE names all that fails\n")));
}

TEST(FirstScreen, WhyAFigureIsMissingStandsBelowIt) {
  EXPECT_THAT(screen(sample::run_with(sample::at("gemm.bf16/load:sustained",
                                                 [](auto& m) {
                                                   m.status = Status::kError;
                                                   m.reason = "the worker was killed";
                                                 }))),
              HasSubstr("\n  BF16 sustained: failed: the worker was killed.\n"));
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

TEST(FirstScreen, StorageHasALineWhereItWasMeasured) {
  Profile profile = reference();
  EXPECT_THAT(screen(profile), Not(HasSubstr("Storage")));
  profile.resources.push_back(resource("storage.read"));
  add_ceiling(profile, std::string(kHostDevice), "storage.read", 3.21e9);
  StorageFacts& storage = profile.host.storage.emplace();
  storage.source = "/dev/nvme0n1p1";
  storage.file_system = "ext4";
  storage.direct = true;
  EXPECT_THAT(screen(profile),
              AllOf(HasSubstr("\nStorage: /dev/nvme0n1p1, ext4, past the page cache\n"),
                    HasSubstr("\n  storage read  3.21 GB/s"),
                    HasSubstr("\n  Is that enough? peakline-report FILE --bytes-per-sample SIZE")));
}

TEST(FirstScreen, StorageHasRandomReadsAndTheWayToTheSlowestGpu) {
  Profile profile = reference("nvidia-h200-x2");
  profile.resources.push_back(resource("input.pipeline"));
  add_ceiling(profile, profile.devices[0].uuid, "input.pipeline", 2.5e9);
  add_ceiling(profile, profile.devices[1].uuid, "input.pipeline", 2.1e9);
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
  const std::string text = screen(profile);
  EXPECT_THAT(text, HasSubstr("\n  storage to GPU, slowest  2.10 GB/s"));
  EXPECT_THAT(text, HasSubstr("\n  Random reads of 4 KiB: 10266 per s at depth 1, 34313 per s at "
                              "depth 64.\n"));
}

TEST(FirstScreen, HasACellForEachColumn) {
  std::vector<Profile> profiles = runs_of_every_kind();
  profiles.emplace_back();
  for (const Profile& profile : profiles) {
    const Screen found = make_screen(profile, checks_of(profile));
    const std::string text = screen(profile, 1000);
    EXPECT_FALSE(found.sections.empty());
    for (const Screen::Section& section : found.sections) {
      EXPECT_FALSE(section.rows.empty() && section.notes.empty()) << section.name;
      EXPECT_THAT(text, HasSubstr(section.title));
      for (const std::string& note : section.notes) EXPECT_THAT(text, HasSubstr(note));
      for (const Screen::Row& row : section.rows) {
        EXPECT_EQ(row.cells.size(), section.columns.size()) << section.name << ' ' << row.label;
        for (const std::string& cell : row.cells)
          EXPECT_THAT(text, HasSubstr(terminal_text(cell, false)));
      }
    }
  }
}

TEST(FirstScreen, OfAnEmptyProfileDoesNotFail) {
  EXPECT_THAT(screen({}), HasSubstr("\n  nothing stands out\n"));
}

TEST(FirstScreen, AHostileProfileCannotDriveTheTerminal) {
  Profile profile = sample::h200_run();
  profile.host.hostname = "evil\033]0;title\a\nFORGED";
  profile.devices[0].name = profile.headlines[0].label = "GPU\r\033[2J\nFORGED";
  profile.findings[0].severity = Severity::kError;
  profile.findings[0].message = "x\nFORGED";
  for (Ceiling& row : profile.ceilings)
    row.spread = RunSpread{.within = 1e308, .sittings = 1e308, .runs = 1e308, .assumed_from = {}};
  EXPECT_THAT(screen(profile),
              AllOf(Not(HasSubstr("\033")), Not(HasSubstr("\r")), Not(HasSubstr("\nFORGED"))));
}

TEST(FirstScreen, TimedManyCeilingsTakeNoLongerThanTheyHaveTo) {
  EXPECT_LT(growth([](const Profile& p) { screen(p); }), kMostGrowth);
}

}  // namespace
}  // namespace peakline
