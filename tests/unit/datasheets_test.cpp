#include "harness/hardware/datasheets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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
      if (figure.clock_hz != 0 || figure.resource == "hbm") continue;
      const auto peak_at_1_hz = theoretical_flops(device, figure.resource, 1);
      if (!peak_at_1_hz) continue;  // architecture without documented rates
      const auto known_share = share_of_architecture(device, figure.resource);
      if (!known_share) continue;
      const double share = *known_share;
      const double implied_hz = figure.value / (*peak_at_1_hz * share);
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
  const DatasheetFigure* bf16 = datasheet_figure(h200, "tensor.bf16");
  ASSERT_NE(bf16, nullptr);
  EXPECT_DOUBLE_EQ(bf16->value, 989.4e12);
  EXPECT_DOUBLE_EQ(bf16->clock_hz, 1830e6);
  EXPECT_NEAR(*theoretical_flops(h200, "tensor.bf16", 1830e6), 989.4e12, 0.1e12);
  EXPECT_NEAR(*theoretical_flops(h200, "tensor.bf16", 1980e6), 1070.5e12, 0.1e12);
  EXPECT_NEAR(*theoretical_flops(h200, "cuda_core.fp32", 1980e6), 66.9e12, 0.05e12);
  EXPECT_DOUBLE_EQ(datasheet_figure(h200, "hbm.read")->value, 4.8e12);
  EXPECT_DOUBLE_EQ(datasheet_figure(h200, "gemm.fp32")->value, 66.9e12);
  EXPECT_EQ(datasheet_figure(h200, "tensor.fp4"), nullptr);
}

TEST(Datasheets, OneDeviceIdMayBeTwoProducts) {
  const std::string gh200 = "10de:2342";
  EXPECT_EQ(product_of(device_with_ids(gh200, "10de:1809")), "GH200 96 GB (480 GB LPDDR5X)");
  EXPECT_EQ(product_of(device_with_ids(gh200, "10de:16eb")), "GH200 96 GB (120 GB LPDDR5X)");
  EXPECT_EQ(product_of(device_with_ids("10de:2348", "10de:18d2")), "GH200 144 GB");
  EXPECT_EQ(product_of(device_with_ids("10de:2335", "10de:18bf")), "H200 SXM");
  EXPECT_EQ(product_of(device_with_ids("10de:233b", "10de:1996")), "H200 NVL");
}

TEST(Datasheets, VariantsOfOneChipAreKeptApart) {
  EXPECT_EQ(product_of(device_named("NVIDIA H200 NVL", 9, 0, 132)), "H200 NVL");
  EXPECT_EQ(product_of(device_named("NVIDIA H100 80GB HBM3", 9, 0, 132)), "H100 SXM");
  EXPECT_EQ(product_of(device_named("NVIDIA H100 PCIe", 9, 0, 114)), "H100 PCIe");
  const auto hbm = [](const char* name) {
    return datasheet_figure(device_named(name, 8, 0, 108), "hbm")->value;
  };
  EXPECT_DOUBLE_EQ(hbm("NVIDIA A100-SXM4-40GB"), 1555e9);
  EXPECT_DOUBLE_EQ(hbm("NVIDIA A100-SXM4-80GB"), 2039e9);
  EXPECT_DOUBLE_EQ(hbm("NVIDIA A100 80GB PCIe"), 1935e9);
  EXPECT_DOUBLE_EQ(datasheet_figure(device_named("NVIDIA A10G", 8, 6, 80), "tensor.bf16")->value,
                   70e12);
  EXPECT_DOUBLE_EQ(datasheet_figure(device_named("NVIDIA A10", 8, 6, 72), "tensor.bf16")->value,
                   125e12);
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
}

TEST(Datasheets, AVirtualGpuNeverTakesThoseOfTheGpuBelowIt) {
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

TEST(Datasheets, WhatAModelCutsHasItsFigureAndNoShareOfItsArchitecture) {
  const auto h800 = device_named("NVIDIA H800", 9, 0, 132);
  for (const char* resource : {"cuda_core.fp64", "tensor.fp64", "gemm.fp64"})
    EXPECT_EQ(share_of_architecture(h800, resource), std::nullopt) << resource;
  EXPECT_EQ(share_of_architecture(h800, "tensor.bf16"), 1);
  EXPECT_DOUBLE_EQ(datasheet_figure(h800, "cuda_core.fp64")->value, 1e12);
  const auto h20 = device_named("NVIDIA H20", 9, 0, 78);
  EXPECT_EQ(share_of_architecture(h20, "cuda_core.fp64"), std::nullopt);
  EXPECT_EQ(share_of_architecture(h20, "tensor.bf16"), std::nullopt);
  EXPECT_EQ(share_of_architecture(h20, "cuda_core.fp32"), 1);
  EXPECT_DOUBLE_EQ(datasheet_figure(h20, "tensor.bf16")->value, 148e12);
  EXPECT_DOUBLE_EQ(datasheet_figure(h20, "tensor.fp8")->value, 296e12);
  EXPECT_DOUBLE_EQ(datasheet_figure(h20, "hbm.read")->value, 4e12);
  const auto l20 = device_named("NVIDIA L20", 8, 9, 92);
  EXPECT_EQ(share_of_architecture(l20, "tensor.bf16"), 0.5);
  EXPECT_DOUBLE_EQ(datasheet_figure(l20, "tensor.bf16")->value, 119.5e12);
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

TEST(Datasheets, WhatDocumentsContradictIsNotUsed) {
  const auto b300 = device_named("NVIDIA B300 SXM6 AC", 10, 3, 148);
  EXPECT_DOUBLE_EQ(datasheet_figure(b300, "tensor.fp4")->value, 13500e12);
  const auto gb200 = device_named("NVIDIA GB200", 10, 0, 152);
  EXPECT_EQ(datasheet_figure(gb200, "tensor.bf16"), nullptr);
  EXPECT_DOUBLE_EQ(datasheet_figure(gb200, "hbm")->value, 8e12);
  EXPECT_EQ(datasheet_figure(b300, "hbm"), nullptr);
  EXPECT_DOUBLE_EQ(datasheet_figure(b300, "tensor.bf16")->value, 2250e12);
  EXPECT_EQ(datasheet_figure(device_named("Tesla T4", 7, 5, 40), "hbm"), nullptr);
}

TEST(Datasheets, HalfRateBelongsToAProduct) {
  const auto rtx4090 = device_named("NVIDIA GeForce RTX 4090", 8, 9, 128);
  const auto l40 = device_named("NVIDIA L40", 8, 9, 142);
  const auto l40s = device_named("NVIDIA L40S", 8, 9, 142);
  // Without figures in the table: a GeForce, and a slower variant.
  const auto rtx4070 = device_named("NVIDIA GeForce RTX 4070", 8, 9, 46);
  const auto rtx4090d = device_named("NVIDIA GeForce RTX 4090 D", 8, 9, 114);
  for (const char* resource : {"tensor.tf32", "tensor.fp16", "tensor.bf16", "tensor.fp8"}) {
    EXPECT_EQ(share_of_architecture(rtx4090, resource), 0.5) << resource;
    EXPECT_EQ(share_of_architecture(l40, resource), 0.5) << resource;
    EXPECT_EQ(share_of_architecture(l40s, resource), 1) << resource;
    EXPECT_EQ(share_of_architecture(rtx4070, resource), 0.5) << resource;
    EXPECT_EQ(share_of_architecture(rtx4090d, resource), std::nullopt) << resource;
  }
  EXPECT_EQ(share_of_architecture(l40, "tensor.fp16_acc16"), std::nullopt);
  for (const char* resource : {"tensor.fp16_acc16", "tensor.int8", "cuda_core.fp32", "hbm.read"})
    EXPECT_EQ(share_of_architecture(rtx4090, resource), 1) << resource;
  EXPECT_EQ(share_of_architecture(rtx4070, "tensor.int8"), 1);
  EXPECT_EQ(find_product(rtx4070), nullptr);
  EXPECT_EQ(share_of_architecture(device_named("NVIDIA H100X", 9, 0, 114), "tensor.bf16"), 1);
}

TEST(Datasheets, GeforceFiguresAreOfSumsInFp32) {
  const auto figure = [](const char* name, int major, int minor, int sms, const char* resource) {
    const DatasheetFigure* found =
        datasheet_figure(device_named(name, major, minor, sms), resource);
    return found == nullptr ? 0 : found->value;
  };
  EXPECT_DOUBLE_EQ(figure("NVIDIA GeForce RTX 3080", 8, 6, 68, "tensor.bf16"), 59.5e12);
  EXPECT_DOUBLE_EQ(figure("NVIDIA GeForce RTX 3080", 8, 6, 68, "tensor.fp16_acc16"), 119e12);
  EXPECT_DOUBLE_EQ(figure("NVIDIA GeForce RTX 3090 Ti", 8, 6, 84, "tensor.fp16"), 80e12);
  EXPECT_DOUBLE_EQ(figure("NVIDIA GeForce RTX 4080", 8, 9, 76, "tensor.fp8"), 194.9e12);
  EXPECT_DOUBLE_EQ(figure("NVIDIA GeForce RTX 5080", 12, 0, 84, "tensor.bf16"), 112.6e12);
  EXPECT_DOUBLE_EQ(figure("NVIDIA GeForce RTX 5070 Ti", 12, 0, 70, "tensor.int8"), 351.5e12);
  // The 12 GB RTX 3080 shares only the name, and the other two have no known document.
  EXPECT_EQ(figure("NVIDIA GeForce RTX 3080", 8, 6, 70, "tensor.bf16"), 0);
  EXPECT_EQ(figure("NVIDIA GeForce RTX 3080 Ti", 8, 6, 80, "tensor.bf16"), 0);
  EXPECT_EQ(figure("NVIDIA GeForce RTX 4080 SUPER", 8, 9, 80, "tensor.bf16"), 0);
}

TEST(Datasheets, SumsInFp16HaveAFigureOfTheirOwnWhereFp32SumsAreSlower) {
  const auto fp16_sums = [](const char* name, int minor, int sms) {
    return datasheet_figure(device_named(name, 8, minor, sms), "tensor.fp16_acc16");
  };
  EXPECT_DOUBLE_EQ(fp16_sums("NVIDIA GeForce RTX 4090", 9, 128)->value, 330.3e12);
  EXPECT_DOUBLE_EQ(fp16_sums("NVIDIA L40S", 9, 142)->value, 362.05e12);
  EXPECT_EQ(fp16_sums("NVIDIA L40", 9, 142), nullptr);
}

TEST(Datasheets, WhatSourcesContradictEachOtherOnIsKnownAsSuch) {
  const auto b200 = device_named("NVIDIA B200", 10, 0, 148);
  const auto stated = [&](std::string_view resource) {
    const auto& disputes = find_product(b200)->disputed;
    const auto found = std::ranges::find(disputes, resource, &Dispute::resource);
    std::vector<double> values;
    if (found != disputes.end())
      for (const auto& statement : found->statements) values.push_back(statement.value);
    std::ranges::sort(values);
    return values;
  };
  EXPECT_EQ(stated(kMemoryBus), (std::vector<double>{7680, 8192}));
  EXPECT_DOUBLE_EQ(datasheet_figure(b200, "cuda_core.fp32")->value, 75e12);
  EXPECT_DOUBLE_EQ(datasheet_figure(b200, "cuda_core.fp64")->value, 37e12);
  EXPECT_DOUBLE_EQ(datasheet_figure(b200, "hbm.read")->value, 7.7e12);
  EXPECT_TRUE(disputed(b200, kMemoryBus));
  EXPECT_FALSE(disputed(device_named("NVIDIA H200", 9, 0, 132), kMemoryBus));
}

}  // namespace
}  // namespace peakline
