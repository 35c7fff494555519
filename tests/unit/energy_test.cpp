// The energy of bytes and operations, and scattered blocks between host and device.

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/figures.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

const Curve* find_curve(const Profile& p, std::string_view topic) {
  const auto found = std::ranges::find(p.curves, topic, &Curve::topic);
  return found == p.curves.end() ? nullptr : &*found;
}

Measurement with_power(const char* id, Quantity quantity, double value, double power_w,
                       std::string device = sample::kUuid) {
  Measurement m = sample::measurement(id, {}, quantity, value, std::move(device));
  m.conditions.power_w = power_w;
  return m;
}

TEST(Energy, IsPowerOverRateAndNetOfIdle) {
  Profile p = sample::h200_run();
  p.measurements.push_back(with_power("energy.idle", Quantity::kTime, 0.05, 120));
  p.measurements.push_back(with_power("energy.hbm_read", Quantity::kByteRate, 4e12, 600));
  p.measurements.push_back(with_power("energy.l2_read", Quantity::kByteRate, 10e12, 620));
  p.measurements.push_back(with_power("energy.fma_fp32", Quantity::kFlopRate, 60e12, 420));
  const Profile found = sample::derived(p);
  const Curve* energy = find_curve(found, "energy");
  ASSERT_NE(energy, nullptr);
  EXPECT_EQ(energy->title,
            "The board takes 120 W idle; on top of that, 120 pJ/B of device memory read, 50.0 pJ/B "
            "of the L2, 5.00 pJ/FLOP of FP32 FMAs, 0.838 pJ/FLOP of BF16 GEMMs");
  EXPECT_DOUBLE_EQ(figure_of(energy->figures, {.id = "energy.hbm_read", .name = "gross"}), 150e-12);
}

TEST(Energy, WithoutIdlePowerIsGrossAlone) {
  Profile p = sample::h200_run();
  p.measurements.push_back(with_power("energy.hbm_read", Quantity::kByteRate, 4e12, 600));
  const Profile found = sample::derived(p);
  const Curve* energy = find_curve(found, "energy");
  ASSERT_NE(energy, nullptr);
  EXPECT_EQ(figure_values(energy->figures), (FigureValues{{"power", 600}, {"gross", 150e-12}}));
}

TEST(Energy, OverNvLinkIsTheReadingBoards) {
  Profile p = sample::reference("nvidia-h200-x2");
  const std::string reading = p.devices[0].uuid, other = p.devices[1].uuid;
  p.measurements.push_back(with_power("energy.idle", Quantity::kTime, 0.05, 500, other));
  p.measurements.push_back(with_power("energy.idle", Quantity::kTime, 0.05, 120, reading));
  p.measurements.push_back(
      with_power("energy.nvlink_read", Quantity::kByteRate, 400e9, 200, std::string(kNodeDevice)));
  const Profile found = sample::derived(p);
  const Curve* energy = find_curve(found, "energy of links");
  ASSERT_NE(energy, nullptr);
  EXPECT_DOUBLE_EQ(figure_of(energy->figures, {.name = "net"}), 200e-12);
}

TEST(ScatteredBlocks, SayFromWhichSizeOnTheyReachOneCopy) {
  Profile p = sample::h200_run();
  std::erase_if(p.ceilings, [](const Ceiling& row) { return row.resource == "pcie.h2d"; });
  const auto add = [&](const char* id, std::int64_t block, double rate) {
    p.measurements.push_back(sample::measurement(id, {{"block", block}, {"direction", "h2d"}},
                                                 Quantity::kByteRate, rate));
  };
  const double whole = *sample::find(p, "pcie.h2d.pinned/bytes:268435456").value;
  for (const auto& [block, share] : {std::pair(4 << 10, 0.1), {64 << 10, 0.8}, {256 << 10, 1.0}}) {
    add("pcie.blocks.loop", block, 0.1 * share * whole);
    add("pcie.blocks.batch", block, share * whole);
    add("pcie.blocks.kernel", block, 0.7 * whole);
  }
  const Profile found = sample::derived(p);
  const Curve* blocks = find_curve(found, "scattered blocks");
  ASSERT_NE(blocks, nullptr);
  const auto size = [&](const char* id) {
    return find_figure(blocks->figures, {.id = id, .name = "block_for"});
  };
  ASSERT_NE(size("pcie.blocks.batch"), nullptr);
  EXPECT_NEAR(size("pcie.blocks.batch")->value, 160 << 10, 20 << 10);
  EXPECT_EQ(size("pcie.blocks.kernel"), nullptr);  // it never does
  EXPECT_TRUE(blocks->title.starts_with("Scattered blocks of 64 KiB go H2D at ")) << blocks->title;
}

}  // namespace
}  // namespace peakline
