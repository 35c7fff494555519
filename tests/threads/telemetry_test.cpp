#include "harness/cuda/telemetry.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "harness/cuda/nvml.hpp"

namespace peakline::cuda {
namespace {

constexpr int kWindows = 20;

void measure_windows(Telemetry& telemetry) {
  for (int window = 0; window < kWindows; ++window) {
    const bool background = window % 2 == 0;
    telemetry.start(background);
    std::this_thread::sleep_for(std::chrono::milliseconds(window % 3 == 0 ? 45 : 1));
    telemetry.failure();  // while it may be found
    telemetry.conditions();
    EXPECT_LT(telemetry.readings().size(), 1000);
  }
}

TEST(Telemetry, OfSeveralDevicesReadsOneLibrary) {
  const Nvml nvml;
  const std::vector<DeviceFacts> devices = nvml.devices();
  ASSERT_EQ(devices.size(), 2);
  std::vector<std::jthread> threads;
  for (const DeviceFacts& device : devices)
    threads.emplace_back([&nvml, uuid = device.uuid] {
      Telemetry telemetry([&nvml, uuid] { return nvml.telemetry(uuid); });
      measure_windows(telemetry);
    });
  for (int i = 0; i < kWindows; ++i)
    for (const DeviceFacts& device : devices) nvml.health(device.uuid);
}

TEST(Telemetry, GivesUpADeviceThatIsLost) {
  Telemetry telemetry([]() -> TelemetryReading { throw std::runtime_error("lost"); });
  measure_windows(telemetry);
  EXPECT_EQ(telemetry.failure(), "lost");
}

TEST(Telemetry, EndsWhileItReads) {
  for (int i = 0; i < kWindows; ++i) {
    auto telemetry = std::make_unique<Telemetry>([] {
      TelemetryReading reading;
      reading.power_w = 1;
      return reading;
    });
    telemetry->start(true);
    telemetry.reset();
  }
}

}  // namespace
}  // namespace peakline::cuda
