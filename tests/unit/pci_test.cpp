#include "harness/cuda/pci.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace peakline::cuda {
namespace {

// As on an H200: power management at 0x60, PCI Express at 0x78.
std::vector<std::uint8_t> configuration(std::uint8_t device_control) {
  std::vector<std::uint8_t> bytes(256);
  bytes[0x34] = 0x60;
  bytes[0x60] = 0x01;
  bytes[0x61] = 0x78;
  bytes[0x78] = 0x10;
  bytes[0x80] = device_control;
  return bytes;
}

TEST(Pci, DeviceControlRegisterHasTheLargestPayload) {
  EXPECT_EQ(max_payload_in(configuration(0x0f)), 128);
  EXPECT_EQ(max_payload_in(configuration(0x2f)), 256);
  EXPECT_EQ(max_payload_in(configuration(0x5f)), 512);
  EXPECT_EQ(max_payload_in(configuration(0xe0)), std::nullopt);  // a reserved code
}

TEST(Pci, WhatTheUserMayNotReadIsNotKnown) {
  auto bytes = configuration(0x2f);
  bytes.resize(64);  // what Linux shows to users other than root
  EXPECT_EQ(max_payload_in(bytes), std::nullopt);
  EXPECT_EQ(max_payload_in({}), std::nullopt);
  EXPECT_EQ(max_payload_of("0000:ff:1f.7"), std::nullopt);
}

TEST(Pci, AListOfCapabilitiesWithoutEndIsRefused) {
  auto bytes = configuration(0x2f);
  bytes[0x61] = 0x60;
  EXPECT_EQ(max_payload_in(bytes), std::nullopt);
}

TEST(Pci, IdsThatNvmlDoesNotSayAreTheKernels) {
  namespace fs = std::filesystem;
  const fs::path sysfs = fs::path(::testing::TempDir()) / "pci_test_sysfs";
  const fs::path folder = sysfs / "bus/pci/devices/0000:3b:00.0";
  fs::create_directories(folder);
  const auto write = [&](const char* name, const char* text) {
    std::ofstream(folder / name) << text << '\n';
  };
  write("vendor", "0x10de");
  write("device", "0x2342");
  write("subsystem_vendor", "0x10de");
  write("subsystem_device", "0x0000");  // unknown
  DeviceFacts gpu;
  gpu.pci_bus_id = "00000000:3B:00.0";
  complete_pci_ids(gpu, sysfs);
  EXPECT_EQ(gpu.pci_device_id, "10de:2342");
  EXPECT_EQ(gpu.pci_subsystem_id, "");

  write("subsystem_device", "0x1809");
  gpu.pci_device_id = "10de:2335";  // NVML's value stays
  complete_pci_ids(gpu, sysfs);
  EXPECT_EQ(gpu.pci_device_id, "10de:2335");
  EXPECT_EQ(gpu.pci_subsystem_id, "10de:1809");

  DeviceFacts elsewhere;
  elsewhere.pci_bus_id = "00000000:01:00.0";
  complete_pci_ids(elsewhere, sysfs);
  EXPECT_EQ(elsewhere.pci_device_id, "");
  fs::remove_all(sysfs);
}

}  // namespace
}  // namespace peakline::cuda
