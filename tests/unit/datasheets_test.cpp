#include "harness/hardware/datasheets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/hardware/spec.hpp"

namespace peakline {
namespace {

DeviceFacts device_named(std::string name, int major, int minor, std::optional<int> sm_count) {
  DeviceFacts device;
  device.name = std::move(name);
  device.compute_major = major;
  device.compute_minor = minor;
  device.sm_count = sm_count;
  return device;
}

DeviceFacts device_with_ids(std::string device_id, std::string subsystem_id,
                            std::string name = "a name that no product has") {
  DeviceFacts device;
  device.name = std::move(name);
  device.pci_device_id = std::move(device_id);
  device.pci_subsystem_id = std::move(subsystem_id);
  return device;
}

// As NVML and CUDA describe the product.
DeviceFacts device_of(const Datasheet& sheet) {
  auto device = device_named(std::string(sheet.name), sheet.compute_major, sheet.compute_minor,
                             sheet.sm_count == 0 ? std::nullopt : std::optional(sheet.sm_count));
  if (!sheet.ids.empty()) {
    device.pci_device_id = sheet.ids[0].device;
    device.pci_subsystem_id =
        sheet.ids[0].subsystems.empty() ? "1462:5110" : sheet.ids[0].subsystems[0];
  }
  return device;
}

std::string product_of(const DeviceFacts& device) {
  const Datasheet* found = find_product(device);
  return found == nullptr ? "" : std::string(found->product);
}

// Figures stated with their clock follow from the architecture table and the product's share of it:
// exposes wrong rates, SM counts and clocks, and sparse figures.
TEST(Datasheets, AgreeWithTheArchitectureTableAtTheirClock) {
  // Datasheets round to two or three digits (9.7 for 9.746).
  constexpr double kRounding = 0.008;
  int checked = 0;
  for (const Datasheet& sheet : datasheets()) {
    for (const DatasheetFigure& figure : sheet.figures) {
      if (figure.clock_hz == 0) continue;
      const DeviceFacts device = device_of(sheet);
      const auto peak = theoretical_flops(device, figure.resource, figure.clock_hz);
      ASSERT_TRUE(peak) << sheet.product << " " << figure.resource;
      const double share = share_of_architecture(device, figure.resource).value();
      EXPECT_NEAR(*peak * share / figure.value, 1, kRounding)
          << sheet.product << " " << figure.resource;
      ++checked;
    }
  }
  EXPECT_GT(checked, 170);
}

// A figure without a clock implies one, which the part must be able to run.
TEST(Datasheets, FiguresWithoutAClockImplyAPossibleOne) {
  int checked = 0;
  for (const Datasheet& sheet : datasheets()) {
    DeviceFacts device = device_of(sheet);
    if (!device.sm_count) device.sm_count = 148;  // at least
    for (const DatasheetFigure& figure : sheet.figures) {
      const auto peak_at_1_hz = theoretical_flops(device, figure.resource, 1);
      const auto share = share_of_architecture(device, figure.resource);
      // Not computed, or of an architecture or product without documented rates.
      if (figure.clock_hz != 0 || figure.resource == "hbm" || !peak_at_1_hz || !share) continue;
      const double implied_hz = figure.value / (*peak_at_1_hz * *share);
      EXPECT_GT(implied_hz, 1.4e9) << sheet.product << " " << figure.resource;
      EXPECT_LT(implied_hz, 2.6e9) << sheet.product << " " << figure.resource;
      ++checked;
    }
  }
  EXPECT_GT(checked, 40);
}

TEST(Datasheets, EachProductIsFoundByItsIdsAndByItsName) {
  std::set<std::string_view> products;
  for (const Datasheet& sheet : datasheets()) {
    EXPECT_TRUE(products.insert(sheet.product).second) << sheet.product;
    DeviceFacts device = device_of(sheet);
    EXPECT_EQ(product_of(device), sheet.product);
    for (const PciId& id : sheet.ids) {
      for (const std::string_view subsystem : id.subsystems) {
        EXPECT_EQ(product_of(device_with_ids(std::string(id.device), std::string(subsystem))),
                  sheet.product);
      }
    }
    device.pci_device_id.clear();  // as in older profiles
    device.pci_subsystem_id.clear();
    const auto of_that_name = std::ranges::count(datasheets(), sheet.name, &Datasheet::name);
    EXPECT_EQ(product_of(device), of_that_name == 1 ? sheet.product : "");
  }
  EXPECT_GE(products.size(), 35U);
}

TEST(Datasheets, SayWhereTheirFiguresStand) {
  for (const Datasheet& sheet : datasheets()) {
    EXPECT_EQ(sheet.figures.empty(), sheet.documents.empty()) << sheet.product;
    std::set<std::string_view> resources;
    for (const DatasheetFigure& figure : sheet.figures)
      EXPECT_TRUE(resources.insert(figure.resource).second) << sheet.product;
    const auto check = [&](const Document* document) {
      EXPECT_TRUE(document->url.starts_with("https://")) << document->title;
      EXPECT_TRUE(document->date.starts_with("20")) << document->title;
    };
    std::ranges::for_each(sheet.documents, check);
    for (const Dispute& dispute : sheet.disputed) {
      EXPECT_FALSE(resources.contains(dispute.resource)) << "what is disputed is not used";
      ASSERT_GE(dispute.statements.size(), 2U);
      for (const auto& statement : dispute.statements) check(statement.document);
    }
  }
}

TEST(Datasheets, H200TensorFigureStandsAt1830Megahertz) {
  const auto h200 = device_named("NVIDIA H200", 9, 0, 132);
  EXPECT_DOUBLE_EQ(datasheet_figure(h200, "tensor.bf16")->clock_hz, 1830e6);
  EXPECT_NEAR(*theoretical_flops(h200, "tensor.bf16", 1830e6), 989.4e12, 0.1e12);
  EXPECT_NEAR(*theoretical_flops(h200, "tensor.bf16", 1980e6), 1070.5e12, 0.1e12);
  EXPECT_NEAR(*theoretical_flops(h200, "cuda_core.fp32", 1980e6), 66.9e12, 0.05e12);
}

TEST(Datasheets, StateTheFiguresOfEachProduct) {
  struct Row {
    const char* name;
    int major, minor, sms;
    const char* resource;
    double value;  // 0: none
  };
  const Row rows[] = {
      {"NVIDIA H200", 9, 0, 132, "tensor.bf16", 989.4e12},
      {"NVIDIA H200", 9, 0, 132, "hbm.read", 4.8e12},
      {"NVIDIA H200", 9, 0, 132, "gemm.fp32", 66.9e12},
      {"NVIDIA H200", 9, 0, 132, "tensor.fp4", 0},
      {"NVIDIA A100-SXM4-40GB", 8, 0, 108, "hbm", 1555e9},
      {"NVIDIA A100-SXM4-80GB", 8, 0, 108, "hbm", 2039e9},
      {"NVIDIA A100 80GB PCIe", 8, 0, 108, "hbm", 1935e9},
      {"NVIDIA A10G", 8, 6, 80, "tensor.bf16", 70e12},
      {"NVIDIA A10", 8, 6, 72, "tensor.bf16", 125e12},
      {"NVIDIA H800", 9, 0, 132, "cuda_core.fp64", 1e12},
      {"NVIDIA H20", 9, 0, 78, "tensor.bf16", 148e12},
      {"NVIDIA H20", 9, 0, 78, "tensor.fp8", 296e12},
      {"NVIDIA H20", 9, 0, 78, "hbm.read", 4e12},
      {"NVIDIA L20", 8, 9, 92, "tensor.bf16", 119.5e12},
      // What documents contradict is not used.
      {"NVIDIA B300 SXM6 AC", 10, 3, 148, "tensor.fp4", 13500e12},
      {"NVIDIA B300 SXM6 AC", 10, 3, 148, "tensor.bf16", 2250e12},
      {"NVIDIA B300 SXM6 AC", 10, 3, 148, "hbm", 0},
      {"NVIDIA GB200", 10, 0, 152, "tensor.bf16", 0},
      {"NVIDIA GB200", 10, 0, 152, "hbm", 8e12},
      {"Tesla T4", 7, 5, 40, "hbm", 0},
      {"NVIDIA B200", 10, 0, 148, "cuda_core.fp32", 75e12},
      {"NVIDIA B200", 10, 0, 148, "cuda_core.fp64", 37e12},
      {"NVIDIA B200", 10, 0, 148, "hbm.read", 7.7e12},
      // A GeForce's are of sums in FP32.
      {"NVIDIA GeForce RTX 3080", 8, 6, 68, "tensor.bf16", 59.5e12},
      {"NVIDIA GeForce RTX 3080", 8, 6, 68, "tensor.fp16_acc16", 119e12},
      {"NVIDIA GeForce RTX 3090 Ti", 8, 6, 84, "tensor.fp16", 80e12},
      {"NVIDIA GeForce RTX 4080", 8, 9, 76, "tensor.fp8", 194.9e12},
      {"NVIDIA GeForce RTX 5080", 12, 0, 84, "tensor.bf16", 112.6e12},
      {"NVIDIA GeForce RTX 5070 Ti", 12, 0, 70, "tensor.int8", 351.5e12},
      // The 12 GB RTX 3080 shares only the name; the other two have no known document.
      {"NVIDIA GeForce RTX 3080", 8, 6, 70, "tensor.bf16", 0},
      {"NVIDIA GeForce RTX 3080 Ti", 8, 6, 80, "tensor.bf16", 0},
      {"NVIDIA GeForce RTX 4080 SUPER", 8, 9, 80, "tensor.bf16", 0},
      // Sums in FP16 have a figure of their own where FP32 sums are slower.
      {"NVIDIA GeForce RTX 4090", 8, 9, 128, "tensor.fp16_acc16", 330.3e12},
      {"NVIDIA L40S", 8, 9, 142, "tensor.fp16_acc16", 362.05e12},
      {"NVIDIA L40", 8, 9, 142, "tensor.fp16_acc16", 0},
  };
  for (const Row& row : rows) {
    const DatasheetFigure* found =
        datasheet_figure(device_named(row.name, row.major, row.minor, row.sms), row.resource);
    EXPECT_DOUBLE_EQ(found == nullptr ? 0 : found->value, row.value)
        << row.name << ", " << row.sms << " SMs: " << row.resource;
  }
}

TEST(Datasheets, ProductsAreToldApart) {
  // One device id may be two products.
  const std::string gh200 = "10de:2342";
  EXPECT_EQ(product_of(device_with_ids(gh200, "10de:1809")), "GH200 96 GB (480 GB LPDDR5X)");
  EXPECT_EQ(product_of(device_with_ids(gh200, "10de:16eb")), "GH200 96 GB (120 GB LPDDR5X)");
  EXPECT_EQ(product_of(device_with_ids("10de:2348", "10de:18d2")), "GH200 144 GB");
  EXPECT_EQ(product_of(device_with_ids("10de:2335", "10de:18bf")), "H200 SXM");
  EXPECT_EQ(product_of(device_with_ids("10de:233b", "10de:1996")), "H200 NVL");
  EXPECT_EQ(product_of(device_named("NVIDIA H200 NVL", 9, 0, 132)), "H200 NVL");
  EXPECT_EQ(product_of(device_named("NVIDIA H100 80GB HBM3", 9, 0, 132)), "H100 SXM");
  EXPECT_EQ(product_of(device_named("NVIDIA H100 PCIe", 9, 0, 114)), "H100 PCIe");
}

TEST(Datasheets, AnUnknownVariantNeverTakesAnothersFigures) {
  for (const char* name :
       {"NVIDIA H100 64GB HBM2e", "NVIDIA H100 96GB", "NVIDIA H20-3f", "H200", "nvidia h200",
        "NVIDIA H200 ", "NVIDIA H200-35C", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", ""}) {
    const auto device = device_named(name, 9, 0, 132);
    EXPECT_EQ(find_product(device), nullptr) << name;
    EXPECT_EQ(why_no_datasheet(device), "the product is not in the table (peakline peaks)");
  }
  EXPECT_EQ(find_product(device_named("NVIDIA GeForce RTX 4090 D", 8, 9, 114)), nullptr);
  EXPECT_EQ(find_product(device_named("NVIDIA GeForce RTX 4090 Laptop GPU", 8, 9, 76)), nullptr);
  // Virtual GPUs have the ids of the GPU below them.
  EXPECT_EQ(product_of(device_with_ids("10de:2235", "10de:14d5", "NVIDIA A40-48Q")), "");
  EXPECT_EQ(product_of(device_with_ids("10de:20b0", "10de:146b", "GRID A100-40C")), "");
  EXPECT_EQ(product_of(device_with_ids("10de:20b0", "10de:1450", "NVIDIA A100-PG509-200")), "");
}

TEST(Datasheets, ASliceOrACutDownPartHasNone) {
  const auto h200_of = [](int major, std::optional<int> sms) {
    return device_named("NVIDIA H200", major, 0, sms);
  };
  EXPECT_EQ(find_datasheet(h200_of(9, 16)), nullptr);
  EXPECT_EQ(why_no_datasheet(h200_of(9, 16)),
            "it has the name of the H200 SXM, but not its SMs: a slice or another cut of it");
  EXPECT_EQ(find_datasheet(h200_of(10, 132)), nullptr);
  EXPECT_NE(find_datasheet(h200_of(9, std::nullopt)), nullptr);
  auto mig = h200_of(9, 16);
  mig.mig_enabled = true;
  EXPECT_EQ(find_datasheet(mig), nullptr);
  EXPECT_EQ(datasheet_figure(mig, "tensor.bf16"), nullptr);
  EXPECT_EQ(why_no_datasheet(mig), "MIG is on, and a slice of a GPU has none");
  EXPECT_EQ(product_of(mig), "H200 SXM") << "its SMs are those of the product";
}

TEST(Datasheets, OfProductsWithoutPublishedFiguresNoneIsMadeUp) {
  for (const char* name : {"NVIDIA H20-3e", "NVIDIA A800 80GB PCIe", "NVIDIA H100"}) {
    const auto sheet = std::ranges::find(datasheets(), name, &Datasheet::name);
    const DeviceFacts device = device_of(*sheet);
    EXPECT_EQ(find_datasheet(device), nullptr) << name;
    EXPECT_EQ(
        why_no_datasheet(device),
        "no document of NVIDIA's is known that states any for the " + std::string(sheet->product));
    EXPECT_EQ(share_of_architecture(device, "tensor.bf16"), std::nullopt) << name;
  }
  EXPECT_EQ(why_no_datasheet(device_named("NVIDIA GB300", 10, 3, 152)),
            "several products are called NVIDIA GB300");
}

TEST(Datasheets, AProductHasAShareOfItsArchitecture) {
  struct Row {
    const char* name;
    int major, minor, sms;
    const char* resource;  // nullptr: products of formats whose sums are in FP32
    std::optional<double> share;
  };
  const Row rows[] = {
      // A model that was cut has figures, but no share.
      {"NVIDIA H800", 9, 0, 132, "cuda_core.fp64", {}},
      {"NVIDIA H800", 9, 0, 132, "tensor.fp64", {}},
      {"NVIDIA H800", 9, 0, 132, "gemm.fp64", {}},
      {"NVIDIA H800", 9, 0, 132, "tensor.bf16", 1},
      {"NVIDIA H20", 9, 0, 78, "cuda_core.fp64", {}},
      {"NVIDIA H20", 9, 0, 78, "tensor.bf16", {}},
      {"NVIDIA H20", 9, 0, 78, "cuda_core.fp32", 1},
      {"NVIDIA L20", 8, 9, 92, "tensor.bf16", 0.5},
      // Half rate belongs to a product.
      {"NVIDIA GeForce RTX 4090", 8, 9, 128, nullptr, 0.5},
      {"NVIDIA GeForce RTX 4090", 8, 9, 128, "tensor.fp16_acc16", 1},
      {"NVIDIA GeForce RTX 4090", 8, 9, 128, "tensor.int8", 1},
      {"NVIDIA GeForce RTX 4090", 8, 9, 128, "cuda_core.fp32", 1},
      {"NVIDIA GeForce RTX 4090", 8, 9, 128, "hbm.read", 1},
      {"NVIDIA L40", 8, 9, 142, nullptr, 0.5},
      {"NVIDIA L40", 8, 9, 142, "tensor.fp16_acc16", {}},
      {"NVIDIA L40S", 8, 9, 142, nullptr, 1},
      // Without figures in the table: a GeForce, and a slower variant.
      {"NVIDIA GeForce RTX 4070", 8, 9, 46, nullptr, 0.5},
      {"NVIDIA GeForce RTX 4070", 8, 9, 46, "tensor.int8", 1},
      {"NVIDIA GeForce RTX 4090 D", 8, 9, 114, nullptr, {}},
      {"NVIDIA H100X", 9, 0, 114, "tensor.bf16", 1},
  };
  for (const Row& row : rows) {
    std::vector<const char*> resources = {"tensor.tf32", "tensor.fp16", "tensor.bf16",
                                          "tensor.fp8"};
    if (row.resource != nullptr) resources = {row.resource};
    for (const char* resource : resources)
      EXPECT_EQ(
          share_of_architecture(device_named(row.name, row.major, row.minor, row.sms), resource),
          row.share)
          << row.name << ": " << resource;
  }
  EXPECT_EQ(find_product(device_named("NVIDIA GeForce RTX 4070", 8, 9, 46)), nullptr);
}

TEST(Datasheets, AreFoundByTheWordsOfAName) {
  const auto called = [](std::string_view name) {
    std::vector<std::string_view> products;
    for (const Datasheet* sheet : products_called(name)) products.push_back(sheet->product);
    return products;
  };
  EXPECT_EQ(called("h800 PCIe"), (std::vector<std::string_view>{"H800 PCIe"}));
  EXPECT_EQ(called("H100").size(), 4U);
  EXPECT_EQ(called("").size(), datasheets().size());
  for (const char* name : {"V100", "H10", "H100 H200"}) EXPECT_TRUE(called(name).empty()) << name;
}

TEST(Datasheets, WhatSourcesContradictEachOtherOnIsKnownAsSuch) {
  const auto b200 = device_named("NVIDIA B200", 10, 0, 148);
  std::vector<double> stated;
  for (const Dispute& dispute : find_product(b200)->disputed)
    if (dispute.resource == kMemoryBus)
      for (const auto& statement : dispute.statements) stated.push_back(statement.value);
  std::ranges::sort(stated);
  EXPECT_EQ(stated, (std::vector<double>{7680, 8192}));
  EXPECT_TRUE(disputed(b200, kMemoryBus));
  EXPECT_FALSE(disputed(device_named("NVIDIA H200", 9, 0, 132), kMemoryBus));
}

}  // namespace
}  // namespace peakline
