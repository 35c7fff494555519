#include "harness/show/show.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "bench/catalog.hpp"
#include "harness/documents/documents.hpp"
#include "harness/show/topics.hpp"
#include "tests/unit/crowded_profile.hpp"
#include "tests/unit/golden_profile.hpp"
#include "tests/unit/sample_profile.hpp"
#include "tests/unit/texts.hpp"

namespace peakline {
namespace {

using sample::concluded;
using sample::find;
using sample::reference;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The line of the text that contains `part`.
std::string line_with(const std::string& text, std::string_view part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(part) != std::string::npos) return line;
  }
  return "no line with " + std::string(part);
}

TEST(ShowAll, IsThatOfTheGoldenFiles) {
  const auto all = [](const Profile& profile, std::size_t width) {
    const std::string text = show_all(profile, {.color = false, .width = width});
    EXPECT_LE(widest_line(text), width);
    return text;
  };
  golden::expect_screen(all(reference("nvidia-h200-x2"), 132), "all-two-gpus");
  golden::expect_screen(all(concluded(sample::without_gpus()), 80), "all-host");
  EXPECT_THAT(show_all({}, {}), HasSubstr("Findings\n  none"));
}

TEST(ShowAll, SaysHowManyCpusWereWithheld) {
  auto run = sample::h200_run();
  EXPECT_THAT(show_all(run, {}), Not(HasSubstr("usable")));
  run.host.usable_threads = 4;
  EXPECT_THAT(show_all(run, {}), HasSubstr(", 192 cores, 4 of 384 CPUs usable · 1.5 TiB"));
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
  return show_topics(profile, std::vector{name}, true, {.color = false, .width = width});
}

TEST(ShowTopics, AreFoundByTheirNames) {
  const Profile profile = reference();
  for (const char* name : {"memory map", "Memory-Map", "MEMORY_MAP"})
    EXPECT_THAT(topic(profile, name), HasSubstr("\nMemory map  size as the driver states"));
  EXPECT_EQ(topic(profile, "memory"), "");
  EXPECT_EQ(topic(profile, ""), "");
  EXPECT_THAT(
      show_topics(profile, std::vector<std::string>{"links", "caches", "memory map"}, true, {}),
      AllOf(HasSubstr("\nMemory map  size"), HasSubstr("\n  L2: 60 MiB as the driver states, ")));
}

TEST(ShowTopics, MfuNamesThePeaksThatThereAre) {
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

TEST(ChooseTopics, UsersWordsFindTopics) {
  const auto word = [](const char* wanted) {
    const auto chosen = choose_topics(bench::topic_words(), {}, wanted);
    for (const TopicWord& one : bench::topic_words())
      if (std::ranges::equal(chosen.names, one.names)) return std::string(one.word);
    return std::string();
  };
  for (const auto& [wanted, topic] : std::map<const char*, const char*>{{"stride", "alignment"},
                                                                        {"graph", "launch"},
                                                                        {"pinned", "pcie"},
                                                                        {"warp", "divergence"},
                                                                        {"L1", "caches"},
                                                                        {"bf16", "compute"},
                                                                        {"FP8", "compute"},
                                                                        {"tlb", "random"},
                                                                        {"memcpy", "pcie"},
                                                                        {"node", "nvlink"},
                                                                        {"decoding", "decode"},
                                                                        {"numa", "host"},
                                                                        {"all-reduce", "nccl"},
                                                                        {"All Reduce", "nccl"},
                                                                        {"copies", "pcie"},
                                                                        {"write-combined", "pcie"},
                                                                        {"allreduce", "nccl"}})
    EXPECT_EQ(word(wanted), topic) << wanted;
  std::set<std::string_view> known;
  for (const TopicWord& one : bench::topic_words()) {
    EXPECT_TRUE(known.insert(one.word).second) << one.word;
    for (const std::string_view also : one.also) EXPECT_TRUE(known.insert(also).second) << also;
  }
}

TEST(ChooseTopics, AMissNamesWhatWasMeant) {
  const auto meant = [](const char* wanted) { return meant_topic(bench::topic_words(), wanted); };
  EXPECT_EQ(meant("nvlnk"), "; did you mean nvlink?");
  EXPECT_EQ(meant("strde"), "; did you mean stride (of alignment)?");
  EXPECT_EQ(meant("xylophone"), "");
}

TEST(ShowTopics, BeginWithAnswersAndKeepLongTablesForAll) {
  const auto shown = [](const std::string& name, bool all) {
    return show_topics(reference(), std::vector{name}, all, {});
  };
  EXPECT_THAT(
      shown("kernel launch", false),
      AllOf(
          HasSubstr(
              "ECC on\n  A launch takes 4.49 us of the host, a kernel that already waits in the "),
          HasSubstr("from\n  7 where kernels already wait."),
          HasSubstr("  launch submit        4.49 us\n"), HasSubstr("\n  512           694 ns\n"),
          Not(HasSubstr("--all"))));
  EXPECT_THAT(
      shown("alignment", false),
      AllOf(HasSubstr("\n  share of aligned, by stride and width      4 B      8 B     16 B\n"),
            HasSubstr("\n  64                                       3.6 %\n"),
            Not(HasSubstr("--all"))));
  const auto gemms = [](bool all) {
    const std::vector<std::string> names =
        choose_topics(bench::topic_words(), topics_of(reference()), "gemm").names;
    return show_topics(reference(), names, all, {});
  };
  const std::string words = "GEMM BF16, by format, variant: share per clock 94.2 % (bf16, cold L2)";
  EXPECT_THAT(gemms(false), AllOf(HasSubstr(words), HasSubstr("--all has every row")));
  EXPECT_THAT(gemms(true), AllOf(Not(HasSubstr(words)), Not(HasSubstr("--all"))));
  EXPECT_THAT(shown("PCIe copies", false),
              HasSubstr("\n  64 KiB       3.76 us    17.4 GB/s        17.1 us      3.83 GB/s\n"));
  for (const std::string& name : topics_of(reference()))
    EXPECT_LE(std::ranges::count(shown(name, false), '\n'), 65) << name;
}

// Sizes down, methods across.
TEST(ShowTopics, AnswerInTheOrderThatIsAskedFor) {
  const auto line = [](const std::vector<std::string>& names, const char* begin) {
    return show_topics(reference(), names, false, {}).find(begin);
  };
  const std::vector<std::string> sides_first = {"product sides", "operand data"},
                                 data_first = {"operand data", "product sides"};
  EXPECT_LT(line(sides_first, "An odd N"), line(sides_first, "on zeros"));
  EXPECT_GT(line(data_first, "An odd N"), line(data_first, "on zeros"));
}

TEST(ShowTopics, BenchmarksOfTheSamePointsStandBesideEachOther) {
  EXPECT_THAT(
      show_topics(reference("nvidia-h200-x2"), std::vector<std::string>{"collectives"}, false, {}),
      HasSubstr("\n  small time, by bytes  all reduce  all gather  reduce scatter"));
}

TEST(ChooseTopics, WhatCouldBeSeveralIsNoneOfThem) {
  const ChosenTopics chosen = choose_topics(kWords, {}, "N");
  EXPECT_TRUE(chosen.names.empty());
  EXPECT_THAT(chosen.ambiguous, ::testing::ElementsAre("nvlink", "nccl"));
}

TEST(ChooseTopics, EveryTopicOfTheCatalogueHasAWord) {
  bench::CatalogInput input{
      .threads = 16, .soak_s = 60, .verified_soak_s = 60, .energy = true, .storage = true};
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
