#include "harness/show/device_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "harness/conclude/headlines.hpp"
#include "harness/show/figures.hpp"
#include "harness/show/machine.hpp"
#include "harness/values/labels.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using sample::at;
using sample::find;
using sample::run_with;
using ::testing::Pair;

// A row's cells by column. Throws std::out_of_range without the row.
std::map<std::string, Cell> cells_of(const Table& table, std::string_view key) {
  const auto row = std::ranges::find(table.rows, key, &Row::key);
  if (row == table.rows.end()) throw std::out_of_range("no row " + std::string(key));
  std::map<std::string, Cell> cells;
  for (std::size_t i = 0; i < row->cells.size(); ++i) cells[table.columns[i].key] = row->cells[i];
  return cells;
}

// A table of the profile's device, the GPU or the host.
std::map<std::string, Cell> cells_of(const Profile& profile, const char* table,
                                     std::string_view key, std::size_t device = 0) {
  const DeviceView view = measured_devices(profile).at(device);
  std::vector<Table> tables = tables_of(view, ResourceLabels(profile));
  tables.push_back(headlines_table(view));
  return cells_of(*std::ranges::find(tables, table, &Table::key), key);
}

std::map<std::string, Cell> compute(const Profile& p, std::string_view key) {
  return cells_of(p, "compute", key);
}

std::string why(const Profile& p, std::string_view key) { return compute(p, key).at("why").text; }

constexpr const char* kSustained = "tensor.bf16/sustained";
constexpr const char* kBurst = "tensor.bf16/burst";

TEST(ComputeTable, NamesTheLargestLoss) {
  const Profile usual = sample::h200_run();
  EXPECT_EQ(why(usual, kSustained), "power cap: 1410 MHz");
  EXPECT_EQ(why(usual, kBurst), "kernel: 79 %");
  EXPECT_EQ(why(usual, "cuda_core.fp64/burst"), "at the limit");
  const auto why_sustained = [](const sample::Change& change) {
    return why(run_with(change), kSustained);
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

TEST(ComputeTable, AProductsHalfRateIsNoLossOfTheRun) {
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
               kBurst);
  };
  EXPECT_EQ(why_burst(0.8, 2600e6), "half rate; kernel: 80 %");
  // Compared with the higher of NVIDIA's two clocks; the other one is named.
  EXPECT_EQ(why_burst(0.95, 2600e6), "half rate; clock: 2600 MHz (boost: 2407)");
  EXPECT_EQ(why_burst(1, 3090e6), "half rate; at the limit");
}

TEST(ComputeTable, LossesThatAreEachTooSmallAreNone) {
  const auto why_burst = [](double share, double clock_share) {
    return why(run_with(at("fma.fp64/load:burst",
                           [&](auto& m) {
                             m.value = share * 128.0 * 132 * 1980e6;
                             m.conditions.sm_clock_hz = clock_share * 1980e6;
                           })),
               "cuda_core.fp64/burst");
  };
  EXPECT_EQ(why_burst(0.992, 0.996), "at the limit");
  EXPECT_EQ(why_burst(0.984, 0.985), "clock: 1950 MHz");
  EXPECT_EQ(why_burst(0.980, 0.996), "kernel: 98 %");
}

TEST(ComputeTable, WhatIsMissingHasAReason) {
  const auto missing = [](const std::function<void(Measurement&)>& spoil) {
    const Cell cell =
        compute(run_with(at("gemm.tf32/load:burst", spoil)), "tensor.tf32/burst").at("measured");
    EXPECT_FALSE(cell.value);
    return std::pair(cell.absence.value(), cell.missing);
  };
  const auto not_ok = [](Status status, const char* reason) {
    return [=](Measurement& m) {
      m.status = status;
      m.reason = reason;
    };
  };
  EXPECT_THAT(missing(not_ok(Status::kError, "the worker was killed")),
              Pair(Absence::kFailed, "failed: the worker was killed"));
  EXPECT_THAT(missing(not_ok(Status::kSkipped, "no cuBLASLt")),
              Pair(Absence::kSkipped, "skipped: no cuBLASLt"));
  EXPECT_THAT(missing([](Measurement& m) { m.flags.implausible = true; }),
              Pair(Absence::kImplausible, "implausible: above what the hardware can do"));
  EXPECT_THAT(missing([](Measurement& m) { m.verified = false; }),
              Pair(Absence::kWrongResult, "wrong result"));
}

TEST(ComputeTable, OnlyUnfinishedRunsOweSustainedFigures) {
  Profile p = run_with([](Profile& run) {
    std::erase_if(run.measurements,
                  [](const Measurement& m) { return text_param(m.params, "load") == "sustained"; });
  });
  EXPECT_THROW(compute(p, kSustained), std::out_of_range);
  p.complete = false;
  EXPECT_EQ(compute(p, kSustained)["measured"].missing, "not measured in this run");
}

TEST(ComputeTable, HasALaterVersionsFormatsWithTheirPart) {
  const Placed later = placed({.name = "tensor.fp2", .label = "", .unit = "", .precision = "fp2"});
  EXPECT_EQ(later.format, "FP2");
  EXPECT_EQ(later.engine, "Tensor Cores");
}

TEST(Headlines, NameTheirReference) {
  const auto cells = [](const Profile& p, const char* key) {
    return cells_of(p, "headlines", key);
  };
  const Profile p = sample::h200_run();
  EXPECT_DOUBLE_EQ(*cells(p, "hbm.read/measured").at("measured").value, 4583e9);
  EXPECT_DOUBLE_EQ(*cells(p, kSustained).at("reference").value, 989.4e12);
  EXPECT_EQ(cells(p, kSustained).at("reference").mark, CellMark::kNone);
  EXPECT_THROW(cells(p, "tensor.fp8/burst"), std::out_of_range);   // not tried
  EXPECT_THROW(cells(p, "pcie.h2d/measured"), std::out_of_range);  // in another table
  // A device without BF16 is judged by FP16.
  EXPECT_NO_THROW(cells(run_with(sample::gpu([](auto& d) {
                          d.compute_major = 7;
                          d.compute_minor = 5;
                        })),
                        "tensor.fp16/sustained"));
}

TEST(Machine, CountsMeasurements) {
  auto p = sample::h200_run();
  find(p, "launch.submit").status = Status::kError;
  find(p, "launch.round_trip").status = Status::kSkipped;
  const auto [ok, skipped, failed] = count_points(p);
  EXPECT_EQ(failed, 1U);
  EXPECT_EQ(skipped, 1U);
  EXPECT_EQ(ok, p.measurements.size() - 2);
}

TEST(Machine, TheHostComesLast) {
  const Profile p = sample::h200_run();
  const auto devices = measured_devices(p);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_TRUE(devices[1].is_host());
  EXPECT_EQ(cells_of(p, "host", "cpu.fp64/measured", 1).at("notes").text, "192 threads");
  EXPECT_TRUE(measured_devices({}).empty());
}

TEST(Labels, NameDevicesByIndex) {
  auto p = sample::h200_run();
  p.devices[0].index = 3;
  EXPECT_EQ(device_label(p, sample::kUuid), "GPU 3");
  EXPECT_EQ(device_label(p, "host"), "host");
  EXPECT_EQ(ResourceLabels(p)("tensor.bf16"), "BF16 Tensor Cores");
  EXPECT_EQ(ResourceLabels(p)("made.up"), "made.up");
  EXPECT_EQ(basis_label(Basis::kDatasheet), "published");
  EXPECT_EQ(basis_label(Basis::kSustained), "achievable");
  EXPECT_EQ(basis_label(Basis::kModelShaped), "model");
  EXPECT_EQ(basis_label(Basis::kModelBurst), "model burst");
}

TEST(Labels, ModelsHaveShortNames) {
  for (const auto& [model, name] :
       std::map<std::string, std::string>{{"NVIDIA H100 80GB HBM3", "H100"},
                                          {"NVIDIA H200", "H200"},
                                          {"NVIDIA H100 PCIe", "H100 PCIe"},
                                          {"NVIDIA A100-SXM4-80GB", "A100"},
                                          {"NVIDIA GeForce RTX 4090", "RTX 4090"},
                                          {"NVIDIA RTX A6000", "RTX A6000"},
                                          {"Tesla T4", "T4"},
                                          {"NVIDIA", "NVIDIA"},
                                          {"", ""}})
    EXPECT_EQ(short_model(model), name) << model;
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
