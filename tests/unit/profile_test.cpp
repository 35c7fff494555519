#include "harness/profile/profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/conclude/conclusions.hpp"
#include "harness/conclude/headlines.hpp"
#include "harness/statistics/statistics.hpp"
#include "tests/unit/sample_catalog.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::filesystem::path kGolden =
    std::filesystem::path(PEAKLINE_SOURCE_DIR) / "tests/golden/profile.json";
const std::string kUuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";

// A profile in which every field has a value of its own, and every kind of "not known" occurs. The
// golden file is this one, written; Python's tests read it too.
Profile example() {
  const Conditions loaded = {.sm_clock_hz = 1.98e9,
                             .sm_clock_source = ClockSource::kKernel,
                             .memory_clock_hz = 3.201e9,
                             .power_w = std::nullopt,
                             .temperature_c = 41,
                             .utilization = 0.985,
                             .pcie_generation = std::nullopt,
                             .pcie_width = std::nullopt,
                             .power_cap_share = std::nullopt,
                             .throttle_reasons = {}};
  const Conditions capped = {.sm_clock_hz = 1.7412e9,
                             .sm_clock_source = ClockSource::kProbe,
                             .memory_clock_hz = 3.201e9,
                             .power_w = 698.25,
                             .temperature_c = 63.5,
                             .utilization = 1,
                             .pcie_generation = std::nullopt,
                             .pcie_width = std::nullopt,
                             .power_cap_share = 0.75,
                             .throttle_reasons = {"sw_power_cap"}};
  const Conditions link = {.sm_clock_hz = 1.98e9,
                           .sm_clock_source = ClockSource::kNvml,
                           .memory_clock_hz = 3.201e9,
                           .power_w = std::nullopt,
                           .temperature_c = 36,
                           .utilization = 0.02,
                           .pcie_generation = 5,
                           .pcie_width = 16,
                           .power_cap_share = std::nullopt,
                           .throttle_reasons = {}};
  Profile profile;
  profile.created = "2026-11-20T20:17:00Z";
  profile.tool = "peakline 0.1.0";
  profile.command = {"/opt/peakline/peakline", "run", "--filter", "hbm/width:16|gemm"};
  profile.mode = "full";
  profile.complete = false;
  profile.duration_s = 117.25;
  profile.host = {.hostname = "node7",
                  .cpu_model = "Intel(R) Xeon(R) Platinum 8480C",
                  .architecture = "x86_64",
                  .sockets = 2,
                  .cores = 112,
                  .hardware_threads = 224,
                  .usable_threads = 16,
                  .numa_nodes = {{.index = 0, .memory_bytes = 1.08e12, .cpus = "0-55,112-167"},
                                 {.index = 1, .memory_bytes = std::nullopt, .cpus = "56-111"}},
                  .caches = {{.level = 1, .bytes = 49152, .shared_by_cores = 1, .count = 112},
                             {.level = 3, .bytes = 110100480, .shared_by_cores = 56, .count = 2}},
                  .memory_bytes = 2.16e12,
                  .cpu_clock_max_hz = 3.8e9,
                  .vector_extension = "avx512f",
                  .os = "Debian GNU/Linux 12 (bookworm)",
                  .kernel = "6.1.0-28-amd64",
                  .virtualization = "kvm",
                  .cpu_governor = "performance",
                  .cpu_quota = 16.5,
                  .cpuset_threads = 32};
  profile.software = {.driver = "580.159.03",
                      .cuda_driver_api = "13.0",
                      .cuda_runtime = "13.0",
                      .cuda_compiler = "13.0.88",
                      .cublaslt = "13.1.0",
                      .cxx_compiler = "gcc 12.2.0",
                      .build_type = "Release",
                      .git_revision = "0123456789ab-dirty",
                      .environment = {{"NVIDIA_TF32_OVERRIDE", "0"}, {"CUBLAS_LOGDEST_DBG", ""}}};
  DeviceFacts device;
  device.uuid = kUuid;
  device.name = "NVIDIA H200";
  device.index = 3;
  device.pci_bus_id = "00000000:5D:00.0";
  device.compute_major = 9;
  device.compute_minor = 0;
  device.sm_count = 132;
  device.sm_clock_max_hz = 1.98e9;
  device.memory_clock_max_hz = 3.201e9;
  device.memory_bus_bits = 6016;
  device.memory_bytes = 150754820096;
  device.memory_free_bytes = 150204317696;
  device.l2_bytes = 62914560;
  device.shared_per_sm_bytes = 233472;
  device.ecc_enabled = true;
  device.mig_enabled = false;
  device.power_limit_w = 700;
  device.power_limit_default_w = 700;
  device.power_limit_max_w = 700;
  device.pcie = {.generation = 5, .width = 16, .max_generation = 5, .max_width = 16};
  device.pcie_read_under_load = true;
  device.numa_node = 0;
  device.processes = {{.pid = 4711, .name = "python3", .memory_bytes = 524288000},
                      {.pid = 4712, .name = "", .memory_bytes = std::nullopt}};
  device.before = {.ecc = {.corrected = 0, .uncorrected = 0},
                   .remapped_rows_correctable = 0,
                   .remapped_rows_uncorrectable = 0,
                   .remap_pending = false,
                   .remap_failed = false,
                   .temperature_c = 29,
                   .pcie_replays = 0};
  device.after = device.before;
  device.after.ecc.corrected = 2;
  device.after.temperature_c = 58;
  device.xids = {63};
  device.vbios = "96.00.BC.00.01";
  DeviceFacts locked;
  locked.uuid = "GPU-fedcba98-7654-3210-fedc-ba9876543210";
  locked.name = "NVIDIA H200";
  locked.index = 4;
  locked.pci_bus_id = "00000000:9A:00.0";
  locked.compute_major = 9;
  locked.unusable = "no permission to open /dev/nvidia4";
  profile.devices = {device, locked};

  Measurement read;
  read.id = "hbm.read";
  read.params = {{"width", std::int64_t{16}}, {"footprint", std::int64_t{1} << 31}};
  read.device = kUuid;
  read.work = {.bytes_read = 2147483648, .bytes_written = 0, .flops = 0};
  read.launch = {{"grid", std::int64_t{1056}}, {"unroll", std::int64_t{8}}, {"stop", "precise"}};
  read.samples_s = {4.686312e-4, 4.685107e-4, 4.684998e-4, 4.685533e-4,
                    4.685302e-4, 4.685641e-4, 4.684876e-4};
  read.launches_per_sample = 1;
  read.summary = {.median = 4.685302e-4,
                  .ci_low = 4.684876e-4,
                  .ci_high = 4.686312e-4,
                  .min = 4.684876e-4,
                  .max = 4.686312e-4,
                  .n = 7};
  read.value = 4.583448e12;
  read.unit = "B/s";
  read.verified = true;
  read.conditions = loaded;
  read.duration_s = 0.812;
  read.method_version = 2;

  Measurement copy;
  copy.id = "pcie.h2d.pinned";
  copy.params = {{"bytes", std::int64_t{268435456}}};
  copy.device = kUuid;
  copy.reason = "the host memory is on another NUMA node than the device";
  copy.work = {.bytes_read = 268435456, .bytes_written = 0, .flops = 0};
  copy.samples_s = {0.0048365, 0.00483725, 0.00483675};
  copy.launches_per_sample = 1;
  copy.summary = {.median = 0.00483675,
                  .ci_low = 0.0048365,
                  .ci_high = 0.00483725,
                  .min = 0.0048365,
                  .max = 0.00483725,
                  .n = 4};  // of one sample more than there are
  copy.verified = true;
  copy.value = 5.549914e10;
  copy.unit = "B/s";
  copy.flags = {.implausible = true, .unstable = true, .throttled = false};
  copy.conditions = link;
  copy.duration_s = 0.1;

  Measurement gemm;
  gemm.id = "gemm.bf16";
  gemm.params = {{"load", "sustained"}};
  gemm.device = kUuid;
  gemm.work = {.bytes_read = 268435456, .bytes_written = 134217728, .flops = 1.099511627776e12};
  gemm.launch = {{"shape", "8192x8192x8192"}, {"layout", "TN"}, {"algorithm", std::int64_t{66}}};
  gemm.samples_s = {0.001588, 0.001589, 0.001590};
  gemm.sittings = {{2}, {1}};
  gemm.launches_per_sample = 1;
  gemm.summary = {.median = 0.001589,
                  .ci_low = 0.001588,
                  .ci_high = 0.00159,
                  .min = 0.001588,
                  .max = 0.00159,
                  .n = 3};
  gemm.value = 6.919519e14;
  gemm.unit = "FLOP/s";
  gemm.verified = true;
  gemm.flags.throttled = true;
  gemm.conditions = capped;
  gemm.series = {.time_s = {0.5, 1, 1.5},
                 .rate = {7.6e14, 7.1e14, 6.9e14},
                 .sm_clock_hz = {1.98e9, 1.8e9, 1.74e9},
                 .power_w = {512.5, 690, 698},
                 .temperature_c = {41, 55.5, 63}};
  gemm.duration_s = 5.25;

  Measurement skipped;
  skipped.id = "gemm.fp8";
  skipped.device = kUuid;
  skipped.status = Status::kSkipped;
  skipped.reason = "needs compute capability 8.9 or newer";
  skipped.unit = "FLOP/s";

  Measurement failed;
  failed.id = "host.memory.read";
  failed.params = {{"threads", std::int64_t{16}}};
  failed.device = std::string(kHostDevice);
  failed.status = Status::kError;
  failed.reason = "the worker was killed by SIGKILL";
  failed.unit = "B/s";
  failed.verified = false;

  Measurement one;
  one.id = "shared.conflicts";
  one.params = {{"ways", std::int64_t{1}}};
  one.device = kUuid;
  one.work = {.bytes_read = 33792000, .bytes_written = 0, .flops = 0};
  one.launch = {{"blocks_per_sm", std::int64_t{4}}, {"threads", std::int64_t{256}}};
  one.samples_s = {1.024e-6, 1.026e-6, 1.025e-6};
  one.launches_per_sample = 512;
  one.summary = {.median = 1.025e-6,
                 .ci_low = 1.024e-6,
                 .ci_high = 1.026e-6,
                 .min = 1.024e-6,
                 .max = 1.026e-6,
                 .n = 3};
  one.value = 3.29678e13;
  one.unit = "B/s";
  one.verified = true;
  one.conditions = {.sm_clock_hz = 1.98e9,
                    .sm_clock_source = ClockSource::kProbe,
                    .memory_clock_hz = 3.201e9,
                    .power_w = std::nullopt,
                    .temperature_c = 38,
                    .utilization = std::nullopt,
                    .pcie_generation = std::nullopt,
                    .pcie_width = std::nullopt,
                    .power_cap_share = std::nullopt,
                    .throttle_reasons = {}};
  Measurement two = one, four = one;  // as one, but for what a person would want to know
  two.params = {{"ways", std::int64_t{2}}};
  two.conditions.sm_clock_source.reset();
  four.params = {{"ways", std::int64_t{4}}};
  four.launch = {};
  four.verified.reset();
  four.value = 3e13;  // not what follows from its samples
  profile.measurements = {read, copy, gemm, skipped, failed, one, two, four};

  profile.ceilings = {
      {.device = kUuid,
       .resource = "hbm.read",
       .basis = Basis::kTheoretical,
       .value = 4.814304e12,
       .unit = "B/s",
       .ci_low = std::nullopt,
       .ci_high = std::nullopt,
       .conditions = {},
       .measurement = "",
       .note = "2 x 3201 MHz x 6016 bit / 8"},
      {.device = kUuid,
       .resource = "hbm.read",
       .basis = Basis::kMeasured,
       .value = 4.583447e12,
       .unit = "B/s",
       .ci_low = 4.58246e12,
       .ci_high = 4.583864e12,
       .spread = RunSpread{.within = 1.25e-4, .runs = 0.001},
       .conditions = loaded,
       .measurement = read.name(),
       .note = ""},
      {.device = kUuid,
       .resource = "tensor.bf16",
       .basis = Basis::kSustained,
       .value = 6.919519e14,
       .unit = "FLOP/s",
       .ci_low = 6.915167e14,
       .ci_high = 6.923876e14,
       .spread = RunSpread{.within = 2e-4, .sittings = 5e-4, .runs = 0.0025, .runs_measured = 3},
       .conditions = capped,
       .measurement = gemm.name(),
       .note = ""}};
  profile.resources = {{.name = "hbm.read",
                        .label = "HBM read",
                        .unit = "B/s",
                        .kind = Resource::Kind::kMemory,
                        .precision = ""},
                       {.name = "tensor.bf16",
                        .label = "BF16 Tensor Cores",
                        .unit = "FLOP/s",
                        .kind = Resource::Kind::kCompute,
                        .precision = "bf16"}};
  profile.missing_ceilings = {{.device = kUuid,
                               .resource = "tensor.fp8",
                               .basis = Basis::kBurst,
                               .reason = "skipped: needs compute capability 8.9 or newer"}};
  profile.headlines = {{.device = kUuid,
                        .label = "HBM",
                        .resource = "hbm.read",
                        .basis = Basis::kMeasured,
                        .reference = Basis::kTheoretical,
                        .missing = ""},
                       {.device = kUuid,
                        .label = "PCIe to device",
                        .resource = "pcie.h2d",
                        .basis = Basis::kMeasured,
                        .reference = std::nullopt,
                        .missing = "implausible"}};
  profile.curves = {{.device = kUuid,
                     .topic = "power",
                     .text = "gemm.bf16 falls by 9 % at 63.5 °C",
                     .values = {{"drop", -0.092}, {"clock_hz", 1.74e9}, {"offset_bytes", 0}}}};
  profile.memory_map = {{.device = kUuid,
                         .level = "l1",
                         .label = "L1",
                         .per_sm = true,
                         .held_bytes = 212992,
                         .line_bytes = 128,
                         .sector_bytes = 32,
                         .latency_s = 1.62e-8,
                         .bytes_per_s = 3.332e13},
                        {.device = kUuid,
                         .level = "l2",
                         .label = "L2",
                         .size_bytes = 62914560,
                         .held_bytes = 58720256,
                         .near_bytes = 29360128,
                         .latency_s = 1.42e-7,
                         .far_latency_s = 2.59e-7}};
  profile.rooflines = {{.device = kUuid,
                        .memory = {"hbm.read"},
                        .compute = {"tensor.bf16"},
                        .ridge_points = {{.compute = "tensor.bf16",
                                          .memory = "hbm.read",
                                          .compute_basis = Basis::kSustained,
                                          .memory_basis = Basis::kMeasured,
                                          .intensity = 150.967}},
                        .points = {{.measurement = "roofline.sweep.fp32/fma:64",
                                    .precision = "fp32",
                                    .intensity = 32,
                                    .flops_per_s = 6.1e13}}}};
  profile.findings = {{.code = "power_cap",
                       .severity = Severity::kWarning,
                       .device = kUuid,
                       .message = "gemm.bf16 ran at 1741 MHz of 1980 MHz, held by the power cap",
                       .evidence = {{"power_w", "698.25"}, {"limit_w", "700"}}},
                      {.code = "virtualized",
                       .severity = Severity::kInfo,
                       .device = "",
                       .message = "node7 is a virtual machine (kvm)",
                       .evidence = {}}};
  return profile;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string refusal(const std::string& text) {
  try {
    profile_from_json(text, "p.json");
  } catch (const ProfileError& error) {
    return error.what();
  }
  return "accepted";
}

// The example's JSON with one replacement.
std::string altered(const std::string& from, const std::string& to) {
  std::string text = to_json(example());
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Profile, WritesTheGoldenFile) {
  // PEAKLINE_UPDATE_GOLDEN=1 writes it anew where the format changed on purpose.
  if (std::getenv("PEAKLINE_UPDATE_GOLDEN")) std::ofstream(kGolden) << to_json(example());
  EXPECT_EQ(to_json(example()), read_text(kGolden));
}

TEST(Profile, ReadsTheGoldenFile) { EXPECT_EQ(read_profile(kGolden), example()); }

TEST(Profile, ReadsVersion1) {
  Profile expected = example();
  expected.resources = {resource("hbm.read"), resource("tensor.bf16")};
  expected.curves.clear();
  expected.memory_map.clear();
  expected.missing_ceilings.clear();
  expected.headlines = derive_headlines(expected);
  expected.host.cpu_quota.reset();
  expected.host.cpuset_threads.reset();
  for (Measurement& m : expected.measurements) {
    m.conditions.power_cap_share.reset();
    m.sittings.clear();
  }
  expected.measurements.resize(5);  // the others were added later
  expected.measurements[0].value = 4.583447e12;
  for (Ceiling& row : expected.ceilings) {
    row.conditions.power_cap_share.reset();
    row.spread.reset();
  }
  EXPECT_EQ(read_profile(kGolden.parent_path() / "profile_v1.json"), expected);
}

TEST(Profile, Version1NamesResourcesThatTheTableDoesNotHave) {
  std::string text = read_text(kGolden.parent_path() / "profile_v1.json");
  for (std::size_t at; (at = text.find("tensor.bf16")) != text.npos;)
    text.replace(at, 11, "npu.int4");
  EXPECT_EQ(profile_from_json(text, "p").resources[1], (Resource{.name = "npu.int4",
                                                                 .label = "npu.int4",
                                                                 .unit = "FLOP/s",
                                                                 .kind = Resource::Kind::kCompute,
                                                                 .precision = "int4"}));
}

TEST(Schema, IsTheOneOfThePythonPackage) {
  // PEAKLINE_UPDATE_GOLDEN=1 writes it anew, as does `peakline schema`.
  const auto file =
      std::filesystem::path(PEAKLINE_SOURCE_DIR) / "reports/peakline/profile.schema.json";
  if (std::getenv("PEAKLINE_UPDATE_GOLDEN")) std::ofstream(file) << profile_schema();
  EXPECT_EQ(profile_schema(), read_text(file));
}

TEST(Profile, WhatRecordsHaveInCommonStandsOnce) {
  const auto written = nlohmann::json::parse(to_json(example()));
  const auto& defaults = written["measurement_defaults"];
  EXPECT_EQ(defaults["device"], kUuid);
  EXPECT_EQ(defaults["conditions"]["memory_clock_hz"], 3201000000);
  EXPECT_FALSE(defaults["conditions"].contains("sm_clock_source"));  // each has its own
  const auto& records = written["measurements"];
  EXPECT_FALSE(records[0].contains("device"));
  EXPECT_EQ(records[4]["device"], "host");
  // What one does not know is not what the others have in common.
  EXPECT_TRUE(records[3]["verified"].is_null());
  EXPECT_TRUE(records[3]["conditions"]["memory_clock_hz"].is_null());
}

TEST(Profile, WhatThePointsOfABenchmarkHaveInCommonStandsOnce) {
  const auto written = nlohmann::json::parse(to_json(example()));
  ASSERT_EQ(written["measurements"].size(), 6);
  const auto& group = written["measurements"][5];
  EXPECT_EQ(group["id"], "shared.conflicts");
  EXPECT_EQ(group["launches_per_sample"], 512);
  EXPECT_EQ(group["launch"]["threads"], 256);
  EXPECT_EQ(group["conditions"], nlohmann::json::parse(R"({"sm_clock_source": "probe"})"));
  const auto& points = group["points"];
  ASSERT_EQ(points.size(), 3);
  for (const char* key : {"id", "device", "status", "unit", "work", "launch", "value"}) {
    EXPECT_FALSE(points[0].contains(key)) << key;
  }
  EXPECT_TRUE(points[1]["conditions"]["sm_clock_source"].is_null());
  EXPECT_TRUE(points[2]["verified"].is_null());
  EXPECT_TRUE(points[2]["launch"].is_null());
}

TEST(Profile, AValueThatFollowsFromWorkAndSamplesIsLeftOut) {
  const Profile profile = example();
  EXPECT_THAT(to_json_line(profile.measurements[5]), Not(HasSubstr("\"value\"")));
  EXPECT_EQ(measurement_from_json_line(to_json_line(profile.measurements[5])).value, 3.29678e13);
  EXPECT_THAT(to_json_line(profile.measurements[7]), HasSubstr("\"value\":30000000000000,"));

  Measurement m = profile.measurements[5];
  m.samples_s = {1.0 / 3, 1.0 / 7, 1.0 / 9, 1.0 / 11};
  m.summary = summarize(m.samples_s);
  m.value = m.work.bytes() / m.summary->median;
  m = rounded(m);
  EXPECT_THAT(to_json_line(m), Not(HasSubstr("\"value\"")));
  EXPECT_EQ(m.value, 266112100);
  m.unit = "s";
  m.value = m.summary->median;
  EXPECT_THAT(to_json_line(m), Not(HasSubstr("\"value\"")));
  m.unit = "parsec";  // of no quantity
  EXPECT_THAT(to_json_line(m), HasSubstr("\"value\":0.126984"));
}

TEST(Profile, NeighboursThatAreTooLongToBeSharedStandInEach) {
  Profile profile = example();
  for (std::size_t i : {5, 6}) profile.measurements[i].launch = {{"a", std::string(600, 'x')}};
  EXPECT_EQ(profile_from_json(to_json(profile), "p"), profile);
}

TEST(Profile, WhatIsNotKnownOrEmptyIsLeftOut) {
  const auto written = nlohmann::json::parse(to_json(example()));
  const auto& skipped = written["measurements"][3];
  for (const char* key : {"params", "work", "launch", "samples_s", "summary", "value", "flags",
                          "series", "duration_s"}) {
    EXPECT_FALSE(skipped.contains(key)) << key;
  }
  EXPECT_EQ(written["measurements"][0]["work"].size(), 1);  // it only reads
  EXPECT_FALSE(written["ceilings"][0].contains("conditions"));
  EXPECT_FALSE(written["devices"][1].contains("sm_count"));
  EXPECT_FALSE(written["devices"][1].contains("vbios"));
}

TEST(Profile, ASummaryThatFollowsFromTheSamplesIsLeftOut) {
  Measurement even = example().measurements[0];
  even.samples_s = {1.0 / 3, 1.0 / 7, 1.0 / 9, 1.0 / 11};
  even.summary = summarize(even.samples_s);
  const std::string line = to_json_line(even);
  EXPECT_THAT(line, Not(HasSubstr("summary")));
  const auto summary = measurement_from_json_line(line).summary;
  EXPECT_EQ(summary->median, 0.1269841);
  EXPECT_EQ(summary->max, 0.3333333);
  EXPECT_EQ(summary->n, 4);

  const Profile profile = example();
  EXPECT_THAT(to_json_line(profile.measurements[1]), HasSubstr("\"n\":4"));
  EXPECT_EQ(profile_from_json(to_json(profile), "p").measurements[1].summary->n, 4);
}

TEST(Profile, IsReadInFullToo) {
  // As it was before members were left out.
  auto document = nlohmann::ordered_json::parse(to_json(example()));
  document.erase("measurement_defaults");
  document["schema_version"] = 1;
  document["measurements"] = nlohmann::ordered_json::array();
  Profile profile = example();
  for (std::size_t i = 0; i < profile.measurements.size(); ++i) {
    auto& record = document["measurements"].emplace_back();
    record = nlohmann::ordered_json::parse(to_json_line(profile.measurements[i]));
    for (const char* key : {"value", "verified", "summary", "series"}) {
      if (!record.contains(key)) record[key] = nullptr;
    }
    for (const char* key : {"reason"}) {
      if (!record.contains(key)) record[key] = "";
    }
    for (const char* key : {"sm_clock_hz", "power_w", "throttle_reasons"}) {
      if (!record["conditions"].contains(key)) record["conditions"][key] = nullptr;
    }
  }
  profile.headlines = derive_headlines(profile);
  EXPECT_EQ(profile_from_json(document.dump(), "p"), profile);
}

TEST(Profile, NumbersSurviveExactly) {
  Profile profile = example();
  auto& samples = profile.measurements[0].samples_s;
  samples = {0.1, 1.0 / 3, 1e-30, 1e30, std::nextafter(1.0, 2.0), 9007199254740993.0, 4.685302e-4};
  profile.measurements[0].params[1].second = std::numeric_limits<std::int64_t>::min();
  profile.measurements[0].launch[0].second = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(profile_from_json(to_json(profile), "p"), profile);
}

TEST(Profile, WhatIsConcludedFromARunIsReadAgain) {
  const Profile run = sample::h200_run();
  EXPECT_EQ(profile_from_json(to_json(run), "p"), run);
}

TEST(Profile, ParametersKeepTheirOrder) {
  Profile profile = example();
  profile.measurements[0].params = {{"z", std::int64_t{1}}, {"a", "x"}, {"m", std::int64_t{2}}};
  EXPECT_EQ(profile_from_json(to_json(profile), "p").measurements[0].name(),
            "hbm.read/z:1/a:x/m:2");
}

TEST(Profile, GapsInASeriesAreNull) {
  Measurement measurement = example().measurements[2];
  measurement.series.power_w[1] = std::nan("");
  const std::string line = to_json_line(measurement);
  EXPECT_THAT(line, HasSubstr("\"power_w\":[512.5,null,698]"));
  const Series back = measurement_from_json_line(line).series;
  EXPECT_TRUE(std::isnan(back.power_w[1]));
  EXPECT_EQ(back.power_w[2], 698);
}

TEST(Profile, UndefinedNumbersAreNotWritten) {
  Profile profile = example();
  profile.measurements[1].work.flops = std::numeric_limits<double>::infinity();
  try {
    to_json(profile);
    FAIL();
  } catch (const ProfileError& error) {
    EXPECT_STREQ(error.what(), "measurements: work: flops: a number is infinite or undefined");
  }
}

TEST(Profile, TextThatIsNotUtf8IsReplaced) {
  Profile profile = example();
  profile.host.hostname = "caf\xe9";
  EXPECT_EQ(profile_from_json(to_json(profile), "p").host.hostname, "caf\xef\xbf\xbd");
}

TEST(Profile, AMeasuredOneIsWrittenWithoutLossAndWithinTheLimit) {
  const Profile measured = read_profile(std::filesystem::path(PEAKLINE_SOURCE_DIR) /
                                        "reports/reference/nvidia-h200.json");
  const std::string text = to_json(measured);
  RecordProperty("bytes", std::to_string(text.size()));
  EXPECT_LT(text.size(), 500 * 1024);
  EXPECT_EQ(profile_from_json(text, "p"), measured);
}

TEST(Profile, FullProfileOfADeviceFitsItsLimit) {
  // More points than a full run has on an H200, half of them of matrix products under a power cap,
  // with the samples that the rules take: 7 for a curve, 20 for a ceiling; and some time series.
  Profile profile = example();
  profile.devices.resize(1);
  Measurement capped = profile.measurements[2];
  capped.id = "gemm.alignment.bf16";
  capped.launch = {{"algorithm", "id 66, tile 128x256, stages 36, custom 2, cluster 2"},
                   {"layout", "TN"},
                   {"samples", std::int64_t{7}},
                   {"stop", "sample_limit"}};
  capped.conditions.power_w.reset();
  capped.conditions.utilization.reset();
  capped.series = {};
  capped.sittings.clear();
  Measurement plain = profile.measurements[0];
  plain.launch = {{"candidates", std::int64_t{20}}, {"blocks_per_sm", std::int64_t{6}},
                  {"threads", std::int64_t{256}},   {"unroll", std::int64_t{8}},
                  {"samples", std::int64_t{7}},     {"stop", "sample_limit"}};
  plain.conditions.utilization.reset();
  plain.conditions.sm_clock_source = ClockSource::kProbe;
  plain.method_version = 1;
  profile.measurements.clear();
  for (int i = 0; i < 650; ++i) {
    Measurement& m = profile.measurements.emplace_back(i % 20 < 11 ? capped : plain);
    m.params = {{"dimension", "M"}, {"size", std::int64_t{8192 - i}}};
    const int samples = i < 580 ? 7 : 20;
    m.samples_s.assign(samples, 0);
    for (int k = 0; k < samples; ++k) m.samples_s[k] = 4.685302e-4 * (1 + (i + 1) * (k + 1) / 1e5);
    m.summary = summarize(m.samples_s);
    if (samples == 20) m.sittings = {{10, 10}};
    m.value = m.work.bytes() / m.summary->median;
    m.conditions.sm_clock_hz = 1.7e9 + i * 1e6 / 7;
    m.conditions.temperature_c = 40.5 + i % 20;
    m.duration_s = i / 7.0;
    if (i >= 640) {
      for (int k = 0; k < 70; ++k) {
        m.series.time_s.push_back(k / 7.0);
        m.series.rate.push_back(m.value.value() / (1 + k));
        m.series.sm_clock_hz.push_back(1.7e9 + k * 1e6 / 7);
        m.series.power_w.push_back(680 + k / 7.0);
        m.series.temperature_c.push_back(40 + k / 2);
      }
    }
    m = measurement_from_json_line(to_json_line(m));
  }
  for (std::size_t i = 3; i < 80; ++i) profile.ceilings.push_back(Ceiling(profile.ceilings[i % 3]));
  profile.rooflines[0].ridge_points.resize(60, profile.rooflines[0].ridge_points[0]);
  profile.rooflines[0].points.resize(40, profile.rooflines[0].points[0]);
  EXPECT_LT(to_json(profile).size(), 500 * 1024);
}

TEST(Record, SurvivesALine) {
  for (const Measurement& measurement : example().measurements) {
    const std::string line = to_json_line(measurement);
    EXPECT_THAT(line, Not(HasSubstr("\n")));
    EXPECT_EQ(measurement_from_json_line(line), measurement);
  }
  for (const DeviceFacts& device : example().devices) {
    EXPECT_EQ(device_facts_from_json_line(to_json_line(device)), device);
  }
}

TEST(Record, RoundsWhatWasMeasuredToSevenDigitsOnce) {
  Measurement measurement = example().measurements[0];
  measurement.samples_s = {1.0 / 3};
  const double time_s = 2.0 / 3;
  measurement.summary = {time_s, time_s, time_s, time_s, time_s, 1};
  measurement.value = 1e12 / 7;
  measurement.work.bytes_read = 1234567891;
  const Measurement back = measurement_from_json_line(to_json_line(measurement));
  EXPECT_EQ(back.samples_s[0], 0.3333333);
  EXPECT_EQ(back.summary->median, 0.6666667);
  EXPECT_EQ(back.value, 142857100000.0);
  EXPECT_EQ(back.work.bytes_read, 1234567891);
  EXPECT_EQ(measurement_from_json_line(to_json_line(back)), back);
}

TEST(Reader, IgnoresKeysItDoesNotKnow) {
  EXPECT_EQ(profile_from_json(altered("\"mode\"", "\"extra\": {\"deep\": [1]},\n\"mode\""), "p"),
            example());
}

TEST(Reader, NamesTheFileTheFieldAndWhatWouldBeRight) {
  EXPECT_EQ(refusal(altered("\"complete\": false", "\"complete\": 0")),
            "p.json: complete: expected true or false, found 0");
  EXPECT_EQ(refusal(altered("\"value\":30000000000000", "\"value\":\"fast\"")),
            "p.json: measurements[5].points[2].value: expected a number, found \"fast\"");
  EXPECT_EQ(refusal(altered("\"sockets\":2", "\"sockets\":2.5")),
            "p.json: host.sockets: expected a whole number, found 2.5");
  EXPECT_EQ(refusal(altered("\"sockets\":2", "\"sockets\":3000000000")),
            "p.json: host.sockets: expected a whole number from 0 to 2147483647, found 3000000000");
  EXPECT_EQ(refusal(altered("\"status\":\"skipped\"", "\"status\":\"fine\"")),
            "p.json: measurements[3].status: expected one of \"ok\", \"skipped\", \"error\", found "
            "\"fine\"");
  EXPECT_EQ(refusal(altered("\"width\":16,\"footprint", "\"width\":1.5,\"footprint")),
            "p.json: measurements[0].params.width: expected a whole number or text, found 1.5");
  EXPECT_EQ(refusal(altered("\"compute_major\":", "\"COMPUTE\":")),
            "p.json: devices[0]: \"compute_major\" is missing");
  EXPECT_EQ(refusal(altered("[\"implausible\",\"unstable\"]", "[\"implausible\",\"wrong\"]")),
            "p.json: measurements[1].flags: expected \"implausible\", \"unstable\" and "
            "\"throttled\", each at most once");
  EXPECT_EQ(refusal(altered("\"rate\":[", "\"rate\":[1,")),
            "p.json: measurements[2].series.rate: expected 3 values, as in time_s, found 4");
}

TEST(Reader, RefusesOtherSchemasAndNewerVersions) {
  EXPECT_EQ(refusal("{}"), "p.json: not a peakline profile");
  EXPECT_EQ(refusal("[1]"), "p.json: not a peakline profile");
  EXPECT_EQ(refusal(altered("peakline-profile", "other")),
            "p.json: schema: expected \"peakline-profile\", found \"other\"");
  EXPECT_EQ(refusal(R"({"schema": "peakline-profile", "schema_version": 4})"),
            "p.json: schema_version: 4 is newer than the 3 that this peakline reads: use a newer "
            "one");
  EXPECT_EQ(refusal(altered("\"schema_version\": 3", "\"schema_version\": 0")),
            "p.json: schema_version: expected a whole number from 1 to 2147483647, found 0");
}

TEST(Reader, RefusesEveryTruncation) {
  const std::string text = to_json(example());
  for (std::size_t size = 1; size + 2 < text.size(); size += 97) {
    EXPECT_THAT(refusal(text.substr(0, size)), StartsWith("p.json: not valid JSON: ")) << size;
  }
}

TEST(Reader, ShowsLittleOfWhatItFindsAndNothingThatATerminalObeys) {
  const std::string text(100'000, 'x');
  EXPECT_LT(refusal(altered("117.25", "\"" + text + "\"")).size(), 200);
  EXPECT_LT(refusal(altered("117.25", text)).size(), 300);
  EXPECT_LT(refusal(altered("\"width\":16,\"foot", "\"" + text + "\":[],\"foot")).size(), 200);
  EXPECT_EQ(refusal(altered("117.25", "\"\u202e\x7f\"")),
            "p.json: duration_s: expected a number, found \"��\"");
}

class ProfileFile : public ::testing::Test {
 protected:
  ProfileFile() {
    std::string pattern = std::filesystem::temp_directory_path() / "peakline-test-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ProfileFile() override { std::filesystem::remove_all(folder_); }
  std::size_t count() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }
  std::filesystem::path folder_;
};

TEST_F(ProfileFile, IsReplacedAsAWhole) {
  const auto file = folder_ / "a.json";
  write_profile(example(), file);
  Profile changed = example();
  changed.complete = true;
  write_profile(changed, file);
  EXPECT_EQ(read_profile(file), changed);
  EXPECT_EQ(count(), 1);  // nothing temporary is left
}

std::string message(auto&& action) {
  try {
    action();
  } catch (const ProfileError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(ProfileFile, FollowsNoLinkThatLiesWhereItWrites) {
  const auto file = folder_ / "a.json";
  const auto victim = folder_ / "victim";
  std::ofstream(victim) << "precious";
  const auto temporary = folder_ / (".a.json." + std::to_string(::getpid()) + ".0.tmp");
  std::filesystem::create_symlink(victim, temporary);
  write_profile(example(), file);
  EXPECT_EQ(read_text(victim), "precious");
  EXPECT_EQ(read_profile(file), example());
  EXPECT_EQ(count(), 3);
}

// Ends the process with 0 if `action` throws an error that has `words` in it.
template <class Action>
[[noreturn]] void exit_as_refused(Action action, std::string_view words) {
  const std::string found = message(action);
  std::fputs(found.c_str(), stderr);
  std::exit(found.find(words) == found.npos ? 1 : 0);
}

TEST_F(ProfileFile, BeyondAFileSizeLimitTheEarlierOneStays) {
  const auto file = folder_ / "a.json";
  write_profile(example(), file);
  const auto write_limited = [&] {
    const rlimit limit = {.rlim_cur = 1000, .rlim_max = 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
    exit_as_refused([&] { write_profile(example(), file); }, "cannot be written: File too large");
  };
  EXPECT_EXIT(write_limited(), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(read_profile(file), example());
  EXPECT_EQ(count(), 1);
}

TEST(Reader, TakesTimeInProportionToTheFile) {
  // Were it quadratic, it would take many times as long.
  Profile profile = example();
  for (int i = 0; i < 12'000; ++i) {
    profile.ceilings.push_back(Ceiling(profile.ceilings[0]));
    profile.measurements.push_back(Measurement(profile.measurements[3]));
    profile.measurements.back().params = {{"n", std::int64_t{i}}};
  }
  const std::string text = to_json(profile);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(profile_from_json(text, "p").ceilings.size(), profile.ceilings.size());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(ProfileFile, SaysWhyItCannotBeWrittenOrRead) {
  EXPECT_THAT(
      message([&] { write_profile(example(), folder_ / "no/a.json"); }),
      AllOf(HasSubstr("no/a.json: cannot be written: "), EndsWith("No such file or directory")));
  EXPECT_THAT(message([&] { read_profile(folder_ / "a.json"); }), EndsWith("a.json: no such file"));
  EXPECT_THAT(message([&] { read_profile(folder_); }), EndsWith("a directory, not a profile"));
  std::filesystem::create_directory(folder_ / "b.json");
  EXPECT_THAT(message([&] { write_profile(example(), folder_ / "b.json"); }),
              HasSubstr("b.json: cannot be written"));
  EXPECT_EQ(count(), 1);
}

TEST(Anonymized, TellsNeitherMachineNorOwner) {
  Profile profile = example();
  profile.command = {"/home/ann/bin/peakline",
                     "run",
                     "--output=/home/ann/node7.json",
                     "--filter",
                     "hbm.read/width:16",
                     "--device",
                     kUuid};
  profile.software.environment.push_back({"CUDA_VISIBLE_DEVICES", kUuid});
  const Profile hidden = with_conclusions(anonymized(profile), sample::benchmarks());
  const std::string text = to_json(hidden);
  for (const char* secret :
       {"node7", "89ab-cdef", "7654-3210", "python3", "4711", "/home", "ann/"}) {
    EXPECT_THAT(text, Not(HasSubstr(secret)));
  }
  EXPECT_EQ(hidden.devices[0].uuid, "GPU-01234567");
  EXPECT_EQ(hidden.measurements[0].device, "GPU-01234567");
  EXPECT_EQ(hidden.ceilings[0].device, "GPU-01234567");
  EXPECT_EQ(hidden.rooflines[0].device, "GPU-01234567");
  EXPECT_EQ(hidden.memory_map[0].device, "GPU-01234567");
  EXPECT_EQ(hidden.findings[0].device, "GPU-01234567");
  EXPECT_EQ(hidden.measurements[4].device, "host");
  EXPECT_EQ(hidden.devices[0].vbios, "96.00.BC.00.01");
  EXPECT_EQ(hidden.command[0], "peakline");
  EXPECT_EQ(hidden.command[2], "--output=localhost.json");
  EXPECT_EQ(hidden.command[4], "hbm.read/width:16");
  EXPECT_EQ(hidden.command[6], "GPU-01234567");
  EXPECT_EQ(hidden.devices[0].processes.size(), 2);
  EXPECT_THAT(text, HasSubstr("during the run: process 1, process 2."));
  EXPECT_EQ(profile_from_json(text, "p"), hidden);
}

TEST(Anonymized, KeepsDevicesApartWhoseShortNamesAreEqual) {
  Profile profile = example();
  profile.devices[1].uuid = "GPU-01234567-0000-0000-0000-000000000000";
  const Profile hidden = anonymized(profile);
  EXPECT_NE(hidden.devices[0].uuid, hidden.devices[1].uuid);
}

}  // namespace
}  // namespace peakline
