#include "harness/cuda/pci.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace peakline::cuda {
namespace {

// Power management at 0x60, then PCI Express at 0x78, as an H200 has them.
std::vector<std::uint8_t> configuration(std::uint8_t device_control) {
  std::vector<std::uint8_t> bytes(256);
  bytes[0x34] = 0x60;
  bytes[0x60] = 0x01;
  bytes[0x61] = 0x78;
  bytes[0x78] = 0x10;
  bytes[0x80] = device_control;
  return bytes;
}

TEST(Pci, TheLargestPayloadStandsInTheDeviceControlRegister) {
  EXPECT_EQ(max_payload_in(configuration(0x0f)), 128);
  EXPECT_EQ(max_payload_in(configuration(0x2f)), 256);
  EXPECT_EQ(max_payload_in(configuration(0x5f)), 512);
  EXPECT_EQ(max_payload_in(configuration(0xe0)), std::nullopt);  // a reserved code
}

TEST(Pci, WhatTheUserMayNotReadIsNotKnown) {
  auto bytes = configuration(0x2f);
  bytes.resize(64);  // all that Linux shows to users other than root
  EXPECT_EQ(max_payload_in(bytes), std::nullopt);
  EXPECT_EQ(max_payload_in({}), std::nullopt);
  EXPECT_EQ(max_payload_of("0000:ff:1f.7"), std::nullopt);
}

TEST(Pci, AListOfCapabilitiesWithoutEndIsRefused) {
  auto bytes = configuration(0x2f);
  bytes[0x61] = 0x60;
  EXPECT_EQ(max_payload_in(bytes), std::nullopt);
}

}  // namespace
}  // namespace peakline::cuda
