#include "harness/show/show.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "bench/catalog.hpp"
#include "harness/show/check.hpp"
#include "harness/show/topics.hpp"
#include "tests/unit/crowded_profile.hpp"
#include "tests/unit/sample_profile.hpp"
#include "tests/unit/texts.hpp"

namespace peakline {
namespace {

using sample::concluded;
using sample::find;
using sample::reference;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The line of the text that contains `part`.
std::string line_with(const std::string& text, std::string_view part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(part) != std::string::npos) return line;
  }
  return "no line with " + std::string(part);
}

TEST(ShowAll, OpensWithMachineAndHeadlines) {
  const auto text = show_all(sample::h200_run(), {});
  EXPECT_THAT(text, StartsWith("peakline 0.1.0 · full run · 2026-11-20 20:17 UTC"));
  EXPECT_THAT(text, HasSubstr("node7 · 2 x AMD EPYC 9654 96-Core Processor, 192 cores · 1.5 TiB"));
  EXPECT_THAT(text, HasSubstr("GPU 0 · NVIDIA H200 · 132 SMs, 1980 MHz · 140 GiB · 700 W"));
  EXPECT_THAT(text,
              HasSubstr("\n  BF16 sustained    692 TFLOP/s   989 TFLOP/s  69.9 %    ±1.7 %\n"));
}

TEST(ShowAll, SaysHowManyCpusWereWithheld) {
  auto run = sample::h200_run();
  EXPECT_THAT(show_all(run, {}), Not(HasSubstr("usable")));
  run.host.usable_threads = 4;
  EXPECT_THAT(show_all(run, {}), HasSubstr(", 192 cores, 4 of 384 CPUs usable · 1.5 TiB"));
}

TEST(ShowAll, PutsCeilingsSideBySide) {
  const auto text = show_all(sample::h200_run(), {});
  const auto sustained = line_with(text, "power cap: 1410 MHz");
  for (const char* part :
       {"sustained", "692", "1071", "64.6", "989 @1830", "69.9", "762 @1410", "90.8"}) {
    EXPECT_THAT(sustained, HasSubstr(part));
  }
  const auto read = line_with(text, "16 B wide, 4 GiB");
  for (const char* part : {"HBM read", "4583", "4814", "95.2", "4800", "95.5", "±0.3 %"}) {
    EXPECT_THAT(read, HasSubstr(part));
  }
}

TEST(ShowAll, SaysMoreWhereThereIsRoom) {
  const auto all = [](std::size_t width) {
    const std::string text = show_all(sample::h200_run(), {.color = false, .width = width});
    EXPECT_LE(widest_line(text), width);
    return text;
  };
  const std::string narrow = all(80), middle = all(100), wide = all(120), widest = all(132);
  EXPECT_THAT(line_with(narrow, "why not 100 %"), Not(HasSubstr("published")));
  EXPECT_THAT(line_with(middle, "why not 100 %"), HasSubstr("published"));
  EXPECT_THAT(line_with(middle, "model-shaped"), HasSubstr("665"));
  EXPECT_THAT(line_with(middle, "why not 100 %"), Not(HasSubstr("next run")));
  EXPECT_THAT(line_with(wide, "why not 100 %"), HasSubstr("next run"));
  EXPECT_THAT(line_with(wide, "power cap: 1410 MHz"), HasSubstr("±1.7 %"));
  EXPECT_THAT(line_with(wide, "why not 100 %"), Not(HasSubstr("/clk/SM")));
  EXPECT_THAT(line_with(widest, "why not 100 %"), HasSubstr("/clk/SM"));
  EXPECT_THAT(line_with(widest, "power cap: 1410 MHz"), HasSubstr("3718   0.989"));
}

TEST(ShowAll, SaysWhatVariesInsteadOfHowPreciseItIs) {
  auto p = sample::h200_run();
  EXPECT_THAT(show_all(p, {}), HasSubstr("next run: how far from the figure the next run"));
  p.host.virtualization = "kvm";
  sample::find(p, "hbm.read/width:16/bytes:4294967296").flags.unstable = true;
  sample::find(p, "gemm.bf16/load:burst").flags.unstable = true;
  const auto text = show_all(sample::derived(p), {});
  EXPECT_THAT(line_with(text, "16 B wide, 4 GiB"), HasSubstr("varies  16 B"));
  EXPECT_THAT(line_with(text, " varies; "), HasSubstr("burst"));
  EXPECT_THAT(line_with(text, "memory read"), HasSubstr("about 680 GB/s    varies"));
  // Older profiles have no interval for the next run.
  for (Ceiling& ceiling : p.ceilings) ceiling.spread.reset();
  const auto old = show_all(p, {});
  EXPECT_THAT(old, Not(HasSubstr("±")));
  EXPECT_THAT(old, Not(HasSubstr("how far from the figure")));
}

TEST(ShowAll, HoldsFindingsRidgePointsAndCurves) {
  const auto text = show_all(sample::h200_run(), {});
  EXPECT_THAT(text, HasSubstr("Findings\n  note     The power cap of 700 W"));
  EXPECT_THAT(text, HasSubstr("Ridge points, FLOP/byte"));
  EXPECT_THAT(text, ContainsRegex("HBM read +PCIe H2D\n"));
  EXPECT_THAT(text, ContainsRegex("BF16 Tensor Cores burst +176 .*\n +sustained +151 "));
  EXPECT_THAT(text, HasSubstr("\n  kernel launch"));
  EXPECT_THAT(text, HasSubstr("another node of a graph 620 ns\n"));
  EXPECT_EQ(text.back(), '\n');
}

TEST(ShowAll, HoldsATableOfInstructions) {
  Profile p = sample::h200_run();
  EXPECT_THAT(show_all(p, {}), Not(HasSubstr("Instructions  ")));
  const auto of = [](const char* role, const char* op, double value) {
    return Figure{.id = "instruction.throughput",
                  .name = "figure",
                  .by = {{"op", op}},
                  .value = value,
                  .unit = "1",
                  .role = role};
  };
  p.curves.push_back(
      {.device = sample::kUuid,
       .topic = "instructions",
       .title = "",
       .figures = {of(role::kResults, "fp32_fma", 126.5),
                   of(role::kDocumentedResults, "fp32_fma", 128), of(role::kResults, "match", 3.99),
                   of(role::kCycles, "shuffle", 26), of(role::kCycles, "fp32_fma", 4.02)}});
  EXPECT_THAT(show_all(p, {}), HasSubstr("            measured  documented    %  latency\n"
                                         "  fp32_fma       126         128 98.8     4.02\n"
                                         "  match         3.99           –    –        –\n"
                                         "  shuffle          –           –    –     26.0\n"));
}

TEST(ShowAll, FitsTheTerminal) {
  auto p = sample::h200_run();
  auto& ridges = p.rooflines[0].ridge_points;
  for (const char* level : {"l1.read", "l2.read"})
    for (std::size_t i = 0, count = ridges.size(); i < count; ++i) {
      ridges.push_back(ridges[i]);
      ridges.back().memory = level;
    }
  for (const std::size_t width : {60, 70, 80, 96, 100})
    EXPECT_LE(widest_line(show_all(p, {.color = false, .width = width})), width);
  p.complete = false;
  auto& m = find(p, "gemm.tf32/load:burst");
  m.status = Status::kError;
  m.reason = "a reason that goes on for longer than the column it has is wide, and then some more";
  p = sample::derived(p);
  EXPECT_LE(widest_line(show_all(p, {.color = false, .width = 100})), 100U);
}

TEST(ShowAll, ThreadsThatGainNothingAreNotSaidToGain) {
  auto p = sample::h200_run();
  EXPECT_THAT(show_all(p, {}), HasSubstr("All threads read 20.0 x as fast as one"));
  for (const double gain : {1.0, 0.9, 1.004}) {
    find(p, "host.memory.read/threads:192").value =
        gain * *find(p, "host.memory.read/threads:1").value;
    const auto text = show_all(sample::derived(p), {.color = false, .width = 200});
    EXPECT_THAT(text, HasSubstr("All threads read 1.0 x as fast as one"));
  }
}

TEST(ShowAll, APartialRunSaysSo) {
  auto p = sample::h200_run();
  EXPECT_THAT(show_all(p, {}), Not(HasSubstr("PARTIAL")));
  p.complete = false;
  auto& m = find(p, "gemm.bf16/load:sustained");
  m.status = Status::kError;
  m.reason = "the worker was killed";
  p = sample::derived(p);
  const auto text = show_all(p, {.color = false, .width = 140});
  EXPECT_THAT(text, HasSubstr("PARTIAL RUN: 132 measured, 0 skipped, 1 failed"));
  EXPECT_THAT(text, HasSubstr("failed: the worker was killed"));
  EXPECT_THAT(text, HasSubstr("–"));
}

TEST(ShowAll, ColorOnlyWhenAsked) {
  EXPECT_THAT(show_all(sample::h200_run(), {.color = false}), Not(HasSubstr("\033")));
  EXPECT_THAT(show_all(sample::h200_run(), {.color = true}), HasSubstr("\033[1m"));
}

TEST(ShowAll, AHostileProfileCannotDriveTheTerminal) {
  auto p = sample::h200_run();
  p.tool = p.findings[0].message = "x\nFORGED";
  p.rooflines[0].ridge_points[0].compute = p.rooflines[0].ridge_points[0].memory = "x\nFORGED";
  p.host.hostname = "evil\033]0;title\a\nFORGED";
  p.devices[0].name = "GPU\r\033[2J\nFORGED";
  const std::string text = show_all(p, {});
  for (const char* obeyed : {"\033", "\r", "\nFORGED"}) EXPECT_THAT(text, Not(HasSubstr(obeyed)));
}

TEST(ShowAll, OfAHostAloneOrOfNothing) {
  const auto text = show_all(sample::run_with(sample::remove_gpus), {});
  EXPECT_THAT(text, HasSubstr("680 GB/s"));
  EXPECT_THAT(text, HasSubstr("Findings\n  none"));
  EXPECT_THAT(text, Not(HasSubstr("GPU")));
  EXPECT_THAT(show_all({}, {}), HasSubstr("Findings\n  none"));
}

TEST(ShowAll, FindingsNameOneOfSeveralDevices) {
  auto p = sample::run_with([](Profile& run) {
    run.devices.push_back(run.devices[0]);
    run.devices[1].uuid = "GPU-2";
    run.devices[1].index = 1;
    run.devices[1].pcie.width = 8;
  });
  EXPECT_THAT(show_all(p, {}), HasSubstr("warning  GPU 1: The PCIe link ran at 5.0 x8 under load"));
  for (const DeviceFacts& gpu : {p.devices[1], p.devices[0]})
    p.findings.push_back({"code", Severity::kInfo, gpu.uuid, "The same of both.", {}});
  EXPECT_THAT(show_all(p, {}), HasSubstr("note     GPUs 0, 1: The same of both.\n"));
}

TEST(ShowAll, TimedManyCeilingsTakeNoLongerThanTheyHaveTo) {
  EXPECT_LT(growth([](const Profile& p) { show_all(p, {}); }), kMostGrowth);
}

nlohmann::json row_of(const nlohmann::json& table, std::string_view key) {
  for (const nlohmann::json& row : table["rows"])
    if (row.value("key", "") == key) return row["cells"];
  throw std::out_of_range(std::string(key));
}

TEST(ShowJson, HoldsTablesOfTypedCells) {
  const auto document = nlohmann::json::parse(show_json(sample::h200_run(), {}));
  EXPECT_EQ(document["schema"], "peakline-summary");
  EXPECT_EQ(document["schema_version"], 2);
  const auto& gpu = document["devices"][0];
  const auto& tables = gpu["tables"];
  const auto cells = row_of(tables["compute"], "tensor.bf16/sustained");
  EXPECT_DOUBLE_EQ(cells["measured"]["value"], 692e12);
  EXPECT_EQ(cells["measured"]["unit"], "FLOP/s");
  EXPECT_LT(cells["measured"]["low"], 692e12);
  EXPECT_DOUBLE_EQ(cells["published"]["clock_hz"], 1830e6);
  EXPECT_EQ(cells["why"]["text"], "power cap: 1410 MHz");
  EXPECT_EQ(row_of(tables["bandwidth"], "hbm.read/measured")["measured"]["unit"], "B/s");
  for (const char* table : {"headlines", "mfu", "factors", "ridge_points"})
    EXPECT_TRUE(tables.contains(table)) << table;
  EXPECT_FALSE(gpu["curves"].empty());
  EXPECT_EQ(document["screen"]["tables"][0]["key"], "machine");
  EXPECT_EQ(document["findings"][0]["code"], "power_cap");
  EXPECT_EQ(document["measurements"]["failed"], 0);
}

TEST(ShowJson, SaysWhyAFigureIsMissing) {
  const auto p = sample::run_with(
      sample::at("gemm.bf16/load:sustained", [](auto& m) { m.status = Status::kError; }));
  const auto document = nlohmann::json::parse(show_json(p, {}));
  const auto measured =
      row_of(document["devices"][0]["tables"]["headlines"], "tensor.bf16/sustained")["measured"];
  EXPECT_TRUE(measured["value"].is_null());
  EXPECT_EQ(measured["absence"], "failed");
  EXPECT_EQ(measured["missing"], "failed");
}

TEST(ShowJson, IsAscii) {
  auto p = sample::h200_run();
  p.host.hostname = "node\u009b7\u202e\x7f";
  const auto document = show_json(p, {});
  EXPECT_TRUE(
      std::ranges::all_of(document, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  EXPECT_EQ(nlohmann::json::parse(document)["hostname"], p.host.hostname);
  p.host.hostname = "\xff\xfe";  // not UTF-8
  EXPECT_NO_THROW(nlohmann::json::parse(show_json(p, {})));
}

std::string topic(const Profile& profile, const std::string& name, std::size_t width = 100) {
  return show_topics(profile, std::vector{name}, {.color = false, .width = width});
}

TEST(ShowTopics, AreFoundByTheirNames) {
  const Profile profile = reference();
  for (const char* name : {"memory map", "Memory-Map", "MEMORY_MAP"})
    EXPECT_THAT(topic(profile, name), HasSubstr("\nMemory map  size as stated"));
  EXPECT_EQ(topic(profile, "memory"), "");
  EXPECT_EQ(topic(profile, ""), "");
  EXPECT_THAT(show_topics(profile, std::vector<std::string>{"links", "caches", "memory map"}, {}),
              AllOf(HasSubstr("\nMemory map  size"), HasSubstr("\nReads keep the rate")));
}

TEST(ShowTopics, HoldTitleAndFigures) {
  const std::string text = topic(reference(), "caches", 80);
  EXPECT_THAT(text, StartsWith("GPU 0 · NVIDIA H200"));
  EXPECT_THAT(text, HasSubstr("\nReads keep the rate of the L1 up to 208 KiB per SM, "));
  EXPECT_THAT(text, HasSubstr("level        rate      held"));
  EXPECT_THAT(text, HasSubstr("l1     33034 GB/s   208 KiB"));
  EXPECT_LE(widest_line(text), 80U);
}

TEST(ShowTopics, MfuNamesThePeaksAsTheFirstScreenDoes) {
  const std::string text = topic(reference(), "mfu");
  for (const char* line :
       {"                     published  burst    %  achievable    %  model    %\n",
        "  BF16 Tensor Cores        989    831 84.0         701 70.8    658 66.5\n",
        "  FP32 GEMM               66.9   55.7 83.3        55.0 82.2      –\n"})
    EXPECT_THAT(text, HasSubstr(line));
  for (const char* other : {"datasheet", "sustained  ", "model-shaped", "CUDA cores"})
    EXPECT_THAT(text, Not(HasSubstr(other)));
  EXPECT_LE(widest_line(topic(reference(), "mfu", 60)), 60U);
  // A quick run has no sustained rates.
  EXPECT_THAT(topic(concluded(reference(), true), "mfu"),
              HasSubstr("  BF16 Tensor Cores        989    831 84.0"));
  // Of a card that nothing is published of, the rate is computed.
  Profile unknown = reference();
  std::erase_if(unknown.ceilings,
                [](const Ceiling& row) { return row.basis == Basis::kDatasheet; });
  EXPECT_THAT(topic(unknown, "mfu"), AllOf(HasSubstr("  BF16 Tensor Cores     (1071)"),
                                           HasSubstr("In brackets: computed")));
}

TEST(ShowTopics, EveryOneThatIsListedIsThere) {
  for (const Profile& profile :
       {reference("nvidia-h200-x2"), sample::derived(sample::without_gpus())}) {
    const std::vector<std::string> topics = topics_of(profile);
    EXPECT_THAT(topics, ::testing::Contains("findings"));
    for (const std::string& name : topics) EXPECT_NE(topic(profile, name, 60), "") << name;
  }
}

const std::vector<TopicWord> kWords = {{"caches", {"caches", "memory map"}},
                                       {"l2", {"caches", "memory map"}},
                                       {"l2cache", {"caches", "memory map"}},
                                       {"nvlink", {"GPU to GPU"}},
                                       {"nccl", {"collectives"}}};

TEST(ChooseTopics, ByAWordOrItsBeginningInAnyCase) {
  const std::vector<std::string> own = {"toy sums"};
  const auto names = [&](const char* wanted) { return choose_topics(kWords, own, wanted).names; };
  for (const char* wanted : {"caches", "ca", "CACHE", "l2", "l"})
    EXPECT_THAT(names(wanted), ::testing::ElementsAre("caches", "memory map")) << wanted;
  for (const char* wanted : {"nvlink", "NVL", "gpu to gpu", "GPU-to-GPU"})
    EXPECT_THAT(names(wanted), ::testing::ElementsAre("GPU to GPU")) << wanted;
  EXPECT_THAT(names("memory-map"), ::testing::ElementsAre("memory map"));
  EXPECT_THAT(choose_topics(kWords, std::vector<std::string>{"NCCL"}, "nccl").names,
              ::testing::ElementsAre("collectives", "NCCL"));
  EXPECT_THAT(names("Toy_Sums"), ::testing::ElementsAre("toy sums"));
  for (const char* wanted : {"", " ", "cachesx", "gpu", "toy"})
    EXPECT_TRUE(names(wanted).empty()) << wanted;
}

TEST(ChooseTopics, WhatCouldBeSeveralIsNoneOfThem) {
  const ChosenTopics chosen = choose_topics(kWords, {}, "N");
  EXPECT_TRUE(chosen.names.empty());
  EXPECT_THAT(chosen.ambiguous, ::testing::ElementsAre("nvlink", "nccl"));
}

TEST(ChooseTopics, EveryTopicOfTheCatalogueHasAWord) {
  bench::CatalogInput input{.threads = 16, .soak_s = 60, .verified_soak_s = 60, .storage = true};
  bench::Registry registry;
  bench::register_all(registry, input);
  std::set<std::string> topics;
  for (const Benchmark& benchmark : registry.benchmarks()) {
    for (const CurveRule& curve : benchmark.curves) topics.insert(curve.topic);
    for (const Topic& declared : benchmark.topics) topics.insert(declared.name);
  }
  const std::vector<std::string> parts = topics_of(reference("nvidia-h200-x2"));
  topics.insert(parts.begin(), parts.end());
  std::set<std::string> named;
  for (const TopicWord& word : bench::topic_words()) {
    EXPECT_THAT(std::string(word.word), ::testing::MatchesRegex("[a-z0-9]+"));
    EXPECT_EQ(choose_topics(bench::topic_words(), {}, word.word).names.size(), word.names.size());
    named.insert(word.names.begin(), word.names.end());
  }
  EXPECT_EQ(named, topics);
}

}  // namespace
}  // namespace peakline
