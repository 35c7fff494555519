#include "harness/conclude/findings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/crowded_profile.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using sample::all_of;
using sample::at;
using sample::Change;
using sample::everywhere;
using sample::find;
using sample::finding;
using sample::gpu;
using sample::host;
using sample::kUuid;
using sample::run_with;
using sample::with;
using enum Severity;
using ::testing::HasSubstr;

std::string evidence(const Finding& f, std::string_view key) {
  for (const auto& [name, value] : f.evidence)
    if (name == key) return value;
  return "";
}

// Expects the finding with the change, and none without it.
Finding appears(std::string_view code, Severity severity, const Change& change) {
  EXPECT_EQ(finding(sample::h200_run(), code), nullptr) << code << " without cause";
  const auto p = run_with(change);
  const Finding* found = finding(p, code);
  if (found == nullptr) {
    ADD_FAILURE() << "no " << code;
    return {};
  }
  EXPECT_EQ(found->severity, severity) << code;
  EXPECT_FALSE(found->evidence.empty()) << code;
  return *found;
}

void lock_clock(Measurement& m) {
  if (!m.conditions.sm_clock_hz) return;
  m.conditions.sm_clock_hz = 1410e6;
  m.conditions.power_w = 450;
  m.conditions.throttle_reasons.clear();
}

void overheat(Measurement& m) {
  m.conditions.throttle_reasons = {"sw_thermal"};
  m.conditions.temperature_c = 88;
}

void keep_heating(Measurement& m) { m.launch = {{"seconds", std::int64_t{120}}}; }

void serve_mps(DeviceFacts& d) {
  d.processes = {{.pid = 7, .name = "/usr/bin/nvidia-cuda-mps-server", .memory_bytes = {}}};
}

Change ecc(EccCounts before, EccCounts after) {
  return gpu([=](DeviceFacts& d) {
    d.before.ecc = before;
    d.after.ecc = after;
  });
}

Change never_run_fails(const std::vector<std::int64_t>& xids) {
  Measurement m = sample::measurement("gemm.nvfp4", {}, Quantity::kFlopRate, 1e12);
  m.status = Status::kSkipped;
  m.never_run = true;
  return all_of(gpu([xids](DeviceFacts& d) { d.xids = xids; }), with(m));
}

// A soak of this share of the memory; others hold the rest.
Change memory_soak(double share) {
  Measurement m = sample::measurement("soak.memory", {}, Quantity::kByteRate, 4e12, kUuid);
  m.launch = {
      {"memory_tested_bytes", static_cast<std::int64_t>(share * *sample::h200().memory_bytes)},
      {"compared_words", std::int64_t{5000}},
      {"differing_words", std::int64_t{0}}};
  return with(m);
}

Change widened(const char* point, double half_width) {
  return at(point, [half_width](Measurement& m) {
    m.summary->ci_low = m.summary->median * (1 - half_width);
    m.summary->ci_high = m.summary->median * (1 + half_width);
  });
}

Change on_cpus(int usable, int hardware, std::optional<int> cpuset,
               std::optional<double> quota = {}) {
  return host([=](HostFacts& h) {
    h.usable_threads = usable;
    h.hardware_threads = hardware;
    h.cpuset_threads = cpuset;
    h.cpu_quota = quota;
  });
}

struct Cause {
  const char* code;
  Severity severity;
  Change change;
  std::pair<const char*, const char*> evidence = {};  // name and value
};

// A counter of one of two links grows by 2 over 4 GB.
Change wear(std::optional<std::int64_t> NvLinkCounters::*counter) {
  return gpu([counter](DeviceFacts& d) {
    d.before.nvlinks = {{.link = 6, .bytes = 0}, {.link = 7, .bytes = 1e9}};
    for (NvLinkCounters& link : d.before.nvlinks) link.*counter = 41;
    d.after.nvlinks = d.before.nvlinks;
    *d.after.nvlinks[1].bytes += 4e9;
    *(d.after.nvlinks[1].*counter) += 2;
  });
}

TEST(Findings, AppearWithTheirCause) {
  const Cause causes[] = {
      {"power_limit_lowered", kWarning, gpu([](auto& d) { d.power_limit_w = 500; })},
      {"thermal_limit", kWarning, at("gemm.bf16/load:sustained", overheat)},
      {"clocks_below_max", kWarning, everywhere(lock_clock)},
      {"pcie_link_narrow",
       kWarning,
       gpu([](auto& d) { d.pcie.width = 8; }),
       {"link_maximum", "5.0 x16"}},
      {"pcie_link_narrow", kWarning, gpu([](auto& d) { d.pcie.generation = 4; })},
      {"other_process",
       kWarning,
       gpu([](auto& d) {
         d.processes = {{4711, "python", 12 * kGiB}};
       }),
       {"python (4711)", "12 GiB"}},
      {"mps", kWarning, gpu(serve_mps)},
      {"no_datasheet",
       kInfo,
       gpu([](auto& d) {
         d.name = "NVIDIA X1";
         d.pci_device_id = "10de:ffff";
         d.pci_subsystem_id = "10de:0001";
       }),
       {"pci_ids", "10de:ffff 10de:0001"}},
      {"no_datasheet", kInfo, gpu([](auto& d) { d.mig_enabled = true; })},
      {"mig", kWarning, gpu([](auto& d) { d.mig_enabled = true; })},
      {"ecc_disabled", kWarning, gpu([](auto& d) { d.ecc_enabled = false; })},
      {"ecc_errors", kError, ecc({0, 0}, {0, 1})},
      {"ecc_errors", kWarning, ecc({5, 0}, {6, 0})},
      {"ecc_errors", kWarning, ecc({0, 2}, {0, 2})},
      {"row_remap", kError, gpu([](auto& d) { d.after.remap_failed = true; })},
      {"row_remap", kError, gpu([](auto& d) {
         d.before.remapped_rows_uncorrectable = 0;
         d.after.remapped_rows_uncorrectable = 1;
       })},
      {"row_remap", kWarning, gpu([](auto& d) { d.after.remap_pending = true; })},
      {"pcie_replays",
       kWarning,
       gpu([](auto& d) {
         d.before.pcie_replays = 5'000'000;
         d.after.pcie_replays = 5'000'003;
       }),
       {"replays_in_run", "3"}},
      {"nvlink_errors",
       kWarning,
       wear(&NvLinkCounters::replays),
       {"NVLink 7", "2 replays, 0.5 per GB"}},
      {"nvlink_errors", kWarning, wear(&NvLinkCounters::recoveries)},
      {"nvlink_errors", kWarning, wear(&NvLinkCounters::crc_errors)},
      {"nvlink_errors", kError,
       [](Profile& run) {
         wear (&NvLinkCounters::replays)(run);
         memory_soak(0.95)(run);
       }},
      {"row_remap", kInfo, gpu([](auto& d) {
         d.before.remapped_rows_correctable = d.after.remapped_rows_correctable = 2;
       })},
      {"temperatures",
       kInfo,
       gpu([](auto& d) {
         d.after.memory_temperature_c = 47;
         d.after.temperature_margin_c = 38;
       }),
       {"memory_c", "47"}},
      {"xid", kError, gpu([](auto& d) {
         d.xids = {63, 79};
       })},
      // Code that was never run may cause some Xids; no program can cause the others.
      {"xid_of_peakline", kInfo, never_run_fails({13, 43})},
      {"xid", kError, never_run_fails({13, 79})},
      {"confidential_computing", kWarning,
       gpu([](auto& d) { d.confidential_computing = "protected PCIe"; })},
      {"fabric_not_ready", kWarning, gpu([](auto& d) { d.fabric = "in progress"; })},
      {"device_unusable", kError, gpu([](auto& d) { d.unusable = "no permission"; })},
      {"memory_untested", kWarning, memory_soak(0.1)},
      {"environment", kWarning,
       [](Profile& run) {
         run.software.environment = {{"NVIDIA_TF32_OVERRIDE", "0"}};
       }},
      {"dirty_build", kInfo, [](Profile& run) { run.software.git_revision = "0123abc-dirty"; }},
      {"debug_build", kWarning, [](Profile& run) { run.software.build_type = "Debug"; }},
      {"unverified", kError, at("fma.fp32/load:burst", [](auto& m) { m.verified = false; })},
      {"unverified", kWarning, [](Profile& run) { run.asked.verify = false; }},
      {"implausible",
       kWarning,
       at("hbm.read/width:16/bytes:268435456",
          [](auto& m) {
            m.value = 6000e9;
            m.flags.implausible = true;
          }),
       {"hbm.read/width:16/bytes:268435456", "6000 GB/s measured, 4838 GB/s possible"}},
      {"failed",
       kError,
       at("fma.fp32/load:burst",
          [](auto& m) {
            m.status = Status::kError;
            m.reason = "the worker was killed by signal 9";
          }),
       {"fma.fp32/load:burst", "the worker was killed by signal 9"}},
      {"no_thermal_equilibrium",
       kWarning,
       at("gemm.bf16/load:soak", keep_heating),
       {"rate", "680 TFLOP/s"}},
      {"no_thermal_equilibrium", kWarning,
       at("gemm.bf16/load:soak",
          [](auto& m) {
            m.launch.clear();
            m.series = {};
          })},
      {"noisy",
       kWarning,
       widened("hbm.write/width:16/bytes:4294967296", 0.03),
       {"hbm.write/width:16/bytes:4294967296", "±3.0 %"}},
      {"noisy", kWarning, at("gemm.bf16/load:burst", [](auto& m) { m.flags.unstable = true; })},
      {"noisy", kWarning, widened("gemm.model.bf16/load:sustained", 0.03)},
      {"varying", kInfo,
       at("pcie.h2d.pinned/bytes:4096", [](auto& m) { m.flags.unstable = true; })},
      {"virtualized", kInfo, host([](auto& h) { h.virtualization = "kvm"; })},
      {"virtualized", kInfo, host([](auto& h) { h.virtualization = "docker"; })},
      {"cpu_governor", kInfo, host([](auto& h) { h.cpu_governor = "powersave"; })},
      {"cpu_quota", kWarning, on_cpus(384, 64, {}, 0.2)},
      {"cpu_binding", kWarning, on_cpus(1, 16, 16)},
      {"cpu_binding", kWarning, on_cpus(4, 16, {})},  // the cpuset's size may be unknown
      {"cpu_binding", kWarning, on_cpus(1, 64, 4)},
      {"cpu_binding", kWarning, on_cpus(1, 64, 64, 2.0)},
      {"cpuset", kInfo, on_cpus(4, 64, 4)},
      {"cpuset", kInfo, on_cpus(1, 64, 4)},
  };
  for (const Cause& cause : causes) {
    const Finding found = appears(cause.code, cause.severity, cause.change);
    if (cause.evidence.first) {
      EXPECT_EQ(evidence(found, cause.evidence.first), cause.evidence.second);
    }
  }
}

TEST(Findings, NeedEvidence) {
  const auto locked = [](const Change& change) { return all_of(everywhere(lock_clock), change); };
  const std::pair<const char*, Change> innocent[] = {
      {"power_cap", everywhere([](auto& m) {  // without loss of clock
         if (m.flags.throttled) m.conditions.sm_clock_hz = 1965e6;
       })},
      {"power_limit_lowered", gpu([](auto& d) { d.power_limit_w = 699.5; })},
      {"power_limit_lowered", gpu([](auto& d) { d.power_limit_default_w.reset(); })},
      // Unreadable power, as on many virtual machines.
      {"clocks_below_max", locked(everywhere([](auto& m) { m.conditions.power_w.reset(); }))},
      // At the power limit, whose reason was read too late.
      {"clocks_below_max", locked(everywhere([](auto& m) { m.conditions.power_w = 690; }))},
      // A short load after a capped one.
      {"clocks_below_max",
       locked(at("gemm.bf16/load:sustained",
                 [](auto& m) { m.conditions.throttle_reasons = {"sw_power_cap"}; }))},
      // One load reached the maximum.
      {"clocks_below_max",
       locked(at("fma.fp32/load:burst", [](auto& m) { m.conditions.sm_clock_hz = 1980e6; }))},
      {"pcie_link_narrow", gpu([](auto& d) {  // idle
         d.pcie.generation = 1;
         d.pcie_read_under_load = false;
       })},
      {"pcie_link_narrow", gpu([](auto& d) {
         d.pcie.generation = 1;
         d.pcie.max_generation.reset();
       })},
      {"ecc_enabled", gpu([](auto& d) { d.ecc_enabled.reset(); })},
      {"ecc_disabled", gpu([](auto& d) { d.ecc_enabled.reset(); })},
      {"ecc_errors", ecc({5, 0}, {5, 0})},
      // Errors counted only after the run may predate it.
      {"ecc_errors", gpu([](auto& d) { d.after.ecc.uncorrected = 3; })},
      {"row_remap", gpu([](auto& d) {
         d.before.remapped_rows_correctable = d.after.remapped_rows_correctable = 0;
         d.after.remap_failed = false;
       })},
      {"pcie_replays",
       gpu([](auto& d) { d.before.pcie_replays = d.after.pcie_replays = 5'000'000; })},
      {"pcie_replays", gpu([](auto& d) {  // the driver was reloaded
         d.before.pcie_replays = 3;
         d.after.pcie_replays = 0;
       })},
      {"pcie_replays", gpu([](auto& d) {
         d.before.pcie_replays.reset();
         d.after.pcie_replays = 3;
       })},
      {"nvlink_errors", wear(&NvLinkCounters::symbol_errors)},
      {"nvlink_errors", wear(&NvLinkCounters::receive_errors)},
      {"nvlink_errors", gpu([](auto& d) { d.after.nvlinks = {{.link = 7, .replays = 3}}; })},
      {"nvlink_errors", gpu([](auto& d) {
         d.before.nvlinks = {{.link = 6, .replays = 1}};
         d.after.nvlinks = {{.link = 7, .replays = 3}};
       })},
      {"xid", never_run_fails({13, 43})},
      {"other_process", gpu(serve_mps)},
      {"confidential_computing", gpu([](auto& d) { d.confidential_computing = "off"; })},
      {"fabric_not_ready", gpu([](auto& d) { d.fabric = "completed"; })},
      {"memory_untested", memory_soak(0.95)},
      {"debug_build", [](Profile& run) { run.software.build_type = "RelWithDebInfo"; }},
      {"noisy", widened("hbm.write/width:16/bytes:4294967296", 0.019)},
      {"noisy", widened("pcie.h2d.pinned/bytes:4096", 0.2)},  // of a curve
      {"noisy", widened("gemm.model.bf16/hidden:8192/tokens:16384/part:layer", 0.2)},
      {"cpu_governor", host([](auto& h) { h.cpu_governor.clear(); })},
      {"cpu_quota", on_cpus(384, 2, {}, 2)},
      {"cpuset", on_cpus(1, 16, 16)},
      {"cpuset", on_cpus(16, 16, 16)},
      {"cpu_binding", on_cpus(16, 16, 16)},
      {"cpu_binding", on_cpus(4, 64, 4)},
      // A quota withholds the other CPUs.
      {"cpu_binding", on_cpus(1, 64, 64, 0.2)},
      {"cpu_binding", on_cpus(1, 64, 64, 1.0)},
      {"cpu_binding", on_cpus(1, 64, 64, 1.9)},
  };
  for (const auto& [code, change] : innocent)
    EXPECT_EQ(finding(run_with(change), code), nullptr) << code;
}

TEST(Findings, AHealthyRunHasOnlyNotesAndAnEmptyProfileNone) {
  std::vector<std::string> codes;
  for (const Finding& f : sample::h200_run().findings) {
    EXPECT_EQ(f.severity, Severity::kInfo) << f.message;
    codes.push_back(f.code);
  }
  EXPECT_THAT(codes, ::testing::ElementsAre("power_cap", "ecc_enabled"));
  EXPECT_TRUE(derive_findings({}, sample::benchmarks()).empty());
}

TEST(Findings, SpreadsOfAModelThatNobodyStudiedAreAssumed) {
  const auto other = [](Profile& p) { p.devices[0].name = "NVIDIA X1"; };
  const Finding found = appears("assumed_spread", Severity::kInfo, other);
  EXPECT_EQ(evidence(found, "assumed_from"), "NVIDIA H200");
  Profile usual = sample::h200_run(), unknown = run_with(other);
  const Ceiling &known = sample::ceiling(usual, "hbm.read", Basis::kMeasured),
                &assumed = sample::ceiling(unknown, "hbm.read", Basis::kMeasured);
  EXPECT_EQ(known.spread->assumed_from, "");
  EXPECT_DOUBLE_EQ(assumed.spread->runs, 2 * known.spread->runs);
  EXPECT_GT(*assumed.ci_high - *assumed.ci_low, 2 * (*known.ci_high - *known.ci_low));
}

TEST(Findings, WorstFirst) {
  const auto p = run_with([](Profile& run) {
    run.devices[0].xids = {79};
    run.software.environment = {{"NVIDIA_TF32_OVERRIDE", "0"}};
  });
  EXPECT_TRUE(std::ranges::is_sorted(p.findings, std::ranges::greater{}, &Finding::severity));
  EXPECT_EQ(p.findings.front().code, "xid");
}

TEST(Findings, FiguresOfWhatWasNeverRunSaySo) {
  const auto with_status = [](Status status) {
    Measurement m = sample::measurement("gemm.nvfp4", {}, Quantity::kFlopRate, 1e12);
    m.status = status;
    return all_of(gpu([](auto& d) { d.compute_major = 12; }), with(m));
  };
  const auto measured = run_with(with_status(Status::kOk));
  const Finding* f = finding(measured, "never_run");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->severity, Severity::kInfo);
  EXPECT_TRUE(matters(*f));
  EXPECT_THAT(f->message, HasSubstr("1 measurement came from code that had never run on hardware: "
                                    "GEMM NVFP4"));
  EXPECT_EQ(finding(run_with(with_status(Status::kSkipped)), "never_run"), nullptr);
  EXPECT_EQ(finding(sample::h200_run(), "never_run"), nullptr);
}

TEST(Findings, APowerCapIsNamedWithoutItsNumbers) {
  const auto p = run_with(all_of(gpu([](auto& d) { d.power_limit_w.reset(); }),
                                 everywhere([](auto& m) { m.conditions.sm_clock_hz.reset(); })));
  ASSERT_NE(finding(p, "power_cap"), nullptr);
  EXPECT_THAT(finding(p, "power_cap")->message, HasSubstr("The power cap lowered the SM clock in"));
}

TEST(Findings, UnsupportedIsOnePerDevice) {
  const auto f = appears("unsupported", Severity::kInfo, [](Profile& run) {
    for (Measurement& m : run.measurements) {
      if (m.id != "gemm.tf32" && m.id != "gemm.bf16") continue;
      m.status = Status::kSkipped;
      m.reason = "no such unit before compute capability 8.0";
    }
  });
  EXPECT_THAT(f.message, HasSubstr("GEMM TF32 (no such unit"));
  EXPECT_EQ(f.evidence.size(), 2U);  // not one per parameter
  EXPECT_EQ(f.device, kUuid);
}

TEST(Findings, WrongResultsOfAVerifyingSoak) {
  const auto soaked = [](Profile& run, std::int64_t differing) {
    Measurement m = find(run, "gemm.bf16/load:sustained");
    m.id = "soak.products.bf16";
    m.params = {};
    m.verified = differing == 0;
    m.launch = {{"compared_words", std::int64_t{16'000'000'000}}, {"differing_words", differing}};
    if (differing > 0) {
      m.launch.emplace_back("first_difference",
                            "row 8, column 114: 0x3f800000 instead of 0x3f880000, bits 0x00080000");
      m.launch.emplace_back("sm", "SM 17");
    }
    run.measurements.push_back(std::move(m));
    run.devices[0].before.ecc.uncorrected = 0;
    run.devices[0].after.ecc.uncorrected = 0;
  };
  const auto f = appears("wrong_results", Severity::kError, [&](Profile& run) { soaked(run, 2); });
  EXPECT_EQ(f.device, kUuid);
  const auto has = [&](const char* what, const char* value) {
    return std::ranges::find(f.evidence, std::pair<std::string, std::string>(what, value)) !=
           f.evidence.end();
  };
  EXPECT_TRUE(has("soak.products.bf16", "2 wrong words"));
  EXPECT_TRUE(has("soak.products.bf16: sm", "SM 17"));
  EXPECT_TRUE(has("ECC errors, uncorrected", "0 before, 0 after"));
  const auto p = run_with([&](Profile& run) { soaked(run, 2); });
  EXPECT_EQ(finding(p, "unverified"), nullptr);  // reported once
  appears("results_compared", Severity::kInfo, [&](Profile& run) { soaked(run, 0); });
}

TEST(Findings, AWrongCopyIsNotYetTheDevicesFault) {
  const auto soaked = [](std::string id, Params params = {}, std::string device = kUuid) {
    Measurement m = sample::measurement(std::move(id), std::move(params), Quantity::kByteRate, 5e10,
                                        std::move(device));
    m.verified = false;
    m.launch = {{"compared_words", std::int64_t{5000}},
                {"differing_words", std::int64_t{1}},
                {"first_difference", "byte 0x40 of a copy"}};
    return with(m);
  };
  const auto host_link = soaked("soak.host_link");
  EXPECT_EQ(
      appears("wrong_results", Severity::kError, host_link).message,
      "Copies arrive with wrong data: 1 of 5000 words that were compared. First in "
      "soak.host_link: byte 0x40 of a copy. The GPU, its link or the host's memory is faulty: "
      "do not use them until you know which.");
  const auto pair = appears("wrong_results", Severity::kError,
                            soaked("soak.pairs", {{"pair", "0-1"}}, std::string(kNodeDevice)));
  EXPECT_EQ(pair.device, kNodeDevice);
  EXPECT_THAT(pair.message, HasSubstr("Either GPU or the link between them is faulty"));
  // Wrong memory comes first.
  EXPECT_THAT(
      appears("wrong_results", Severity::kError, all_of(host_link, soaked("soak.memory"))).message,
      HasSubstr("The device gives wrong results: 2 of 1.0 × 10⁴ words that "
                "were compared. First in soak.memory: "));
}

TEST(Findings, NameTheirDevice) {
  EXPECT_EQ(
      finding(run_with(at("host.fma.fp32/threads:192", [](auto& m) { m.status = Status::kError; })),
              "failed")
          ->device,
      kHostDevice);
  const auto p = run_with([](Profile& run) {
    run.devices.push_back(run.devices[0]);
    run.devices[1].uuid = "GPU-2";
    run.devices[1].pcie.width = 8;
  });
  EXPECT_EQ(std::ranges::count(p.findings, "pcie_link_narrow", &Finding::code), 1);
  EXPECT_EQ(finding(p, "pcie_link_narrow")->device, "GPU-2");
}

TEST(Findings, TimedManyCeilingsTakeNoLongerThanTheyHaveTo) {
  EXPECT_LT(growth([](const Profile& p) { derive_findings(p, sample::benchmarks()); }),
            kMostGrowth);
}

}  // namespace
}  // namespace peakline
