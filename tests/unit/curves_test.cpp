#include "harness/conclude/curves.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/unit/figures.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using sample::at;
using sample::each;
using sample::find;
using sample::run_with;

std::vector<Curve> curves_of(const Profile& p) { return derive_curves(p, sample::benchmarks()); }

const Curve& curve(const std::vector<Curve>& curves, std::string_view topic,
                   std::string_view device = sample::kUuid) {
  for (const Curve& c : curves)
    if (c.topic == topic && c.device == device) return c;
  throw std::out_of_range("no curve " + std::string(topic));
}

TEST(Curves, OfTheSampleHaveTheirFigures) {
  const auto curves = curves_of(sample::h200_run());
  const auto value = [&](const char* topic, const char* id, const char* name) {
    const auto* device = std::string_view(topic) == "threads" ? kHostDevice.data() : sample::kUuid;
    return figure_of(curve(curves, topic, device), {.id = id, .name = name});
  };
  EXPECT_NEAR(value("threads", "host.memory.read", "speedup"), 20, 1e-9);
  EXPECT_NEAR(value("kernel launch", "launch.graph", "fixed"), 3.5e-6, 1e-12);
  EXPECT_NEAR(value("kernel launch", "launch.graph", "per_item"), 0.62e-6, 1e-12);
  EXPECT_DOUBLE_EQ(value("kernel launch", "launch.submit", "time"), 1.9e-6);
  EXPECT_DOUBLE_EQ(value("PCIe copies", "pcie.h2d.pinned", "smallest_copy"), 5.2e-6);
  EXPECT_DOUBLE_EQ(value("PCIe copies", "pcie.h2d.pinned", "half_rate"), 1 << 20);
  EXPECT_NEAR(value("PCIe copies", "pcie.d2h.pageable", "largest_size_rate"), 14.1e9, 0.1e9);
  // The knee of the sweep is roof over slope.
  EXPECT_NEAR(value("roofline sweep", "roofline.sweep.fp32", "bandwidth"), 4500e9, 1);
  EXPECT_NEAR(value("roofline sweep", "roofline.sweep.fp32", "roof"), 64.5e12, 1);
  EXPECT_NEAR(value("roofline sweep", "roofline.sweep.fp32", "knee"), 64.5e12 / 4500e9, 1e-9);
  EXPECT_NEAR(value("roofline sweep", "roofline.sweep.fp32", "share_at_knee"), 1, 1e-9);
}

TEST(Curves, AWidthWhoseClockWasHeldDownIsNamed) {
  Profile p = sample::h200_run();
  const auto throttled = [&] {
    const std::vector<Curve> curves = curves_of(p);
    const Figure* clock = find_figure(curve(curves, "device memory by width").figures,
                                      {.name = "throttled_to", .by = {{"width", 4}}});
    return clock == nullptr ? 0 : clock->value;
  };
  EXPECT_EQ(throttled(), 0);
  Measurement& narrow = find(p, "hbm.read/width:4/bytes:4294967296");
  narrow.flags.throttled = true;
  narrow.conditions.sm_clock_hz = 1.98e9;  // no loss of clock
  EXPECT_EQ(throttled(), 0);
  narrow.conditions.sm_clock_hz = 1.44e9;
  EXPECT_EQ(throttled(), 1.44e9);
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
  const std::vector<Figure> said = said_by(sample::rule_of("hbm.read", 1), all);
  EXPECT_EQ(said.size(), 4u);
  EXPECT_NEAR(figure_of(said, {.name = "fixed"}), 3e-6, 1e-9);
  EXPECT_NEAR(figure_of(said, {.name = "slope"}), 4600e9, 1e6);
  EXPECT_DOUBLE_EQ(figure_of(said, {.name = "whole_memory"}), *all.back().value);
  EXPECT_DOUBLE_EQ(figure_of(said, {.name = "whole_size"}), 128 * kGiB);
}

TEST(Curves, HaveNoFigureOfUnsoundPoints) {
  // Times of zero.
  EXPECT_THROW(figure_of(curve(run_with(each("launch.graph", [](auto& m) { m.value = 0; })).curves,
                               "kernel launch"),
                         {.name = "fixed"}),
               std::out_of_range);
  const auto curves =
      run_with(at("divergence.lanes/paths:32", [](auto& m) { m.flags.implausible = true; })).curves;
  EXPECT_THROW(
      figure_of(curve(curves, "divergence"), {.id = "divergence.lanes", .by = {{"paths", 32}}}),
      std::out_of_range);
}

TEST(Curves, SizesFarApartDoNotTellTheHalfRateSize) {
  const auto curves = run_with([](Profile& p) {
                        std::erase_if(p.measurements, [](const Measurement& m) {
                          const auto bytes = int_param(m.params, "bytes").value_or(0);
                          return m.id == "pcie.h2d.pinned" && bytes > 4096 && bytes < (256 << 20);
                        });
                      }).curves;
  const Curve& copies = curve(curves, "PCIe copies");
  EXPECT_THROW(figure_of(copies, {.id = "pcie.h2d.pinned", .name = "half_rate"}),
               std::out_of_range);
  EXPECT_DOUBLE_EQ(figure_of(copies, {.id = "pcie.d2h.pinned", .name = "half_rate"}), 1 << 20);
}

TEST(Curves, DivergenceAndAlignment) {
  const auto curves = curves_of(sample::h200_run());
  const auto slowdown = [&](const char* id, std::int64_t paths) {
    return figure_of(curve(curves, "divergence"),
                     {.id = id, .name = "slowdown", .by = {{"paths", paths}}});
  };
  EXPECT_DOUBLE_EQ(slowdown("divergence.lanes", 32), 32);
  EXPECT_DOUBLE_EQ(slowdown("divergence.lanes", 4), 4);
  EXPECT_DOUBLE_EQ(slowdown("divergence.warps", 32), 1);
  const Curve& alignment = curve(curves, "alignment");
  EXPECT_DOUBLE_EQ(figure_of(alignment, {.id = "alignment.offset", .name = "worst_at"}), 4);
  EXPECT_DOUBLE_EQ(figure_of(alignment, {.id = "alignment.offset", .name = "worst_share"}), 0.9);
  EXPECT_DOUBLE_EQ(figure_of(alignment, {.id = "alignment.stride", .name = "worst_share"}), 0.125);
  EXPECT_DOUBLE_EQ(figure_of(alignment, {.id = "alignment.stride", .name = "furthest"}), 64);
  EXPECT_DOUBLE_EQ(figure_of(alignment, {.name = "share", .by = {{"width", 4}, {"offset", 32}}}),
                   1);
  EXPECT_DOUBLE_EQ(figure_of(alignment, {.name = "share", .by = {{"width", 4}, {"stride", 2}}}),
                   0.5);
}

// Reads of 4-byte elements at strides from `first`; from `apart` on, each has its own fetch.
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

TEST(Curves, FetchSizeIsWhereStridesStopHalvingTheRate) {
  auto p = without_strides();
  add_strides(p, "alignment.stride", {}, 1, 16);
  add_strides(p, "alignment.granularity", {{"limit", 32}}, 4, 8);
  add_strides(p, "alignment.granularity", {{"limit", 128}}, 4, 32);
  const auto curves = curves_of(p);
  const Curve& said = curve(curves, "alignment");
  EXPECT_DOUBLE_EQ(figure_of(said, {.role = role::kLine, .by = {{"level", "hbm"}}}), 64);
  for (const int limit : {32, 128})
    EXPECT_DOUBLE_EQ(figure_of(said, {.name = "fetched", .by = {{"limit", limit}}}), limit);
}

TEST(Curves, WithoutABendNoFetchSizeIsNamed) {
  for (const double apart : {1.0, 1e9}) {
    auto p = without_strides();
    add_strides(p, "alignment.stride", {}, 1, apart);
    EXPECT_THROW(figure_of(curve(curves_of(p), "alignment"), {.name = "fetched"}),
                 std::out_of_range);
  }
}

// Asks the rule of cache.sweep about reads through the L1 and past it, of the footprints of each of
// 100 SMs.
std::vector<Figure> said_of_caches(const std::function<double(double)>& through_l1,
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
  return said_by(sample::rule_of("cache.sweep"), all, &device);
}

double l1_of_224_kib(double kib) { return kib <= 224 ? 32e12 : 9e12; }

TEST(Curves, ACacheHoldsWhatIsReadAtItsRate) {
  const std::vector<Figure> said = said_of_caches(l1_of_224_kib, [](double kib) {
    // Random replacement: beyond 600 KiB per SM, part still hits.
    const double hit = std::min(1.0, std::pow(600 / kib, 2));
    return 1 / (hit / 9.5e12 + (1 - hit) / 4.5e12);
  });
  const auto held = [&](const char* level) {
    return figure_of(said, {.role = role::kHeldByRate, .by = {{"level", level}}});
  };
  EXPECT_NEAR(held("l1"), 224 * kKiB, 224 * kKiB * 0.19);
  EXPECT_NEAR(held("l2"), 60 * kMiB, 60 * kMiB * 0.19);
  EXPECT_DOUBLE_EQ(figure_of(said, {.name = "rate", .by = {{"level", "l2"}}}), 9.5e12);
  EXPECT_THROW(figure_of(said, {.role = role::kFullRate}), std::out_of_range);  // of one part
}

TEST(Curves, AnL2OfTwoPartsIsSaidToBe) {
  const std::vector<Figure> said = said_of_caches(l1_of_224_kib, [](double kib) {
    return kib <= 200 ? 9e12 : kib <= 480 ? 7e12 : 4.5e12;
  });
  const auto of_l2 = [&](const char* role) {
    return figure_of(said, {.role = role, .by = {{"level", "l2"}}});
  };
  EXPECT_NEAR(of_l2(role::kHeldByRate), 480 * 100 * kKiB, 480 * 100 * kKiB * 0.19);
  EXPECT_NEAR(of_l2(role::kFullRate), 200 * 100 * kKiB, 200 * 100 * kKiB * 0.19);
  // Small parts of each SM cost a few percent.
  const auto of_one_part = [](double kib) {
    return kib <= 12 ? 8.7e12 : kib <= 420 ? 9e12 : 4.6e12;
  };
  EXPECT_EQ(find_figure(said_of_caches(l1_of_224_kib, of_one_part), {.role = role::kFullRate}),
            nullptr);
}

TEST(Curves, ACacheWhoseEndIsNotSeenIsNotNamed) {
  const auto level = [](double) { return 4.5e12; };
  const FigureQuery held{.name = "held"};
  EXPECT_EQ(find_figure(said_of_caches(level, level), held), nullptr);
  const auto one_point = [](double kib) { return kib < 9 ? 1e12 : 5e12; };  // no plateau
  EXPECT_EQ(find_figure(said_of_caches(one_point, one_point), held), nullptr);
}

TEST(Curves, AModelsLayerAgainstTheCeilings) {
  const auto curves = curves_of(sample::h200_run());
  const Curve& layer = curve(curves, "model layer");
  const auto share = [&](std::int64_t tokens) {
    return figure_of(layer,
                     {.name = "share_of_burst", .by = {{"format", "bf16"}, {"tokens", tokens}}});
  };
  EXPECT_DOUBLE_EQ(figure_of(layer, {.name = "clock", .by = {{"tokens", 1}}}), 1.5e9);
  EXPECT_DOUBLE_EQ(figure_of(layer, {.name = "rate", .by = {{"tokens", 1}}}), 4e12);
  EXPECT_DOUBLE_EQ(share(16384), 644.0 / 805);
  EXPECT_DOUBLE_EQ(share(1), 4.0 / 805);
  EXPECT_NEAR(figure_of(layer, {.name = "share_per_clock",
                                .by = {{"part", "layer"}, {"hidden", 8192}, {"tokens", 16384}}}),
              (644.0 / 1500) / (805.0 / 1890), 1e-9);
}

TEST(Curves, ALayerWithoutTokensIsLeftOut) {
  const Profile p = run_with(sample::everywhere([](Measurement& m) {
    if (m.id.starts_with("gemm.model."))
      std::erase_if(m.params, [](const auto& param) { return param.first == "tokens"; });
  }));
  for (const Curve& said : p.curves)
    EXPECT_TRUE(said.topic != "model layer" || (said.figures.empty() && said.title.empty()));
}

TEST(Curves, SkinnyProductsAgainstTheRoofline) {
  auto p = sample::h200_run();
  const auto curves = curves_of(p);
  const Curve& skinny = curve(curves, "skinny products");
  EXPECT_DOUBLE_EQ(figure_of(skinny, {.name = "half_burst_m", .by = {{"format", "bf16"}}}), 256);
  EXPECT_NEAR(figure_of(skinny, {.id = "gemm.skinny.bf16", .name = "share_of_roofline"}), 0.9,
              1e-9);
  EXPECT_NEAR(figure_of(skinny, {.name = "roofline", .by = {{"m", 4096}}}), 805e12, 1);
  std::erase_if(p.measurements, [](const Measurement& m) {
    return m.id == "gemm.skinny.bf16" && *int_param(m.params, "m") > 64;
  });
  EXPECT_EQ(curve(curves_of(p), "skinny products").title,
            "Up to 64 rows GEMMs stay below half of their burst rate");
}

TEST(Curves, PointsOfASweepAreComparedPerClock) {
  auto p = sample::h200_run();
  const auto curves = curves_of(p);
  const Curve& sides = curve(curves, "product sides");
  const Params by = {{"format", "bf16"}, {"dimension", "N"}};
  EXPECT_NEAR(figure_of(sides, {.name = "worst_share_per_clock", .by = by}), 0.45, 1e-9);
  EXPECT_DOUBLE_EQ(figure_of(sides, {.name = "worst_size", .by = by}), 8191);

  const Curve& outputs = curve(curves, "vocabulary");
  EXPECT_NEAR(figure_of(outputs, {.name = "share_per_clock"}), 330.0 / 1500 / (700.0 / 1400), 1e-9);
  EXPECT_DOUBLE_EQ(figure_of(outputs, {.name = "rate", .by = {{"n", 50257}}}), 330e12);

  for (Measurement& m : p.measurements) m.conditions.sm_clock_hz.reset();
  const auto unknown = curves_of(p);
  EXPECT_THROW(curve(unknown, "product sides"), std::out_of_range);
  EXPECT_THROW(curve(unknown, "waves"), std::out_of_range);
  EXPECT_THROW(figure_of(curve(unknown, "vocabulary"), {.name = "share_per_clock"}),
               std::out_of_range);
}

TEST(Curves, TheDeepestCliffAfterAFullWave) {
  const auto curves = curves_of(sample::h200_run());
  const Curve& waves = curve(curves, "waves");
  const auto value = [&](const char* name, Params by = {}) {
    return figure_of(waves, {.name = name, .by = std::move(by)});
  };
  EXPECT_DOUBLE_EQ(value("waves_before"), 1);
  EXPECT_NEAR(value("share_past_edge"), 0.55, 1e-9);
  EXPECT_NEAR(value("best_share_past_edge"), 0.8, 1e-9);
  // Measured and ideal wave quantization.
  EXPECT_NEAR(value("ideal_share", {{"m", 768}}), 0.5, 1e-9);
  EXPECT_NEAR(value("ideal_share", {{"m", 1536}}), 1, 1e-9);
  EXPECT_NEAR(value("ideal_share", {{"m", 1664}}), 143.0 / 264, 1e-9);
  EXPECT_NEAR(value("share", {{"m", 1664}}), 0.55, 1e-9);
}

// 11 tiles of clusters of two occupy 12 rows of SMs, as 12 do: less work in the same wave.
TEST(Curves, TilesThatFillUpClustersCountAsWaves) {
  const auto curves = run_with(each("gemm.waves.bf16", [](Measurement& m) {
                        if (int_param(m.params, "m") != 768) return;
                        m.params[0].second = std::int64_t{1408};
                        m.launch.back().second = std::int64_t{132};
                      })).curves;
  const Curve& waves = curve(curves, "waves");
  EXPECT_NEAR(figure_of(waves, {.name = "ideal_share", .by = {{"m", 1408}}}), 11.0 / 12, 1e-9);
  EXPECT_DOUBLE_EQ(figure_of(waves, {.name = "waves_before"}), 1);
}

TEST(Curves, WhatDataAndCachesChange) {
  const auto curves = curves_of(sample::h200_run());
  const Curve& data = curve(curves, "operand data");
  const auto of = [&](const char* name, const char* kind) {
    return figure_of(data, {.name = name, .by = {{"format", "bf16"}, {"data", kind}}});
  };
  EXPECT_DOUBLE_EQ(of("rate", "half_zeros"), 720e12);
  EXPECT_DOUBLE_EQ(of("power", "zeros"), 610);
  const Curve& variants = curve(curves, "product variants");
  EXPECT_DOUBLE_EQ(figure_of(variants, {.name = "cold_rate", .by = {{"format", "bf16"}}}), 745e12);
}

TEST(Curves, LayoutsAreComparedWithTheBurst) {
  auto p = sample::h200_run();
  std::erase_if(p.measurements, [](const Measurement& m) {
    return m.id.starts_with("gemm.") && !text_param(m.params, "load");
  });
  const auto add = [&](const char* id, const char* layout, double value, double clock_hz) {
    Measurement m =
        sample::measurement(id, {{"layout", std::string(layout)}}, Quantity::kFlopRate, value);
    m.conditions.sm_clock_hz = clock_hz;
    p.measurements.push_back(std::move(m));
  };
  add("gemm.bf16", "NN", 690e12, 1.5e9);
  add("gemm.bf16", "TN", 700e12, 1.5e9);
  add("gemm.int8", "NN", 120e12, 1.8e9);
  add("gemm.int8", "NT", 150e12, 1.8e9);
  add("gemm.int8", "TN", 1600e12, 1.6e9);
  add("gemm.int8", "TT", 1700e12, 0);
  p.measurements.back().conditions.sm_clock_hz.reset();
  p.measurements.push_back(sample::compute("gemm.int8", "burst", 1650e12, 1.65e9));
  const auto curves = curves_of(p);
  const Curve& variants = curve(curves, "product variants");
  const auto share_of_burst = [&](const char* layout) {
    return figure_of(variants,
                     {.name = "share_of_burst", .by = {{"format", "int8"}, {"variant", layout}}});
  };
  EXPECT_NEAR(share_of_burst("NN"), 120.0 / 1.8 / (1650 / 1.65), 1e-9);
  EXPECT_NEAR(share_of_burst("TN"), 1, 1e-9);
  EXPECT_THROW(share_of_burst("TT"), std::out_of_range);  // its clock was not read
}

TEST(Curves, ASoakSaysWhetherItSettled) {
  auto p = sample::h200_run();
  EXPECT_EQ(figure_values(curve(curves_of(p), "soak").figures),
            (FigureValues{{"rate", 680e12},
                          {"clock", 1.4e9},
                          {"power", 699},
                          {"duration", 120},
                          {"equilibrium_after", 64},
                          {"equilibrium_temperature", 71}}));
  find(p, "gemm.bf16/load:soak").launch = {{"seconds", std::int64_t{30}}};
  EXPECT_EQ(curve(curves_of(p), "soak").title,
            "680 TFLOP/s over 30 s of load; the temperature does not settle");
  std::erase_if(p.measurements, [](const Measurement& m) { return m.id.starts_with("gemm."); });
  const auto without = curves_of(p);
  for (const char* topic : {"soak", "waves", "vocabulary", "operand data", "product variants",
                            "product sides", "skinny products", "model layer"}) {
    EXPECT_THROW(curve(without, topic), std::out_of_range) << topic;
  }
}

TEST(Curves, SayWhetherALoadSettled) {
  auto p = sample::h200_run();
  const auto load_for = [&](double seconds, double first_s, double swing) {
    Measurement& m = find(p, "gemm.bf16/load:sustained");
    m.series = {};
    for (double end_s = 0.1; end_s < seconds; end_s += 0.1) {
      const bool high = std::lround(end_s * 10) % 2 == 0;
      m.series.time_s.push_back(end_s);
      m.series.rate.push_back(end_s < first_s ? 8e14 : 7e14 * (high ? 1 + swing : 1));
    }
    m.series.sm_clock_hz = m.series.power_w = m.series.temperature_c = m.series.rate;
    return curve(curves_of(p), "sustained load");
  };
  const Curve found = load_for(4, 0.35, 0.05);
  const FigureQuery swing{.id = "gemm.bf16", .name = "swing"};
  EXPECT_NEAR(figure_of(found, swing), 0.05, 0.005);
  const FigureQuery after{.id = "gemm.bf16", .name = "settled_after", .by = {{"of", "BF16"}}};
  EXPECT_NEAR(figure_of(found, after), 0.4, 1e-9);
  EXPECT_NEAR(figure_of(load_for(4, 0, 0), swing), 0, 1e-9);
  find(p, "gemm.bf16/load:sustained").flags.unstable = true;
  const Curve unsettled = load_for(22, 3, 0.08);
  EXPECT_NEAR(figure_of(unsettled, {.id = "gemm.bf16", .name = "not_settled_after"}), 22, 0.2);
  EXPECT_EQ(find_figure(unsettled.figures, after), nullptr);
}

// Titles state a topic's main message.
TEST(Curves, HaveTitles) {
  auto p = sample::h200_run();
  const auto curves = curves_of(p);
  for (const auto& [topic, title] : std::vector<std::pair<const char*, const char*>>{
           {"kernel launch", "A launch takes 1.90 us to submit, another node of a graph 620 ns"},
           {"divergence", "Divergent paths: 32.0 x the time within a warp, 1.00 x between warps"},
           {"device memory by size", "HBM read: 4583 GB/s, 95.2 % of theoretical"},
           {"sustained load", "BF16 Tensor Cores hold 86.0 % of their burst, at 1410 of 1980 MHz"},
           {"operand data", "BF16 runs 20 % faster on zeros than on normal data"},
           {"product sides", "An odd N (8191) costs BF16 GEMMs 2.2 x"},
           {"skinny products", "BF16 needs 256 rows for half of its burst rate"},
           {"waves",
            "Just past a full wave one kernel runs at 55.0 % of its rate, the best one at 80.0 %"},
           {"model layer",
            "At 16384 tokens BF16 layers keep 98.6 % (hidden size 4096) and 100.8 % (hidden size "
            "8192) of the burst rate per clock"},
           {"soak", "680 TFLOP/s over 120 s of load; the temperature settles after 64 s"},
           {"roofline sweep",
            "FP32 bends at 14.3 FLOP/byte, where it reaches 100.0 % of its own "
            "roof"},
           {"vocabulary", "A layer of 50257 outputs takes 2.1 x as long as one of 50304"},
           {"device memory by width", "4 bytes per thread read at 4311 GB/s, 16 at 4583 GB/s"}})
    EXPECT_EQ(curve(curves, topic).title, title);
  EXPECT_EQ(curve(curves, "threads", kHostDevice).title,
            "All threads read 20.0 x as fast as one, and compute 20.0 x as fast");

  std::erase_if(p.measurements, [](const Measurement& m) { return m.id == "launch.graph"; });
  const auto without = curves_of(p);
  EXPECT_THAT(curve(without, "kernel launch").title, testing::IsEmpty());
  EXPECT_DOUBLE_EQ(figure_of(curve(without, "kernel launch"), {.id = "launch.submit"}), 1.9e-6);
}

}  // namespace
}  // namespace peakline
