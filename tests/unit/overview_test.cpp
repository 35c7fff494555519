#include "harness/show/overview.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/conclude/headlines.hpp"
#include "harness/values/labels.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using sample::at;
using sample::find;
using sample::run_with;
using ::testing::HasSubstr;

const ComputeRow& compute(const Overview& o, std::string_view resource, Basis basis) {
  for (const ComputeRow& row : o.devices.at(0).compute)
    if (row.resource == resource && row.basis == basis) return row;
  throw std::out_of_range("no row " + std::string(resource));
}

std::string why(const Profile& p, std::string_view resource, Basis basis) {
  return compute(overview(p), resource, basis).why;
}

TEST(Overview, PutsTheFourPeaksSideBySide) {
  const auto content = overview(sample::h200_run());
  const ComputeRow& row = compute(content, "tensor.bf16", Basis::kSustained);
  EXPECT_DOUBLE_EQ(*row.measured, 692e12);
  EXPECT_NEAR(*row.peak_at_max_clock, 1070.5e12, 1e11);
  EXPECT_DOUBLE_EQ(*row.datasheet, 989.4e12);
  EXPECT_DOUBLE_EQ(*row.datasheet_clock_hz, 1830e6);
  EXPECT_DOUBLE_EQ(*row.observed_clock_hz, 1410e6);
  EXPECT_NEAR(*row.peak_at_observed_clock, 4096.0 * 132 * 1410e6, 1);
}

TEST(Overview, NamesTheLargestLoss) {
  const Profile usual = sample::h200_run();
  EXPECT_EQ(why(usual, "tensor.bf16", Basis::kSustained), "power cap: 1410 MHz");
  EXPECT_EQ(why(usual, "tensor.bf16", Basis::kBurst), "kernel: 79 %");
  EXPECT_EQ(why(usual, "cuda_core.fp64", Basis::kBurst), "at the limit");
  const auto why_sustained = [](const sample::Change& change) {
    return why(run_with(change), "tensor.bf16", Basis::kSustained);
  };
  const char* point = "gemm.bf16/load:sustained";
  EXPECT_EQ(
      why_sustained(at(point, [](auto& m) { m.conditions.throttle_reasons = {"hw_thermal"}; })),
      "thermal limit: 1410 MHz");
  EXPECT_EQ(why_sustained(at(point, [](auto& m) { m.conditions.throttle_reasons.clear(); })),
            "clock: 1410 MHz");
  EXPECT_EQ(why_sustained(at(point, [](auto& m) { m.conditions.sm_clock_hz.reset(); })),
            "clock not read");
  EXPECT_EQ(why_sustained(sample::gpu([](auto& d) { d.compute_major = 13; })),
            "theoretical peak not known");
}

TEST(Overview, AProductsHalfRateIsNoLossOfTheRun) {
  const auto why_burst = [](double share, double clock_hz) {
    return why(run_with([&](Profile& p) {
                 DeviceFacts& d = p.devices[0];
                 d.name = "NVIDIA GeForce RTX 5090";
                 d.compute_major = 12;
                 d.sm_count = 170;
                 d.sm_clock_max_hz = 3090e6;
                 Measurement& m = find(p, "gemm.bf16/load:burst");
                 m.conditions.sm_clock_hz = clock_hz;
                 m.value = share * 170 * 512 * clock_hz;
               }),
               "tensor.bf16", Basis::kBurst);
  };
  EXPECT_EQ(why_burst(0.8, 2600e6), "half rate; kernel: 80 %");
  // Compared with the higher of NVIDIA's two clocks; the other one is named.
  EXPECT_EQ(why_burst(0.95, 2600e6), "half rate; clock: 2600 MHz (boost: 2407)");
  EXPECT_EQ(why_burst(1, 3090e6), "half rate; at the limit");
}

TEST(Overview, LossesThatAreEachTooSmallToNameAreNone) {
  const auto why_burst = [](double share, double clock_share) {
    return why(run_with(at("fma.fp64/load:burst",
                           [&](auto& m) {
                             m.value = share * 128.0 * 132 * 1980e6;
                             m.conditions.sm_clock_hz = clock_share * 1980e6;
                           })),
               "cuda_core.fp64", Basis::kBurst);
  };
  EXPECT_EQ(why_burst(0.992, 0.996), "at the limit");
  EXPECT_EQ(why_burst(0.984, 0.985), "clock: 1950 MHz");
  EXPECT_EQ(why_burst(0.980, 0.996), "kernel: 98 %");
}

TEST(Overview, TellsASlowChipFromALowPowerCap) {
  const auto content = overview(sample::h200_run());
  const ComputeRow& sustained = compute(content, "tensor.bf16", Basis::kSustained);
  EXPECT_NEAR(*sustained.ops_per_clock_per_sm, 692e12 / 1410e6 / 132, 1e-6);
  EXPECT_NEAR(*sustained.flops_per_joule, 692e12 / 700, 1e-3);
  const ComputeRow& layer = compute(content, "tensor.bf16", Basis::kModelShaped);
  EXPECT_NEAR(*layer.ops_per_clock_per_sm, 665e12 / 1380e6 / 132, 1e-6);
  EXPECT_EQ(layer.flops_per_joule, std::nullopt);  // power unknown
  const ComputeRow& host = content.devices[1].compute.at(0);
  EXPECT_EQ(host.ops_per_clock_per_sm, std::nullopt);
}

TEST(Overview, WhatIsMissingHasAReason) {
  const auto why_missing = [](const std::function<void(Measurement&)>& spoil) {
    const auto content = overview(run_with(at("gemm.tf32/load:burst", spoil)));
    const ComputeRow& row = compute(content, "tensor.tf32", Basis::kBurst);
    EXPECT_FALSE(row.measured);
    return row.why;
  };
  const auto not_ok = [](Status status, const char* reason) {
    return [=](Measurement& m) {
      m.status = status;
      m.reason = reason;
    };
  };
  EXPECT_EQ(why_missing(not_ok(Status::kError, "the worker was killed")),
            "failed: the worker was killed");
  EXPECT_EQ(why_missing(not_ok(Status::kSkipped, "no cuBLASLt")), "skipped: no cuBLASLt");
  EXPECT_EQ(why_missing([](Measurement& m) { m.flags.implausible = true; }),
            "implausible: above what the hardware can do");
  EXPECT_EQ(why_missing([](Measurement& m) { m.verified = false; }), "wrong result");
}

TEST(Overview, OnlyAnUnfinishedRunOwesSustainedFigures) {
  Profile p = run_with([](Profile& run) {
    std::erase_if(run.measurements,
                  [](const Measurement& m) { return text_param(m.params, "load") == "sustained"; });
  });
  EXPECT_THROW(why(p, "tensor.bf16", Basis::kSustained), std::out_of_range);
  p.complete = false;
  EXPECT_EQ(why(p, "tensor.bf16", Basis::kSustained), "not measured in this run");
}

TEST(Overview, HeadlinesNameTheirReference) {
  const auto content = overview(sample::h200_run());
  const auto& figures = content.devices[0].headlines;
  ASSERT_EQ(figures.size(), 8U);
  EXPECT_DOUBLE_EQ(*figures[0].value, 4583e9);
  EXPECT_EQ(figures[0].reference_name, "datasheet");
  EXPECT_EQ(figures[1].label, "PCIe H2D");  // no datasheet states it
  EXPECT_EQ(figures[1].reference_name, "theoretical");
  EXPECT_EQ(figures[4].label, "BF16 sustained");
  EXPECT_EQ(figures[4].reference_name, "datasheet");
  EXPECT_DOUBLE_EQ(*figures[4].reference, 989.4e12);
  EXPECT_EQ(figures[6].missing, "not measured in this run");
  EXPECT_EQ(figures[6].unit, "FLOP/s");  // of its reference
  // A device without BF16 is judged by FP16.
  const auto turing = overview(run_with(sample::gpu([](auto& d) {
    d.compute_major = 7;
    d.compute_minor = 5;
  })));
  ASSERT_EQ(turing.devices[0].headlines.size(), 6U);
  EXPECT_EQ(turing.devices[0].headlines[3].label, "FP16 burst");
  EXPECT_EQ(turing.devices[0].headlines[4].label, "FP16 sustained");
}

TEST(Overview, BandwidthSaysHowItWasReached) {
  const auto content = overview(sample::h200_run());
  const auto& rows = content.devices[0].bandwidth;
  EXPECT_EQ(rows[0].resource, "hbm.read");
  EXPECT_EQ(rows[0].how, "16 B wide, 4 GiB");
  const auto h2d = std::ranges::find(rows, "pcie.h2d", &BandwidthRow::resource);
  ASSERT_NE(h2d, rows.end());
  EXPECT_THAT(h2d->how, HasSubstr("5.0 x16"));
}

TEST(Overview, CountsMeasurements) {
  auto p = sample::h200_run();
  find(p, "launch.submit").status = Status::kError;
  find(p, "launch.round_trip").status = Status::kSkipped;
  const auto content = overview(p);
  EXPECT_EQ(content.failed, 1U);
  EXPECT_EQ(content.skipped, 1U);
  EXPECT_EQ(content.ok, p.measurements.size() - 2);
}

TEST(Overview, TheHostComesLast) {
  const auto content = overview(sample::h200_run());
  ASSERT_EQ(content.devices.size(), 2U);
  EXPECT_EQ(content.devices[1].device, kHostDevice);
  EXPECT_EQ(content.devices[1].compute.at(0).why, "192 threads");
  EXPECT_TRUE(overview({}).devices.empty());
}

TEST(Labels, NameDevicesByIndex) {
  auto p = sample::h200_run();
  p.devices[0].index = 3;
  EXPECT_EQ(device_label(p, sample::kUuid), "GPU 3");
  EXPECT_EQ(device_label(p, "host"), "host");
  EXPECT_EQ(ResourceLabels(p)("tensor.bf16"), "BF16 Tensor Cores");
  EXPECT_EQ(ResourceLabels(p)("made.up"), "made.up");
  EXPECT_EQ(basis_label(Basis::kModelShaped), "model-shaped");
}

TEST(Labels, OfProfilesByOtherVersionsAreThisPrograms) {
  auto p = sample::h200_run();
  const auto label_of = [&](std::string_view name) -> std::string& {
    return std::ranges::find(p.resources, name, &Resource::name)->label;
  };
  const auto headline = std::ranges::find(p.headlines, "pcie.h2d", &Headline::resource);
  headline->label = label_of("pcie.h2d") = "PCIe to device";
  const Resource future = {
      .name = "tensor.fp2", .label = "FP2 Tensor Cores", .unit = "FLOP/s", .precision = {}};
  p.resources.push_back(future);
  use_own_labels(p);
  EXPECT_EQ(headline->label, "PCIe H2D");
  EXPECT_EQ(ResourceLabels(p)("pcie.h2d"), "PCIe H2D");
  EXPECT_EQ(ResourceLabels(p)("tensor.fp2"), "FP2 Tensor Cores");

  p.devices[0].compute_major = 12, p.devices[0].compute_minor = 0;
  label_of("hbm.read") = "memory read of a device";
  use_own_labels(p);
  EXPECT_EQ(ResourceLabels(p)("hbm.read"), "GDDR read");
}

}  // namespace
}  // namespace peakline
