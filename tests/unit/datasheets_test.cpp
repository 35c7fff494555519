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

// tests/zoo has products with figures.
TEST(Datasheets, AProductWithoutFiguresMayHaveAShare) {
  const auto share = [](const char* name, int minor, int sms, const char* resource) {
    return share_of_architecture(device_named(name, minor == 9 ? 8 : 9, minor, sms), resource);
  };
  EXPECT_EQ(share("NVIDIA GeForce RTX 4070", 9, 46, "tensor.bf16"), 0.5);
  EXPECT_EQ(share("NVIDIA GeForce RTX 4070", 9, 46, "tensor.int8"), 1);
  EXPECT_EQ(share("NVIDIA GeForce RTX 4090 D", 9, 114, "tensor.bf16"), std::nullopt);
  EXPECT_EQ(share("NVIDIA H100X", 0, 114, "tensor.bf16"), 1);
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
