#include "harness/show/overview.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/core/labels.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using sample::find;
using ::testing::HasSubstr;

const ComputeRow& compute(const Overview& o, std::string_view resource, Basis basis) {
  for (const ComputeRow& row : o.devices.at(0).compute) {
    if (row.resource == resource && row.basis == basis) return row;
  }
  throw std::out_of_range("no row " + std::string(resource));
}

const CurveSummary& curve(const Overview& o, std::string_view topic, std::size_t device = 0) {
  for (const CurveSummary& c : o.devices.at(device).curves) {
    if (c.topic == topic) return c;
  }
  throw std::out_of_range("no curve " + std::string(topic));
}

double value(const CurveSummary& c, std::string_view name) {
  for (const auto& [key, v] : c.values) {
    if (key == name) return v;
  }
  throw std::out_of_range("no value " + std::string(name));
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

TEST(Overview, NamesTheLargerOfTheTwoLosses) {
  auto p = sample::h200_run();
  EXPECT_EQ(compute(overview(p), "tensor.bf16", Basis::kSustained).why, "power cap: 1410 MHz");
  EXPECT_EQ(compute(overview(p), "tensor.bf16", Basis::kBurst).why, "79 % of 1890 MHz's peak");
  EXPECT_EQ(compute(overview(p), "cuda_core.fp64", Basis::kBurst).why, "at the limit");

  auto& m = find(p, "gemm.bf16/load:sustained");
  m.conditions.throttle_reasons = {"hw_thermal"};
  EXPECT_EQ(compute(overview(sample::derived(p)), "tensor.bf16", Basis::kSustained).why,
            "thermal limit: 1410 MHz");
  find(p, "gemm.bf16/load:sustained").conditions.throttle_reasons.clear();
  EXPECT_EQ(compute(overview(sample::derived(p)), "tensor.bf16", Basis::kSustained).why,
            "clock: 1410 MHz");
  find(p, "gemm.bf16/load:sustained").conditions.sm_clock_hz.reset();
  EXPECT_EQ(compute(overview(sample::derived(p)), "tensor.bf16", Basis::kSustained).why,
            "clock not read");
  p.devices[0].compute_major = 13;
  EXPECT_EQ(compute(overview(sample::derived(p)), "tensor.bf16", Basis::kSustained).why,
            "theoretical peak not known");
}

TEST(Overview, TellsASlowChipFromALowPowerCap) {
  const auto content = overview(sample::h200_run());
  const ComputeRow& sustained = compute(content, "tensor.bf16", Basis::kSustained);
  EXPECT_NEAR(*sustained.ops_per_clock_per_sm, 692e12 / 1410e6 / 132, 1e-6);
  EXPECT_NEAR(*sustained.flops_per_joule, 692e12 / 700, 1e-3);
  const ComputeRow& layer = compute(content, "tensor.bf16", Basis::kModelShaped);
  EXPECT_NEAR(*layer.ops_per_clock_per_sm, 644e12 / 1500e6 / 132, 1e-6);
  EXPECT_EQ(layer.flops_per_joule, std::nullopt);  // too short for its power to be known
  const ComputeRow& host = content.devices[1].compute.at(0);
  EXPECT_EQ(host.ops_per_clock_per_sm, std::nullopt);
}

TEST(Overview, WhatIsMissingHasAReason) {
  const auto why = [](auto spoil) {
    auto p = sample::h200_run();
    spoil(find(p, "gemm.tf32/load:burst"));
    const auto content = overview(sample::derived(p));
    const ComputeRow& row = compute(content, "tensor.tf32", Basis::kBurst);
    EXPECT_FALSE(row.measured);
    return row.why;
  };
  EXPECT_EQ(why([](Measurement& m) {
              m.status = Status::kError;
              m.reason = "the worker was killed";
            }),
            "failed: the worker was killed");
  EXPECT_EQ(why([](Measurement& m) {
              m.status = Status::kSkipped;
              m.reason = "no cuBLASLt";
            }),
            "skipped: no cuBLASLt");
  EXPECT_EQ(why([](Measurement& m) { m.flags.implausible = true; }),
            "implausible: above what the hardware can do");
  EXPECT_EQ(why([](Measurement& m) { m.verified = false; }), "wrong result");
}

TEST(Overview, OnlyAnUnfinishedRunOwesSustainedFigures) {
  auto p = sample::h200_run();
  std::erase_if(p.measurements, [](const Measurement& m) {
    return text_param(m.params, "load") == std::optional<std::string>("sustained");
  });
  p = sample::derived(p);
  EXPECT_THROW(compute(overview(p), "tensor.bf16", Basis::kSustained), std::out_of_range);
  p.complete = false;
  const auto content = overview(p);
  EXPECT_EQ(compute(content, "tensor.bf16", Basis::kSustained).why, "not measured in this run");
}

TEST(Overview, HeadlinesNameTheirReference) {
  auto p = sample::h200_run();
  const auto content = overview(p);
  const auto& figures = content.devices[0].headlines;
  ASSERT_EQ(figures.size(), 5U);
  EXPECT_DOUBLE_EQ(*figures[0].value, 4583e9);
  EXPECT_EQ(figures[0].reference_name, "theoretical");
  EXPECT_EQ(figures[4].label, "BF16 sustained");
  EXPECT_EQ(figures[4].reference_name, "datasheet");
  EXPECT_DOUBLE_EQ(*figures[4].reference, 989.4e12);
}

TEST(Overview, ADeviceWithoutBf16IsJudgedByFp16) {
  auto p = sample::h200_run();
  p.devices[0].compute_major = 7;
  p.devices[0].compute_minor = 5;
  const auto content = overview(sample::derived(p));
  EXPECT_EQ(content.devices[0].headlines[3].label, "FP16 burst");
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

TEST(Overview, LaunchCostsWithTheGraphsFixedPart) {
  const auto content = overview(sample::h200_run());
  const CurveSummary& launch = curve(content, "kernel launch");
  EXPECT_NEAR(value(launch, "graph_fixed_s"), 3.5e-6, 1e-12);
  EXPECT_NEAR(value(launch, "graph_per_node_s"), 0.62e-6, 1e-12);
  EXPECT_DOUBLE_EQ(value(launch, "submit_s"), 1.9e-6);
}

TEST(Overview, SmallCopiesAndHalfRateSize) {
  const auto content = overview(sample::h200_run());
  const CurveSummary& copies = curve(content, "PCIe copies");
  EXPECT_DOUBLE_EQ(value(copies, "h2d_smallest_copy_s"), 5.2e-6);
  EXPECT_DOUBLE_EQ(value(copies, "h2d_half_rate_bytes"), 1 << 20);
  EXPECT_NEAR(value(copies, "d2h_pageable_bytes_per_s"), 14.1e9, 0.1e9);
}

TEST(Overview, RatesAndTimesOfZeroAreNoCurve) {
  auto p = sample::h200_run();
  for (Measurement& m : p.measurements) {
    if (m.id == "launch.graph") m.value = 0;
  }
  const auto content = overview(p);
  EXPECT_THROW(value(curve(content, "kernel launch"), "graph_fixed_s"), std::out_of_range);
}

TEST(Overview, SizesFarApartDoNotTellTheHalfRateSize) {
  auto p = sample::h200_run();
  std::erase_if(p.measurements, [](const Measurement& m) {
    const auto bytes = int_param(m.params, "bytes").value_or(0);
    return m.id == "pcie.h2d.pinned" && bytes > 4096 && bytes < (256 << 20);
  });
  const auto content = overview(p);
  const CurveSummary& copies = curve(content, "PCIe copies");
  EXPECT_THROW(value(copies, "h2d_half_rate_bytes"), std::out_of_range);
  EXPECT_DOUBLE_EQ(value(copies, "d2h_half_rate_bytes"), 1 << 20);
}

TEST(Overview, DivergenceAndAlignment) {
  const auto content = overview(sample::h200_run());
  EXPECT_DOUBLE_EQ(value(curve(content, "divergence"), "lanes_slowdown"), 32);
  EXPECT_DOUBLE_EQ(value(curve(content, "divergence"), "warps_slowdown"), 1);
  EXPECT_DOUBLE_EQ(value(curve(content, "alignment"), "worst_offset"), 4);
  EXPECT_DOUBLE_EQ(value(curve(content, "alignment"), "worst_offset_share"), 0.9);
  EXPECT_DOUBLE_EQ(value(curve(content, "alignment"), "worst_stride_share"), 0.125);
}

TEST(Overview, AModelsLayerAgainstTheCeilings) {
  const auto content = overview(sample::h200_run());
  const CurveSummary& layer = curve(content, "model layer");
  EXPECT_EQ(
      layer.text,
      "BF16, hidden size 8192: 16384 tokens 644 TFLOP/s at 1500 MHz, 80.0 % of burst; 1 token "
      "4.00 TFLOP/s at 1500 MHz, 0.5 % of burst");
  EXPECT_DOUBLE_EQ(value(layer, "bf16_16384_tokens_share_of_burst"), 644.0 / 805);
  EXPECT_DOUBLE_EQ(value(layer, "bf16_1_tokens_share_of_burst"), 4.0 / 805);
}

TEST(Overview, ALayerWithoutTokensIsLeftOut) {
  auto p = sample::h200_run();
  for (Measurement& m : p.measurements)
    if (m.id.starts_with("gemm.model."))
      std::erase_if(m.params, [](const auto& param) { return param.first == "tokens"; });
  for (const DeviceOverview& device : overview(p).devices)
    for (const CurveSummary& said : device.curves) EXPECT_NE(said.topic, "model layer");
}

TEST(Overview, SkinnyProductsAgainstTheRoofline) {
  auto p = sample::h200_run();
  const auto content = overview(p);
  const CurveSummary& skinny = curve(content, "skinny products");
  EXPECT_EQ(
      skinny.text,
      "BF16: half of the burst rate from M = 256 on, up to M = 64 a median 90.0 % of what the "
      "roofline says");
  EXPECT_DOUBLE_EQ(value(skinny, "bf16_half_burst_m"), 256);
  EXPECT_NEAR(value(skinny, "bf16_share_of_roofline"), 0.9, 1e-9);
  std::erase_if(p.measurements, [](const Measurement& m) {
    return m.id == "gemm.skinny.bf16" && *int_param(m.params, "m") > 64;
  });
  EXPECT_THAT(curve(overview(p), "skinny products").text,
              HasSubstr("below half of the burst rate up to M = 64"));
}

TEST(Overview, PointsOfASweepAreComparedPerClock) {
  auto p = sample::h200_run();
  const auto content = overview(p);
  const CurveSummary& sides = curve(content, "product sides");
  EXPECT_EQ(sides.text,
            "BF16 at its worst: M = 8191 98.0 %, N = 8191 45.0 %, K = 8191 60.0 % of the aligned "
            "rate per clock");
  EXPECT_NEAR(value(sides, "bf16_n_worst_share_per_clock"), 0.45, 1e-9);
  EXPECT_DOUBLE_EQ(value(sides, "bf16_n_worst_size"), 8191);

  const CurveSummary& outputs = curve(content, "vocabulary");
  EXPECT_NEAR(value(outputs, "share_per_clock"), 330.0 / 1500 / (700.0 / 1400), 1e-9);
  EXPECT_EQ(outputs.text,
            "BF16 with 50257 outputs takes 3.03 ms at 330 TFLOP/s, padded to 50304 1.43 ms at 700 "
            "TFLOP/s: 44.0 % of the rate per clock");

  for (Measurement& m : p.measurements) m.conditions.sm_clock_hz.reset();
  const auto unknown = overview(p);
  EXPECT_THROW(curve(unknown, "product sides"), std::out_of_range);
  EXPECT_THROW(curve(unknown, "waves"), std::out_of_range);
  EXPECT_THROW(value(curve(unknown, "vocabulary"), "share_per_clock"), std::out_of_range);
}

TEST(Overview, TheDeepestCliffAfterAFullWave) {
  const auto content = overview(sample::h200_run());
  const CurveSummary& waves = curve(content, "waves");
  EXPECT_EQ(waves.text,
            "from 1.00 to 1.08 waves of tiles the rate per clock of one kernel falls to 55.0 %, of "
            "the best kernel to 80.0 %");
  EXPECT_DOUBLE_EQ(value(waves, "waves_before"), 1);
  EXPECT_NEAR(value(waves, "share_per_clock"), 0.55, 1e-9);
  EXPECT_NEAR(value(waves, "best_share_per_clock"), 0.8, 1e-9);
}

TEST(Overview, WhatDataAndCachesChange) {
  const auto content = overview(sample::h200_run());
  const CurveSummary& data = curve(content, "operand data");
  EXPECT_EQ(data.text,
            "BF16 on zeros runs at 823 TFLOP/s and 610 W, on normal data at 684 TFLOP/s and 700 W");
  EXPECT_DOUBLE_EQ(value(data, "bf16_half_zeros_flops_per_s"), 720e12);
  EXPECT_DOUBLE_EQ(value(data, "bf16_zeros_power_w"), 610);
  EXPECT_EQ(curve(content, "cleared L2").text, "BF16 745 TFLOP/s, 92.5 % of burst");
}

TEST(Overview, ASoakSaysWhetherItSettled) {
  auto p = sample::h200_run();
  EXPECT_EQ(curve(overview(p), "soak").text,
            "680 TFLOP/s at 1400 MHz and 699 W in 120 s without a break; thermal equilibrium after "
            "64 s at 71 °C");
  find(p, "gemm.bf16/load:soak").launch = {{"seconds", std::int64_t{30}}};
  EXPECT_EQ(curve(overview(p), "soak").text,
            "680 TFLOP/s at 1400 MHz and 699 W in 30 s without a break; no thermal equilibrium");
  std::erase_if(p.measurements, [](const Measurement& m) { return m.id.starts_with("gemm."); });
  const auto without = overview(p);
  for (const char* topic : {"soak", "waves", "vocabulary", "operand data", "cleared L2",
                            "product sides", "skinny products", "model layer"}) {
    EXPECT_THROW(curve(without, topic), std::out_of_range) << topic;
  }
}

TEST(Overview, TheKneeOfTheSweepIsRoofOverSlope) {
  const auto content = overview(sample::h200_run());
  const CurveSummary& sweep = curve(content, "roofline sweep");
  EXPECT_NEAR(value(sweep, "fp32_bytes_per_s"), 4500e9, 1);
  EXPECT_NEAR(value(sweep, "fp32_flops_per_s"), 64.5e12, 1);
  EXPECT_NEAR(value(sweep, "fp32_knee_flop_per_byte"), 64.5e12 / 4500e9, 1e-9);
  EXPECT_NEAR(value(sweep, "fp32_share_at_knee"), 1, 1e-9);
}

TEST(Overview, AnUnsoundPointIsInNoCurve) {
  auto p = sample::h200_run();
  find(p, "divergence.lanes/paths:32").flags.implausible = true;
  EXPECT_DOUBLE_EQ(value(curve(overview(p), "divergence"), "lanes_slowdown"), 16);
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
  EXPECT_NEAR(value(curve(content, "threads", 1), "read_speedup"), 20, 1e-9);
  EXPECT_EQ(content.devices[1].compute.at(0).why, "192 threads");
}

TEST(Overview, OfAnEmptyProfileIsEmpty) { EXPECT_TRUE(overview({}).devices.empty()); }

TEST(Labels, NameDevicesByIndex) {
  auto p = sample::h200_run();
  p.devices[0].index = 3;
  EXPECT_EQ(device_label(p, sample::kUuid), "GPU 3");
  EXPECT_EQ(device_label(p, "host"), "host");
  EXPECT_EQ(resource_label("tensor.bf16"), "BF16 Tensor Cores");
  EXPECT_EQ(resource_label("pcie.h2d"), "PCIe to device");
  EXPECT_EQ(basis_label(Basis::kModelShaped), "model-shaped");
}

}  // namespace
}  // namespace peakline
