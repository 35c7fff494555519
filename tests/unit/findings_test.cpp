#include "harness/conclude/findings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/crowded_profile.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using sample::find;
using sample::kUuid;
using ::testing::HasSubstr;

const Finding* finding(const Profile& p, std::string_view code) {
  const auto found = std::ranges::find(p.findings, code, &Finding::code);
  return found == p.findings.end() ? nullptr : &*found;
}

std::string evidence(const Finding& f, std::string_view key) {
  for (const auto& [name, value] : f.evidence) {
    if (name == key) return value;
  }
  return "";
}

// The sample run after a change.
template <class Change>
Profile run_with(Change change) {
  auto p = sample::h200_run();
  change(p);
  return sample::derived(p);
}

// Asserts that the finding appears with the change and not without it.
template <class Change>
Finding appears(std::string_view code, Severity severity, Change change) {
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

TEST(Findings, AHealthyRunHasOnlyNotes) {
  std::vector<std::string> codes;
  for (const Finding& f : sample::h200_run().findings) {
    EXPECT_EQ(f.severity, Severity::kInfo) << f.message;
    codes.push_back(f.code);
  }
  EXPECT_THAT(codes, ::testing::ElementsAre("power_cap", "ecc_enabled"));
}

TEST(Findings, SpreadsOfAModelThatNobodyStudiedAreAssumed) {
  const auto other = [](Profile& p) { p.devices[0].name = "NVIDIA X1"; };
  const Finding found = appears("assumed_spread", Severity::kInfo, other);
  EXPECT_EQ(evidence(found, "assumed_from"), "NVIDIA H200");
  const auto ceiling = [](const Profile& p) {
    return *std::ranges::find_if(p.ceilings, [](const Ceiling& row) {
      return row.device == kUuid && row.resource == "hbm.read" && row.spread;
    });
  };
  const Ceiling known = ceiling(sample::h200_run()), assumed = ceiling(run_with(other));
  EXPECT_EQ(known.spread->assumed_from, "");
  EXPECT_DOUBLE_EQ(assumed.spread->runs, 2 * known.spread->runs);
  EXPECT_GT(*assumed.ci_high - *assumed.ci_low, 2 * (*known.ci_high - *known.ci_low));
}

TEST(Findings, AnEmptyProfileHasNone) {
  EXPECT_TRUE(derive_findings({}, sample::benchmarks()).empty());
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
  const auto with = [](Status status) {
    return run_with([status](Profile& run) {
      run.devices[0].compute_major = 12;
      Measurement m = sample::measurement("mma.sync.nvfp4", {}, Quantity::kFlopRate, 1e12);
      m.status = status;
      run.measurements.push_back(m);
    });
  };
  const auto measured = with(Status::kOk);
  const Finding* f = finding(measured, "never_run");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->severity, Severity::kInfo);
  EXPECT_TRUE(matters(*f));
  EXPECT_THAT(f->message, HasSubstr("Code that had never run on hardware gave 1 measurement: "
                                    "mma.sync.nvfp4"));
  const auto skipped = with(Status::kSkipped);
  EXPECT_EQ(finding(skipped, "never_run"), nullptr);
  EXPECT_EQ(finding(sample::h200_run(), "never_run"), nullptr);
}

TEST(Findings, PowerCapNamesTheWorstCase) {
  const auto p = sample::h200_run();
  const Finding* f = finding(p, "power_cap");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->device, kUuid);
  EXPECT_THAT(f->message, HasSubstr("power cap of 700 W"));
  EXPECT_THAT(f->message, HasSubstr("1395 of 1980 MHz"));
  EXPECT_EQ(evidence(*f, "measurement"), "gemm.fp16/load:sustained");
  EXPECT_EQ(evidence(*f, "power"), "701 W");
  EXPECT_EQ(evidence(*f, "measurements_affected"), "4");
}

TEST(Findings, APowerCapThatCostNoClockIsNone) {
  const auto p = run_with([](Profile& run) {
    for (Measurement& m : run.measurements) {
      if (m.flags.throttled) m.conditions.sm_clock_hz = 1965e6;
    }
  });
  EXPECT_EQ(finding(p, "power_cap"), nullptr);
}

TEST(Findings, PowerCapWithoutReadableNumbersStillNamesTheCap) {
  const auto p = run_with([](Profile& run) {
    run.devices[0].power_limit_w.reset();
    for (Measurement& m : run.measurements) m.conditions.sm_clock_hz.reset();
  });
  const Finding* f = finding(p, "power_cap");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->message, HasSubstr("The power cap lowered the SM clock in"));
}

TEST(Findings, PowerLimitLowered) {
  const auto f = appears("power_limit_lowered", Severity::kWarning,
                         [](Profile& run) { run.devices[0].power_limit_w = 500; });
  EXPECT_THAT(f.message, HasSubstr("500 W, below the default of 700 W"));
  EXPECT_EQ(finding(run_with([](Profile& run) { run.devices[0].power_limit_w = 699.5; }),
                    "power_limit_lowered"),
            nullptr);
  EXPECT_EQ(finding(run_with([](Profile& run) { run.devices[0].power_limit_default_w.reset(); }),
                    "power_limit_lowered"),
            nullptr);
}

TEST(Findings, ThermalLimit) {
  const auto f = appears("thermal_limit", Severity::kWarning, [](Profile& run) {
    auto& m = find(run, "gemm.bf16/load:sustained");
    m.conditions.throttle_reasons = {"sw_thermal"};
    m.conditions.temperature_c = 88;
  });
  EXPECT_THAT(f.message, HasSubstr("88 °C"));
  EXPECT_THAT(f.message, HasSubstr("1410 of 1980 MHz"));
}

void lock_clocks(Profile& run) {
  for (Measurement& m : run.measurements) {
    if (!m.conditions.sm_clock_hz) continue;
    m.conditions.sm_clock_hz = 1410e6;
    m.conditions.power_w = 450;
    m.conditions.throttle_reasons.clear();
  }
}

TEST(Findings, ClocksBelowMax) {
  const auto f = appears("clocks_below_max", Severity::kWarning, lock_clocks);
  EXPECT_THAT(f.message, HasSubstr("1410 of 1980 MHz"));
}

TEST(Findings, ClocksBelowMaxNeedsEvidence) {
  // Power not readable, as on many virtual machines.
  EXPECT_EQ(finding(run_with([](Profile& run) {
                      lock_clocks(run);
                      for (Measurement& m : run.measurements) m.conditions.power_w.reset();
                    }),
                    "clocks_below_max"),
            nullptr);
  // The run was at the power limit, whose reason came too late to be read.
  EXPECT_EQ(finding(run_with([](Profile& run) {
                      lock_clocks(run);
                      for (Measurement& m : run.measurements) m.conditions.power_w = 690;
                    }),
                    "clocks_below_max"),
            nullptr);
  // A short load after a capped one.
  EXPECT_EQ(finding(run_with([](Profile& run) {
                      lock_clocks(run);
                      find(run, "gemm.bf16/load:sustained").conditions.throttle_reasons = {
                          "sw_power_cap"};
                    }),
                    "clocks_below_max"),
            nullptr);
  // One load reached the maximum.
  EXPECT_EQ(finding(run_with([](Profile& run) {
                      lock_clocks(run);
                      find(run, "fma.fp32/load:burst").conditions.sm_clock_hz = 1980e6;
                    }),
                    "clocks_below_max"),
            nullptr);
}

TEST(Findings, PcieLinkNarrow) {
  const auto f = appears("pcie_link_narrow", Severity::kWarning,
                         [](Profile& run) { run.devices[0].pcie.width = 8; });
  EXPECT_THAT(f.message, HasSubstr("5.0 x8"));
  EXPECT_EQ(evidence(f, "link_maximum"), "5.0 x16");
  appears("pcie_link_narrow", Severity::kWarning,
          [](Profile& run) { run.devices[0].pcie.generation = 4; });
}

TEST(Findings, AnIdleOrUnknownLinkIsNotAccused) {
  EXPECT_EQ(finding(run_with([](Profile& run) {
                      run.devices[0].pcie.generation = 1;
                      run.devices[0].pcie_read_under_load = false;
                    }),
                    "pcie_link_narrow"),
            nullptr);
  EXPECT_EQ(finding(run_with([](Profile& run) {
                      run.devices[0].pcie.generation = 1;
                      run.devices[0].pcie.max_generation.reset();
                    }),
                    "pcie_link_narrow"),
            nullptr);
}

TEST(Findings, OtherProcess) {
  const auto f = appears("other_process", Severity::kWarning, [](Profile& run) {
    run.devices[0].processes = {{4711, "python", 12 * kGiB}};
  });
  EXPECT_THAT(f.message, HasSubstr("python (4711)"));
  EXPECT_EQ(evidence(f, "python (4711)"), "12 GiB");
}

TEST(Findings, WhyADeviceHasNoDatasheetFigures) {
  const auto unknown = appears("no_datasheet", Severity::kInfo, [](Profile& run) {
    run.devices[0].name = "NVIDIA X1";
    run.devices[0].pci_device_id = "10de:ffff";
    run.devices[0].pci_subsystem_id = "10de:0001";
  });
  EXPECT_EQ(unknown.device, kUuid);
  EXPECT_THAT(unknown.message, HasSubstr("not in the table (peakline peaks)"));
  EXPECT_EQ(evidence(unknown, "pci_ids"), "10de:ffff 10de:0001");
  const auto mig = appears("no_datasheet", Severity::kInfo,
                           [](Profile& run) { run.devices[0].mig_enabled = true; });
  EXPECT_THAT(mig.message, HasSubstr("a slice of a GPU has none"));
}

TEST(Findings, EccStates) {
  appears("ecc_disabled", Severity::kWarning,
          [](Profile& run) { run.devices[0].ecc_enabled = false; });
  EXPECT_NE(finding(sample::h200_run(), "ecc_enabled"), nullptr);
  const auto unknown = run_with([](Profile& run) { run.devices[0].ecc_enabled.reset(); });
  EXPECT_EQ(finding(unknown, "ecc_enabled"), nullptr);
  EXPECT_EQ(finding(unknown, "ecc_disabled"), nullptr);
}

TEST(Findings, EccErrors) {
  const auto counts = [](std::int64_t corrected_before, std::int64_t corrected_after,
                         std::int64_t uncorrected_before, std::int64_t uncorrected_after) {
    return [=](Profile& run) {
      run.devices[0].before.ecc = {corrected_before, uncorrected_before};
      run.devices[0].after.ecc = {corrected_after, uncorrected_after};
    };
  };
  appears("ecc_errors", Severity::kError, counts(0, 0, 0, 1));
  appears("ecc_errors", Severity::kWarning, counts(5, 6, 0, 0));
  appears("ecc_errors", Severity::kWarning, counts(0, 0, 2, 2));
  EXPECT_EQ(finding(run_with(counts(5, 5, 0, 0)), "ecc_errors"), nullptr);
  // A count that is only known after the run does not tell when it happened.
  EXPECT_EQ(finding(run_with([](Profile& run) { run.devices[0].after.ecc.uncorrected = 3; }),
                    "ecc_errors"),
            nullptr);
}

TEST(Findings, RowRemap) {
  appears("row_remap", Severity::kError,
          [](Profile& run) { run.devices[0].after.remap_failed = true; });
  appears("row_remap", Severity::kError, [](Profile& run) {
    run.devices[0].before.remapped_rows_uncorrectable = 0;
    run.devices[0].after.remapped_rows_uncorrectable = 1;
  });
  appears("row_remap", Severity::kWarning,
          [](Profile& run) { run.devices[0].after.remap_pending = true; });
  appears("row_remap", Severity::kInfo, [](Profile& run) {
    run.devices[0].before.remapped_rows_correctable = 2;
    run.devices[0].after.remapped_rows_correctable = 2;
  });
  EXPECT_EQ(finding(run_with([](Profile& run) {
                      run.devices[0].before.remapped_rows_correctable = 0;
                      run.devices[0].after.remapped_rows_correctable = 0;
                      run.devices[0].after.remap_failed = false;
                    }),
                    "row_remap"),
            nullptr);
}

TEST(Findings, Xid) {
  const auto f = appears("xid", Severity::kError, [](Profile& run) {
    run.devices[0].xids = {63, 79};
  });
  EXPECT_THAT(f.message, HasSubstr("2 errors during the run (Xid 63, 79)"));
}

TEST(Findings, CodeThatWasNeverRunMayBeTheCauseOfAnXid) {
  const auto failed_with = [](std::vector<std::int64_t> xids) {
    return [xids](Profile& run) {
      run.devices[0].xids = xids;
      Measurement m = sample::measurement("mma.sync.nvfp4", {}, Quantity::kFlopRate, 1e12);
      m.status = Status::kSkipped;
      m.reason = std::string(kFailedWhereNeverRun) + ": an illegal instruction";
      run.measurements.push_back(m);
    };
  };
  const auto f = appears("xid_of_peakline", Severity::kInfo, failed_with({13, 43}));
  EXPECT_THAT(f.message, HasSubstr("(Xid 13, 43)"));
  EXPECT_EQ(finding(run_with(failed_with({13, 43})), "xid"), nullptr);
  // No program causes that one.
  appears("xid", Severity::kError, failed_with({13, 79}));
}

TEST(Findings, MpsIsNamedApartFromItsClients) {
  const auto served = [](Profile& run) {
    run.devices[0].processes = {
        {.pid = 7, .name = "/usr/bin/nvidia-cuda-mps-server", .memory_bytes = {}}};
  };
  const auto f = appears("mps", Severity::kWarning, served);
  EXPECT_THAT(f.message, HasSubstr("nvidia-cuda-mps-control"));
  EXPECT_EQ(finding(run_with(served), "other_process"), nullptr);
}

TEST(Findings, ConfidentialComputingThatIsOn) {
  const auto f = appears("confidential_computing", Severity::kWarning, [](Profile& run) {
    run.devices[0].confidential_computing = "protected PCIe";
  });
  EXPECT_THAT(f.message, HasSubstr("is on (protected PCIe): copies between host and GPU"));
  const auto off = run_with([](Profile& run) { run.devices[0].confidential_computing = "off"; });
  EXPECT_EQ(finding(off, "confidential_computing"), nullptr);
}

TEST(Findings, AFabricThatIsNotSetUp) {
  const auto f = appears("fabric_not_ready", Severity::kWarning,
                         [](Profile& run) { run.devices[0].fabric = "in progress"; });
  EXPECT_THAT(f.message, HasSubstr("systemctl start nvidia-fabricmanager"));
  const auto completed = run_with([](Profile& run) { run.devices[0].fabric = "completed"; });
  EXPECT_EQ(finding(completed, "fabric_not_ready"), nullptr);
}

TEST(Findings, MemoryThatOthersKeptFromASoak) {
  const auto soaked = [](double share) {
    return [share](Profile& run) {
      Measurement m = sample::measurement("soak.memory", {}, Quantity::kByteRate, 4e12, kUuid);
      m.verified = true;
      const double tested = share * *run.devices[0].memory_bytes;
      m.launch = {{"memory_tested_bytes", static_cast<std::int64_t>(tested)},
                  {"compared_words", std::int64_t{5000}},
                  {"differing_words", std::int64_t{0}}};
      run.measurements.push_back(std::move(m));
    };
  };
  const auto f = appears("memory_untested", Severity::kWarning, soaked(0.1));
  EXPECT_THAT(f.message, HasSubstr("of memory, 10.0 %: the rest was occupied"));
  EXPECT_EQ(finding(run_with(soaked(0.95)), "memory_untested"), nullptr);
}

TEST(Findings, Mig) {
  appears("mig", Severity::kWarning, [](Profile& run) { run.devices[0].mig_enabled = true; });
}

TEST(Findings, Environment) {
  const auto f = appears("environment", Severity::kWarning, [](Profile& run) {
    run.software.environment = {{"NVIDIA_TF32_OVERRIDE", "0"}};
  });
  EXPECT_THAT(f.message, HasSubstr("NVIDIA_TF32_OVERRIDE=0"));
  EXPECT_EQ(f.device, "");
}

TEST(Findings, UnsupportedIsOnePerDevice) {
  const auto f = appears("unsupported", Severity::kInfo, [](Profile& run) {
    for (Measurement& m : run.measurements) {
      if (m.id != "gemm.tf32" && m.id != "gemm.bf16") continue;
      m.status = Status::kSkipped;
      m.reason = "no such unit before compute capability 8.0";
    }
  });
  EXPECT_THAT(f.message, HasSubstr("gemm.tf32 (no such unit"));
  EXPECT_EQ(f.evidence.size(), 2U);  // not one for each parameter
  EXPECT_EQ(f.device, kUuid);
}

TEST(Findings, Implausible) {
  const auto f = appears("implausible", Severity::kWarning, [](Profile& run) {
    auto& m = find(run, "hbm.read/width:16/bytes:268435456");
    m.value = 6000e9;
    m.flags.implausible = true;
  });
  EXPECT_EQ(f.evidence[0].second, "6000 GB/s measured, 4838 GB/s possible");
}

TEST(Findings, Unverified) {
  appears("unverified", Severity::kError,
          [](Profile& run) { find(run, "fma.fp32/load:burst").verified = false; });
  appears("unverified", Severity::kWarning,
          [](Profile& run) { run.command.emplace_back("--no-verify"); });
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
  EXPECT_EQ(f.message,
            "The device gives wrong results: 2 of 1.6 × 10¹⁰ words that were compared. First in "
            "soak.products.bf16: row 8, column 114: 0x3f800000 instead of 0x3f880000, bits "
            "0x00080000; SM 17. Take it out of service.");
  const auto has = [&](const char* what, const char* value) {
    return std::ranges::find(f.evidence, std::pair<std::string, std::string>(what, value)) !=
           f.evidence.end();
  };
  EXPECT_TRUE(has("soak.products.bf16", "2 wrong words"));
  EXPECT_TRUE(has("soak.products.bf16: sm", "SM 17"));
  EXPECT_TRUE(has("ECC errors, uncorrected", "0 before, 0 after"));
  const auto p = run_with([&](Profile& run) { soaked(run, 2); });
  EXPECT_EQ(finding(p, "unverified"), nullptr);  // said once
  const auto right =
      appears("results_compared", Severity::kInfo, [&](Profile& run) { soaked(run, 0); });
  EXPECT_EQ(right.message, "The verifying soak compared 1.6 × 10¹⁰ words: all were right.");
}

TEST(Findings, AWrongCopyIsNotYetTheDevicesFault) {
  const auto soaked = [](std::string id, Params params, std::string device) {
    Measurement m = sample::measurement(std::move(id), std::move(params), Quantity::kByteRate, 5e10,
                                        std::move(device));
    m.verified = false;
    m.launch = {{"compared_words", std::int64_t{5000}},
                {"differing_words", std::int64_t{1}},
                {"first_difference", "byte 0x40 of a copy"}};
    return m;
  };
  const auto host = soaked("soak.host_link", {}, kUuid);
  const auto f = appears("wrong_results", Severity::kError,
                         [&](Profile& run) { run.measurements.push_back(host); });
  EXPECT_EQ(
      f.message,
      "Copies arrive with wrong data: 1 of 5000 words that were compared. First in "
      "soak.host_link: byte 0x40 of a copy. The GPU, its link or the host's memory is faulty: "
      "do not use them before it is known which.");
  const auto pair = appears("wrong_results", Severity::kError, [&](Profile& run) {
    run.measurements.push_back(soaked("soak.pairs", {{"pair", "0-1"}}, std::string(kNodeDevice)));
  });
  EXPECT_EQ(pair.device, kNodeDevice);
  EXPECT_THAT(pair.message, HasSubstr("Either GPU or the link between them is faulty"));
  // Memory that is wrong is told first.
  const auto both = appears("wrong_results", Severity::kError, [&](Profile& run) {
    run.measurements.push_back(host);
    run.measurements.push_back(soaked("soak.memory", {}, kUuid));
  });
  EXPECT_THAT(both.message, HasSubstr("The device gives wrong results: 2 of 1.0 × 10⁴ words that "
                                      "were compared. First in soak.memory: "));
}

TEST(Findings, Failed) {
  const auto f = appears("failed", Severity::kError, [](Profile& run) {
    auto& m = find(run, "fma.fp32/load:burst");
    m.status = Status::kError;
    m.reason = "the worker was killed by signal 9";
  });
  EXPECT_THAT(f.message, HasSubstr("1 measurement failed: fma.fp32/load:burst"));
  EXPECT_EQ(f.evidence[0].second, "the worker was killed by signal 9");
}

TEST(Findings, FailuresOfTheHostAreSaidToo) {
  const auto p = run_with(
      [](Profile& run) { find(run, "host.fma.fp32/threads:192").status = Status::kError; });
  ASSERT_NE(finding(p, "failed"), nullptr);
  EXPECT_EQ(finding(p, "failed")->device, kHostDevice);
}

TEST(Findings, ASoakWithoutEquilibrium) {
  const auto f = appears("no_thermal_equilibrium", Severity::kWarning, [](Profile& run) {
    find(run, "gemm.bf16/load:soak").launch = {{"seconds", std::int64_t{120}}};
  });
  EXPECT_THAT(f.message,
              HasSubstr("gemm.bf16/load:soak did not reach thermal equilibrium in 120 s of "
                        "load (38 °C at the start, 71 °C at the end)."));
  EXPECT_EQ(evidence(f, "rate"), "680 TFLOP/s");
  EXPECT_EQ(evidence(f, "power"), "699 W");
  const auto untold = appears("no_thermal_equilibrium", Severity::kWarning, [](Profile& run) {
    auto& m = find(run, "gemm.bf16/load:soak");
    m.launch.clear();
    m.series = {};
  });
  EXPECT_THAT(untold.message, HasSubstr("thermal equilibrium. Soak for longer"));
}

TEST(Findings, NoisyIsAboutCeilings) {
  const auto widen = [](Measurement& m, double half_width) {
    m.summary->ci_low = m.summary->median * (1 - half_width);
    m.summary->ci_high = m.summary->median * (1 + half_width);
  };
  const auto f = appears("noisy", Severity::kWarning, [&](Profile& run) {
    widen(find(run, "hbm.write/width:16/bytes:4294967296"), 0.03);
  });
  EXPECT_EQ(f.evidence[0].second, "±3.0 %");
  appears("noisy", Severity::kWarning,
          [](Profile& run) { find(run, "gemm.bf16/load:burst").flags.unstable = true; });
  for (const char* product :
       {"gemm.bf16/load:burst", "gemm.bf16/load:sustained", "gemm.model.bf16/load:sustained"})
    appears("noisy", Severity::kWarning, [&](Profile& run) { widen(find(run, product), 0.03); });
  EXPECT_EQ(finding(run_with([&](Profile& run) {
                      widen(find(run, "hbm.write/width:16/bytes:4294967296"), 0.019);
                      widen(find(run, "pcie.h2d.pinned/bytes:4096"), 0.2);  // of a curve
                      widen(find(run, "gemm.model.bf16/hidden:8192/tokens:16384/part:layer"), 0.2);
                    }),
                    "noisy"),
            nullptr);
}

TEST(Findings, VaryingIsAboutPointsThatNoCeilingComesFrom) {
  const auto f = appears("varying", Severity::kInfo, [](Profile& run) {
    find(run, "pcie.h2d.pinned/bytes:4096").flags.unstable = true;
    find(run, "gemm.bf16/load:burst").flags.unstable = true;
  });
  EXPECT_EQ(f.message,
            "1 measurement that no ceiling comes from varied within the run: "
            "pcie.h2d.pinned/bytes:4096.");
}

TEST(Findings, Virtualized) {
  const auto machine = appears("virtualized", Severity::kInfo,
                               [](Profile& run) { run.host.virtualization = "kvm"; });
  EXPECT_THAT(machine.message, HasSubstr("virtual machine (kvm)"));
  const auto container = appears("virtualized", Severity::kInfo,
                                 [](Profile& run) { run.host.virtualization = "docker"; });
  EXPECT_THAT(container.message, HasSubstr("a container (docker)"));
  const auto both = appears("virtualized", Severity::kInfo,
                            [](Profile& run) { run.host.virtualization = "kvm, docker"; });
  EXPECT_THAT(both.message, HasSubstr("a container in a virtual machine (kvm, docker)"));
}

TEST(Findings, DeviceUnusable) {
  const auto f = appears("device_unusable", Severity::kError,
                         [](Profile& run) { run.devices[0].unusable = "no permission"; });
  EXPECT_THAT(f.message, HasSubstr("no permission"));
}

TEST(Findings, CpuGovernor) {
  appears("cpu_governor", Severity::kInfo,
          [](Profile& run) { run.host.cpu_governor = "powersave"; });
  EXPECT_EQ(finding(run_with([](Profile& run) { run.host.cpu_governor.clear(); }), "cpu_governor"),
            nullptr);
}

TEST(Findings, CpuQuota) {
  const auto f = appears("cpu_quota", Severity::kWarning, [](Profile& run) {
    run.host.hardware_threads = 64;
    run.host.cpu_quota = 0.2;
  });
  EXPECT_EQ(f.message,
            "The container may use only 0.2 of 64 CPUs: host figures are bound by that quota.");
  EXPECT_EQ(finding(run_with([](Profile& run) {
                      run.host.hardware_threads = 2;
                      run.host.cpu_quota = 2;
                    }),
                    "cpu_quota"),
            nullptr);
}

Profile on_cpus(int usable, int hardware, std::optional<int> cpuset,
                std::optional<double> quota = {}) {
  return run_with([=](Profile& run) {
    run.host.usable_threads = usable;
    run.host.hardware_threads = hardware;
    run.host.cpuset_threads = cpuset;
    run.host.cpu_quota = quota;
  });
}

TEST(Findings, CpusWithheldByABinding) {
  auto p = on_cpus(1, 16, 16);
  const Finding* f = finding(p, "cpu_binding");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->severity, Severity::kWarning);
  EXPECT_EQ(f->message,
            "peakline was bound to 1 of 16 CPUs: host figures are that CPU's alone. Start it "
            "unbound (mpirun --bind-to none, srun --cpu-bind=none, no taskset), unless that is all "
            "that its job was given.");
  EXPECT_EQ(finding(p, "cpuset"), nullptr);
  // What the cpuset leaves may not be known.
  p = on_cpus(4, 16, std::nullopt);
  f = finding(p, "cpu_binding");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->message, testing::HasSubstr("bound to 4 of 16 CPUs: host figures are those CPUs' "
                                             "alone."));
  p = on_cpus(16, 16, 16);
  EXPECT_EQ(finding(p, "cpu_binding"), nullptr);
  EXPECT_EQ(finding(p, "cpuset"), nullptr);
}

TEST(Findings, CpusWithheldByTheCpuset) {
  auto p = on_cpus(4, 64, 4);
  const Finding* f = finding(p, "cpuset");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->severity, Severity::kInfo);
  EXPECT_EQ(f->message,
            "The container or job has 4 of the machine's 64 CPUs (its cpuset): host figures are "
            "those of its share.");
  EXPECT_EQ(finding(p, "cpu_binding"), nullptr);
  // Bound to one of them.
  p = on_cpus(1, 64, 4);
  EXPECT_NE(finding(p, "cpuset"), nullptr);
  f = finding(p, "cpu_binding");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->message, testing::HasSubstr("bound to 1 of 4 CPUs"));
}

TEST(Findings, CpusWithheldByAQuotaAreNotBound) {
  for (const double quota : {0.2, 1.0, 1.9})
    EXPECT_EQ(finding(on_cpus(1, 64, 64, quota), "cpu_binding"), nullptr) << quota;
  EXPECT_NE(finding(on_cpus(1, 64, 64, 2.0), "cpu_binding"), nullptr);
}

TEST(Findings, Builds) {
  appears("dirty_build", Severity::kInfo,
          [](Profile& run) { run.software.git_revision = "0123abc-dirty"; });
  appears("debug_build", Severity::kWarning,
          [](Profile& run) { run.software.build_type = "Debug"; });
  EXPECT_EQ(finding(run_with([](Profile& run) { run.software.build_type = "RelWithDebInfo"; }),
                    "debug_build"),
            nullptr);
}

TEST(Findings, OnePerDeviceForEachDevice) {
  auto p = sample::h200_run();
  p.devices.push_back(p.devices[0]);
  p.devices[1].uuid = "GPU-2";
  p.devices[1].pcie.width = 8;
  p = sample::derived(p);
  const auto narrow = std::ranges::count(p.findings, "pcie_link_narrow", &Finding::code);
  EXPECT_EQ(narrow, 1);
  EXPECT_EQ(finding(p, "pcie_link_narrow")->device, "GPU-2");
}

TEST(Findings, TimedManyCeilingsTakeNoLongerThanTheyHaveTo) {
  EXPECT_LT(growth([](const Profile& p) { derive_findings(p, sample::benchmarks()); }),
            kMostGrowth);
}

}  // namespace
}  // namespace peakline
