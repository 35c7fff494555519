#include "harness/conclude/curves.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using sample::find;
using ::testing::HasSubstr;

std::vector<Curve> curves_of(const Profile& p) { return derive_curves(p, sample::benchmarks()); }

const Curve& curve(const std::vector<Curve>& curves, std::string_view topic,
                   std::string_view device = sample::kUuid) {
  for (const Curve& c : curves) {
    if (c.topic == topic && c.device == device) return c;
  }
  throw std::out_of_range("no curve " + std::string(topic));
}

double value(const Curve& c, std::string_view name) {
  for (const auto& [key, v] : c.values) {
    if (key == name) return v;
  }
  throw std::out_of_range("no value " + std::string(name));
}

TEST(Curves, ThreadsOfTheHost) {
  const auto curves = curves_of(sample::h200_run());
  EXPECT_NEAR(value(curve(curves, "threads", kHostDevice), "read_speedup"), 20, 1e-9);
}

TEST(Curves, LaunchCostsWithTheGraphsFixedPart) {
  const auto curves = curves_of(sample::h200_run());
  const Curve& launch = curve(curves, "kernel launch");
  EXPECT_NEAR(value(launch, "graph_fixed_s"), 3.5e-6, 1e-12);
  EXPECT_NEAR(value(launch, "graph_per_node_s"), 0.62e-6, 1e-12);
  EXPECT_DOUBLE_EQ(value(launch, "submit_s"), 1.9e-6);
}

TEST(Curves, SmallCopiesAndHalfRateSize) {
  const auto curves = curves_of(sample::h200_run());
  const Curve& copies = curve(curves, "PCIe copies");
  EXPECT_DOUBLE_EQ(value(copies, "h2d_smallest_copy_s"), 5.2e-6);
  EXPECT_DOUBLE_EQ(value(copies, "h2d_half_rate_bytes"), 1 << 20);
  EXPECT_NEAR(value(copies, "d2h_pageable_bytes_per_s"), 14.1e9, 0.1e9);
}

TEST(Curves, AWidthWhoseClockWasHeldDownIsNamed) {
  Profile p = sample::h200_run();
  const auto said = [&] { return curve(curves_of(p), "HBM read").text; };
  EXPECT_THAT(said(), testing::StartsWith("4311 GB/s with 4 B per thread; "));
  Measurement& narrow = find(p, "hbm.read/width:4/bytes:4294967296");
  narrow.flags.throttled = true;
  narrow.conditions.sm_clock_hz = 1.98e9;  // by nothing to speak of
  EXPECT_THAT(said(), testing::StartsWith("4311 GB/s with 4 B per thread; "));
  narrow.conditions.sm_clock_hz = 1.44e9;
  EXPECT_THAT(said(),
              testing::StartsWith("4311 GB/s with 4 B per thread (throttled to 1440 MHz); "));
}

TEST(Curves, TheSlopeOfABandwidthLeavesOutWhatALaunchCosts) {
  std::vector<Measurement> all;
  const auto add = [&](double bytes, Params params) {
    Measurement m;
    m.params = std::move(params);
    m.work.bytes_read = bytes;
    m.summary = Summary{.median = 3e-6 + bytes / 4600e9};
    m.value = bytes / m.summary->median;
    all.push_back(std::move(m));
  };
  for (const std::int64_t bytes : {1 << 28, 1 << 29, 1 << 30})
    add(static_cast<double>(bytes), {{"width", 16}, {"bytes", bytes}});
  add(1e9, {{"width", 4}, {"bytes", 1'000'000'000}});
  all.back().summary->median = 1;  // another width is another line
  add(128.0 * (1 << 30), {{"width", 16}, {"footprint", "memory"}});
  CurveView view;
  for (const Measurement& m : all) view.points.push_back(&m);
  Sentence sentence;
  footprint_curve("HBM by size", "read").summarize(view, sentence);
  ASSERT_EQ(sentence.values.size(), 3u);
  EXPECT_NEAR(sentence.values[0].second, 3e-6, 1e-9);
  EXPECT_NEAR(sentence.values[1].second, 4600e9, 1e6);
  EXPECT_DOUBLE_EQ(sentence.values[2].second, *all.back().value);
  EXPECT_EQ(sentence.pieces.at(0), "read 3.00 us + bytes / 4600 GB/s, 4600 GB/s over 128 GiB");
}

TEST(Curves, RatesAndTimesOfZeroAreNoCurve) {
  auto p = sample::h200_run();
  for (Measurement& m : p.measurements) {
    if (m.id == "launch.graph") m.value = 0;
  }
  const auto curves = curves_of(p);
  EXPECT_THROW(value(curve(curves, "kernel launch"), "graph_fixed_s"), std::out_of_range);
}

TEST(Curves, SizesFarApartDoNotTellTheHalfRateSize) {
  auto p = sample::h200_run();
  std::erase_if(p.measurements, [](const Measurement& m) {
    const auto bytes = int_param(m.params, "bytes").value_or(0);
    return m.id == "pcie.h2d.pinned" && bytes > 4096 && bytes < (256 << 20);
  });
  const auto curves = curves_of(p);
  const Curve& copies = curve(curves, "PCIe copies");
  EXPECT_THROW(value(copies, "h2d_half_rate_bytes"), std::out_of_range);
  EXPECT_DOUBLE_EQ(value(copies, "d2h_half_rate_bytes"), 1 << 20);
}

TEST(Curves, DivergenceAndAlignment) {
  const auto curves = curves_of(sample::h200_run());
  EXPECT_DOUBLE_EQ(value(curve(curves, "divergence"), "lanes_slowdown"), 32);
  EXPECT_DOUBLE_EQ(value(curve(curves, "divergence"), "warps_slowdown"), 1);
  EXPECT_DOUBLE_EQ(value(curve(curves, "alignment"), "worst_offset"), 4);
  EXPECT_DOUBLE_EQ(value(curve(curves, "alignment"), "worst_offset_share"), 0.9);
  EXPECT_DOUBLE_EQ(value(curve(curves, "alignment"), "worst_stride_share"), 0.125);
}

// Reads of 4-byte elements at strides from `first` on: from `apart` elements each has its own
// fetch.
void add_strides(Profile& p, const char* id, Params params, std::int64_t first, double apart) {
  params.emplace_back("width", std::int64_t{4});
  for (std::int64_t stride = first; stride <= 64; stride *= 2) {
    Params at = params;
    at.emplace_back("stride", stride);
    p.measurements.push_back(sample::measurement(
        id, at, Quantity::kByteRate, 4e12 / std::min(static_cast<double>(stride), apart)));
  }
}

Profile without_strides() {
  auto p = sample::h200_run();
  std::erase_if(p.measurements, [](const Measurement& m) { return m.id == "alignment.stride"; });
  return p;
}

TEST(Curves, WhatIsFetchedAtATimeIsWhereDoublingTheStrideNoLongerHalvesTheRate) {
  auto p = without_strides();
  add_strides(p, "alignment.stride", {}, 1, 16);
  add_strides(p, "alignment.granularity", {{"limit", 32}}, 4, 8);
  add_strides(p, "alignment.granularity", {{"limit", 128}}, 4, 32);
  const auto curves = curves_of(p);
  const Curve& said = curve(curves, "alignment");
  EXPECT_THAT(said.text, HasSubstr("; fetched 64 B at a time; fetched 32 B at a time with a limit "
                                   "of 32 B, 128 B at a time with a limit of 128 B"));
  EXPECT_DOUBLE_EQ(value(said, "fetch_bytes"), 64);
  EXPECT_DOUBLE_EQ(value(said, "fetch_bytes_limit_32"), 32);
  EXPECT_DOUBLE_EQ(value(said, "fetch_bytes_limit_128"), 128);
}

TEST(Curves, WhereEveryStrideHalvesTheRateOrNoneDoesNoFetchIsNamed) {
  for (const double apart : {1.0, 1e9}) {
    auto p = without_strides();
    add_strides(p, "alignment.stride", {}, 1, apart);
    EXPECT_THROW(value(curve(curves_of(p), "alignment"), "fetch_bytes"), std::out_of_range);
  }
}

// Asks cache_curve about reads through the L1 and past it, of the footprints of each of 100 SMs.
Sentence said_of_caches(const std::function<double(double)>& through_l1,
                        const std::function<double(double)>& past_l1) {
  DeviceFacts device = sample::h200();
  device.sm_count = 100;
  std::vector<Measurement> all;
  const auto add = [&](const char* through, double to, const auto& rate_of) {
    for (double kib = 8; kib <= to; kib *= std::exp2(0.25))
      all.push_back(sample::measurement(
          "cache.sweep",
          {{"through", std::string(through)}, {"sm_bytes", std::llround(kib * 1024)}},
          Quantity::kByteRate, rate_of(kib)));
  };
  add("l1", 512.1, through_l1);
  add("l2", 8192.1, past_l1);
  CurveView view;
  view.device = &device;
  for (const Measurement& m : all) view.points.push_back(&m);
  Sentence sentence;
  cache_curve("caches").summarize(view, sentence);
  return sentence;
}

double l1_of_224_kib(double kib) { return kib <= 224 ? 32e12 : 9e12; }

TEST(Curves, ACacheHoldsWhatIsReadAtItsRate) {
  const Sentence said = said_of_caches(l1_of_224_kib, [](double kib) {
    // Lines are replaced at random: beyond 600 KiB of each of the 100 SMs, in part still hit.
    const double hit = std::min(1.0, std::pow(600 / kib, 2));
    return 1 / (hit / 9.5e12 + (1 - hit) / 4.5e12);
  });
  EXPECT_THAT(said.pieces, testing::ElementsAre("L1 32000 GB/s up to 215 KiB per SM",
                                                "L2 9500 GB/s up to 59.5 MiB (60 MiB stated)",
                                                "memory 4526 GB/s"));
  ASSERT_EQ(said.values.size(), 5u);
  EXPECT_NEAR(said.values[1].second, 224 * kKiB, 224 * kKiB * 0.19);
  EXPECT_NEAR(said.values[3].second, 60 * kMiB, 60 * kMiB * 0.19);
}

// Small parts of each SM cost a few percent.
TEST(Curves, ACachesRateIsThatOfAllFootprintsThatItHolds) {
  const Sentence said = said_of_caches(l1_of_224_kib, [](double kib) {
    return kib <= 12 ? 8.7e12 : kib <= 420 ? 9e12 : 4.6e12;
  });
  EXPECT_EQ(said.pieces.at(1), "L2 9000 GB/s up to 35.4 MiB (60 MiB stated)");
}

TEST(Curves, AnL2OfTwoPartsIsSaidToBe) {
  const Sentence said = said_of_caches(l1_of_224_kib, [](double kib) {
    return kib <= 200 ? 9e12 : kib <= 480 ? 7e12 : 4.5e12;
  });
  EXPECT_EQ(said.pieces.at(1),
            "L2 9000 GB/s up to 17.7 MiB, its near part, slower up to 42 MiB (60 MiB stated)");
  EXPECT_EQ(said.values.at(3).first, "l2_held_bytes");
  EXPECT_NEAR(said.values.at(4).second, 200 * 100 * kKiB, 200 * 100 * kKiB * 0.19);
}

TEST(Curves, ACacheWhoseEndIsNotSeenIsNotNamed) {
  const auto level = [](double) { return 4.5e12; };
  EXPECT_THAT(said_of_caches(level, level).pieces, testing::IsEmpty());
  const auto one_point = [](double kib) { return kib < 9 ? 1e12 : 5e12; };  // no plateau at all
  EXPECT_THAT(said_of_caches(one_point, one_point).pieces, testing::IsEmpty());
}

TEST(Curves, AModelsLayerAgainstTheCeilings) {
  const auto curves = curves_of(sample::h200_run());
  const Curve& layer = curve(curves, "model layer");
  EXPECT_EQ(
      layer.text,
      "BF16, hidden size 8192, 16384 tokens: 644 TFLOP/s at 1500 MHz, 80.0 % of burst; 1 token: "
      "4.00 TFLOP/s at 1500 MHz, 0.5 % of burst");
  EXPECT_DOUBLE_EQ(value(layer, "bf16_16384_tokens_share_of_burst"), 644.0 / 805);
  EXPECT_DOUBLE_EQ(value(layer, "bf16_1_tokens_share_of_burst"), 4.0 / 805);
}

TEST(Curves, ALayerWithoutTokensIsLeftOut) {
  auto p = sample::h200_run();
  for (Measurement& m : p.measurements)
    if (m.id.starts_with("gemm.model."))
      std::erase_if(m.params, [](const auto& param) { return param.first == "tokens"; });
  for (const Curve& said : curves_of(p)) EXPECT_NE(said.topic, "model layer");
}

TEST(Curves, SkinnyProductsAgainstTheRoofline) {
  auto p = sample::h200_run();
  const auto curves = curves_of(p);
  const Curve& skinny = curve(curves, "skinny products");
  EXPECT_EQ(
      skinny.text,
      "BF16: half of the burst rate from M = 256 on, up to M = 64 a median 90.0 % of what the "
      "roofline says");
  EXPECT_DOUBLE_EQ(value(skinny, "bf16_half_burst_m"), 256);
  EXPECT_NEAR(value(skinny, "bf16_share_of_roofline"), 0.9, 1e-9);
  std::erase_if(p.measurements, [](const Measurement& m) {
    return m.id == "gemm.skinny.bf16" && *int_param(m.params, "m") > 64;
  });
  EXPECT_THAT(curve(curves_of(p), "skinny products").text,
              HasSubstr("below half of the burst rate up to M = 64"));
}

TEST(Curves, PointsOfASweepAreComparedPerClock) {
  auto p = sample::h200_run();
  const auto curves = curves_of(p);
  const Curve& sides = curve(curves, "product sides");
  EXPECT_EQ(sides.text,
            "BF16 at its worst, of the aligned rate per clock: 98.0 % at M = 8191, 45.0 % at "
            "N = 8191, 60.0 % at K = 8191");
  EXPECT_NEAR(value(sides, "bf16_n_worst_share_per_clock"), 0.45, 1e-9);
  EXPECT_DOUBLE_EQ(value(sides, "bf16_n_worst_size"), 8191);

  const Curve& outputs = curve(curves, "vocabulary");
  EXPECT_NEAR(value(outputs, "share_per_clock"), 330.0 / 1500 / (700.0 / 1400), 1e-9);
  EXPECT_EQ(
      outputs.text,
      "BF16 with 50257 outputs takes 3.03 ms at 330 TFLOP/s, padded to 50304 it takes 1.43 ms "
      "at 700 TFLOP/s: 44.0 % of the rate per clock");

  for (Measurement& m : p.measurements) m.conditions.sm_clock_hz.reset();
  const auto unknown = curves_of(p);
  EXPECT_THROW(curve(unknown, "product sides"), std::out_of_range);
  EXPECT_THROW(curve(unknown, "waves"), std::out_of_range);
  EXPECT_THROW(value(curve(unknown, "vocabulary"), "share_per_clock"), std::out_of_range);
}

TEST(Curves, TheDeepestCliffAfterAFullWave) {
  const auto curves = curves_of(sample::h200_run());
  const Curve& waves = curve(curves, "waves");
  EXPECT_EQ(waves.text,
            "from 1.00 to 1.08 waves of work the rate per clock of one kernel falls to 55.0 %, "
            "where idle SMs alone would make it 54.2 %; the best kernel reaches 80.0 %");
  EXPECT_DOUBLE_EQ(value(waves, "waves_before"), 1);
  EXPECT_NEAR(value(waves, "share_per_clock"), 0.55, 1e-9);
  EXPECT_NEAR(value(waves, "best_share_per_clock"), 0.8, 1e-9);
  // The sawtooth beside the ideal one.
  EXPECT_NEAR(value(waves, "ideal_share_m_768"), 0.5, 1e-9);
  EXPECT_NEAR(value(waves, "ideal_share_m_1536"), 1, 1e-9);
  EXPECT_NEAR(value(waves, "ideal_share_m_1664"), 143.0 / 264, 1e-9);
  EXPECT_NEAR(value(waves, "share_m_1664"), 0.55, 1e-9);
}

// 11 tiles of clusters of two keep 12 rows of SMs, as 12 do: less work in the same wave.
TEST(Curves, TilesThatFillUpClustersCountAsWaves) {
  auto p = sample::h200_run();
  for (Measurement& m : p.measurements) {
    if (m.id != "gemm.waves.bf16" || int_param(m.params, "m") != 768) continue;
    m.params[0].second = std::int64_t{1408};
    m.launch.back().second = std::int64_t{132};
  }
  const auto curves = curves_of(p);
  const Curve& waves = curve(curves, "waves");
  EXPECT_NEAR(value(waves, "ideal_share_m_1408"), 11.0 / 12, 1e-9);
  EXPECT_DOUBLE_EQ(value(waves, "waves_before"), 1);
}

TEST(Curves, WhatDataAndCachesChange) {
  const auto curves = curves_of(sample::h200_run());
  const Curve& data = curve(curves, "operand data");
  EXPECT_EQ(data.text,
            "BF16 on zeros runs at 823 TFLOP/s and 610 W, on normal data at 684 TFLOP/s and 700 W");
  EXPECT_DOUBLE_EQ(value(data, "bf16_half_zeros_flops_per_s"), 720e12);
  EXPECT_DOUBLE_EQ(value(data, "bf16_zeros_power_w"), 610);
  EXPECT_EQ(curve(curves, "cleared L2").text,
            "BF16 745 TFLOP/s, 102.9 % of the burst rate per clock");
}

TEST(Curves, LayoutsAreNamedWhereTheyAreSlower) {
  auto p = sample::h200_run();
  std::erase_if(p.measurements,
                [](const Measurement& m) { return find_param(m.params, "layout") != nullptr; });
  const auto add = [&](const char* id, const char* layout, double value, double clock_hz) {
    Measurement m =
        sample::measurement(id, {{"layout", std::string(layout)}}, Quantity::kFlopRate, value);
    m.conditions.sm_clock_hz = clock_hz;
    p.measurements.push_back(std::move(m));
  };
  add("gemm.bf16", "NN", 690e12, 1.5e9);
  add("gemm.bf16", "TN", 700e12, 1.5e9);
  EXPECT_THROW(curve(curves_of(p), "layouts"), std::out_of_range);
  add("gemm.int8", "NN", 120e12, 1.8e9);
  add("gemm.int8", "NT", 150e12, 1.8e9);
  add("gemm.int8", "TN", 1600e12, 1.6e9);
  add("gemm.int8", "TT", 1700e12, 0);
  p.measurements.back().conditions.sm_clock_hz.reset();
  const auto curves = curves_of(p);
  EXPECT_EQ(curve(curves, "layouts").text,
            "INT8 in NN 6.7 %, NT 8.3 % of the rate per clock in TN");
  EXPECT_NEAR(value(curve(curves, "layouts"), "int8_NN_share_per_clock"), 120.0 / 1600 * 1.6 / 1.8,
              1e-9);
}

TEST(Curves, ASoakSaysWhetherItSettled) {
  auto p = sample::h200_run();
  EXPECT_EQ(curve(curves_of(p), "soak").text,
            "680 TFLOP/s at 1400 MHz and 699 W in 120 s without a break; thermal equilibrium after "
            "64 s at 71 °C");
  find(p, "gemm.bf16/load:soak").launch = {{"seconds", std::int64_t{30}}};
  EXPECT_EQ(curve(curves_of(p), "soak").text,
            "680 TFLOP/s at 1400 MHz and 699 W in 30 s without a break; no thermal equilibrium");
  std::erase_if(p.measurements, [](const Measurement& m) { return m.id.starts_with("gemm."); });
  const auto without = curves_of(p);
  for (const char* topic : {"soak", "waves", "vocabulary", "operand data", "cleared L2",
                            "product sides", "skinny products", "model layer"}) {
    EXPECT_THROW(curve(without, topic), std::out_of_range) << topic;
  }
}

TEST(Curves, TheKneeOfTheSweepIsRoofOverSlope) {
  const auto curves = curves_of(sample::h200_run());
  const Curve& sweep = curve(curves, "roofline sweep");
  EXPECT_NEAR(value(sweep, "fp32_bytes_per_s"), 4500e9, 1);
  EXPECT_NEAR(value(sweep, "fp32_flops_per_s"), 64.5e12, 1);
  EXPECT_NEAR(value(sweep, "fp32_knee_flop_per_byte"), 64.5e12 / 4500e9, 1e-9);
  EXPECT_NEAR(value(sweep, "fp32_share_at_knee"), 1, 1e-9);
}

TEST(Curves, AnUnsoundPointIsInNoCurve) {
  auto p = sample::h200_run();
  find(p, "divergence.lanes/paths:32").flags.implausible = true;
  EXPECT_DOUBLE_EQ(value(curve(curves_of(p), "divergence"), "lanes_slowdown"), 16);
}

}  // namespace
}  // namespace peakline
