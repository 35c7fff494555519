#include "harness/values/facts.hpp"

#include <gtest/gtest.h>

namespace peakline {
namespace {

TEST(Merge, TheFirstGoesFirst) {
  DeviceFacts nvml, cuda;
  nvml.name = "NVIDIA H200";
  nvml.memory_bytes = 150;
  nvml.numa_node = 1;
  cuda.name = "H200";
  cuda.memory_bytes = 140;
  cuda.sm_count = 132;
  cuda.compute_major = 9;
  nvml.sm_clock_max_hz = 1980e6;
  cuda.sm_clock_step_hz = 15e6;
  merge(nvml, cuda);
  EXPECT_EQ(nvml.sm_clock_step_hz, 15e6);
  EXPECT_EQ(highest_sm_clock_hz(nvml), 1980e6);
  nvml.sm_clock_seen_max_hz = 1995e6;
  EXPECT_EQ(highest_sm_clock_hz(nvml), 1995e6);
  EXPECT_EQ(nvml.name, "NVIDIA H200");
  EXPECT_EQ(nvml.memory_bytes, 150);
  EXPECT_EQ(nvml.numa_node, 1);
  EXPECT_EQ(nvml.sm_count, 132);
  EXPECT_EQ(nvml.compute_major, 9);
}

TEST(Merge, OfNothingAndADeviceIsTheDevice) {
  DeviceFacts cuda;
  cuda.uuid = "GPU-1";
  cuda.name = "H200";
  cuda.pci_bus_id = "00000000:01:00.0";
  cuda.pci_device_id = "10de:2335";
  cuda.pci_subsystem_id = "10de:18be";
  cuda.compute_major = 9;
  cuda.compute_minor = 0;
  cuda.l2_bytes = 60;
  cuda.numa_node = 0;
  cuda.power_limit_w = 700;
  cuda.confidential_computing = "off";
  cuda.fabric = "completed";
  DeviceFacts merged;
  merge(merged, cuda);
  EXPECT_EQ(merged, cuda);
}

TEST(NvLinks, OfASwitchLeadToAllOthers) {
  DeviceFacts gpu;
  EXPECT_EQ(nvlinks_to(gpu, std::nullopt), 0);
  gpu.peers = {{.index = 1, .nvlinks = 4}, {.index = 2, .nvlinks = 2}};
  EXPECT_EQ(nvlinks_to(gpu, 2), 2);
  EXPECT_EQ(nvlinks_to(gpu, 3), 0);
  EXPECT_EQ(nvlinks_to(gpu, std::nullopt), 6);
  gpu.nvlinks.to_switch = true;
  gpu.peers = {{.index = 1, .nvlinks = 18}, {.index = 2, .nvlinks = 18}};
  EXPECT_EQ(nvlinks_to(gpu, std::nullopt), 18);
}

TEST(Facts, FootprintsFollowTheL2) {
  constexpr std::size_t kMiB = 1 << 20;
  DeviceFacts device;
  EXPECT_EQ(beyond_l2(device, 256 * kMiB, 4), 256 * kMiB);  // L2 unknown
  device.l2_bytes = 4.0 * kMiB;
  EXPECT_EQ(beyond_l2(device, 256 * kMiB, 4), 256 * kMiB);
  device.l2_bytes = 132644864;  // a B200's
  EXPECT_EQ(beyond_l2(device, 256 * kMiB, 4), 506 * kMiB);
}

}  // namespace
}  // namespace peakline
