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

const Curve& curve(const std::vector<Curve>& curves, std::string_view topic) {
  for (const Curve& c : curves)
    if (c.topic == topic && c.device == sample::kUuid) return c;
  throw std::out_of_range("no curve " + std::string(topic));
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

TEST(Curves, SayThatOthersUsedTheGpu) {
  Profile p = sample::reference();
  p.devices[0].processes = {{.pid = 7, .name = "python3", .memory_bytes = {}}};
  for (const Curve& curve : derive_curves(p, sample::benchmarks())) {
    const bool told = curve.title.ends_with("; other processes used the GPU meanwhile");
    EXPECT_EQ(told, curve.device == p.devices[0].uuid && !curve.title.empty()) << curve.title;
  }
}

TEST(Curves, NumbersOfOldProfilesAreThisPrograms) {
  Profile p = sample::reference();
  for (Curve& curve : p.curves)
    for (Figure& figure : curve.figures) figure.number.reset();
  use_own_numbers(p, sample::benchmarks());
  EXPECT_EQ(p.curves, sample::reference().curves);
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

TEST(Curves, SizesFarApartTellNoSizeForAShare) {
  const auto curves = run_with([](Profile& p) {
                        std::erase_if(p.measurements, [](const Measurement& m) {
                          const auto bytes = int_param(m.params, "bytes").value_or(0);
                          return m.id == "pcie.h2d.pinned" && bytes > 4096 && bytes < (256 << 20);
                        });
                      }).curves;
  const Curve& copies = curve(curves, "PCIe copies");
  EXPECT_THROW(figure_of(copies, {.id = "pcie.h2d.pinned", .name = "size_for_share"}),
               std::out_of_range);
  const double size = figure_of(
      copies, {.id = "pcie.d2h.pinned", .name = "size_for_share", .by = {{"percent", 50}}});
  EXPECT_GT(size, 256 << 10);
  EXPECT_LT(size, 1 << 20);
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

TEST(Curves, ALayerWithoutTokensIsLeftOut) {
  const Profile p = run_with(sample::everywhere([](Measurement& m) {
    if (m.id.starts_with("gemm.model."))
      std::erase_if(m.params, [](const auto& param) { return param.first == "tokens"; });
  }));
  for (const Curve& said : p.curves)
    EXPECT_TRUE(said.topic != "model layer" || (said.figures.empty() && said.title.empty()));
}

TEST(Curves, FewRowsMayNotReachHalfOfTheBurst) {
  auto p = sample::h200_run();
  std::erase_if(p.measurements, [](const Measurement& m) {
    return m.id == "gemm.skinny.bf16" && *int_param(m.params, "m") > 64;
  });
  EXPECT_EQ(curve(curves_of(p), "skinny products").title,
            "Up to 64 rows GEMMs stay below half of their burst rate");
}

TEST(Curves, WithoutAClockNothingIsComparedPerClock) {
  auto p = sample::h200_run();
  for (Measurement& m : p.measurements) m.conditions.sm_clock_hz.reset();
  const auto unknown = curves_of(p);
  EXPECT_THROW(curve(unknown, "product sides"), std::out_of_range);
  EXPECT_THROW(curve(unknown, "waves"), std::out_of_range);
  EXPECT_THROW(figure_of(curve(unknown, "vocabulary"), {.name = "share_per_clock"}),
               std::out_of_range);
}

// A graph that starts late would pay only beyond what was measured.
TEST(Curves, NoGraphPaysBeyondTheMeasuredNodes) {
  const auto curves =
      run_with(each("launch.graph", [](Measurement& m) { *m.value += 0.01; })).curves;
  EXPECT_THAT(curve(curves, "kernel launch").title,
              testing::EndsWith("; no graph that was measured saves time"));
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

TEST(Curves, ASoakSaysWhetherItSettled) {
  auto p = sample::h200_run();
  EXPECT_EQ(curve(curves_of(p), "soak").title,
            "680 TFLOP/s over 120 s of load; the temperature settles after 64 s");
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
  const FigureQuery swing{.id = "gemm.bf16", .name = "rate_swing"};
  EXPECT_NEAR(figure_of(found, swing), 0.05, 0.005);
  const FigureQuery after{.id = "gemm.bf16", .name = "settled_after", .by = {{"of", "BF16"}}};
  EXPECT_NEAR(figure_of(found, after), 0.4, 1e-9);
  EXPECT_NEAR(figure_of(load_for(4, 0, 0), swing), 0, 1e-9);
  find(p, "gemm.bf16/load:sustained").flags.unstable = true;
  const Curve unsettled = load_for(22, 3, 0.08);
  EXPECT_NEAR(figure_of(unsettled, {.id = "gemm.bf16", .name = "not_settled_after"}), 22, 0.2);
  EXPECT_EQ(find_figure(unsettled.figures, after), nullptr);
}

}  // namespace
}  // namespace peakline
