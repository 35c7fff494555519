// Facts from NVML and from the CUDA runtime, and that both describe the same device.

#include "harness/cuda/device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "harness/cuda/nvml.hpp"
#include "harness/cuda/resources.hpp"
#include "harness/cuda/telemetry.hpp"

namespace peakline {
namespace {

TEST(Nvml, KnowsTheRuntimesDevice) {
  const cuda::Nvml nvml;
  const DeviceFacts runtime = cuda::device_facts();
  const auto devices = nvml.devices();
  const auto same = std::find_if(devices.begin(), devices.end(),
                                 [&](const DeviceFacts& d) { return d.uuid == runtime.uuid; });
  ASSERT_NE(same, devices.end()) << runtime.uuid;
  EXPECT_EQ(same->name, runtime.name);
  EXPECT_EQ(same->compute_major, runtime.compute_major);
  EXPECT_EQ(same->memory_bus_bits, runtime.memory_bus_bits);
  EXPECT_EQ(same->sm_clock_max_hz, runtime.sm_clock_max_hz);
  EXPECT_FALSE(nvml.driver_version().empty());
}

TEST(Nvml, RefusesAnUnknownUuid) {
  const cuda::Nvml nvml;
  EXPECT_THROW(nvml.health("GPU-00000000-0000-0000-0000-000000000000"), cuda::NvmlUnavailable);
}

TEST(Nvml, SeesThisProcess) {
  const cuda::Nvml nvml;
  const cuda::DeviceBuffer<char> held(1 << 20);
  EXPECT_FALSE(nvml.processes(cuda::device_facts().uuid).empty());
}

cuda::Telemetry::Read reader(const cuda::Nvml& nvml) {
  return [&nvml, uuid = cuda::device_facts().uuid] { return nvml.telemetry(uuid); };
}

TEST(Telemetry, ReadsWhileTheWindowIsOpen) {
  const cuda::Nvml nvml;
  const std::string uuid = cuda::device_facts().uuid;
  cuda::Telemetry telemetry(reader(nvml), [&] { return nvml.energy_j(uuid); });
  telemetry.start(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  const Conditions conditions = telemetry.conditions();
  EXPECT_GE(telemetry.readings().size(), 10u);
  ASSERT_TRUE(conditions.sm_clock_hz);
  EXPECT_GT(*conditions.sm_clock_hz, 1e8);
  ASSERT_TRUE(conditions.power_w);
  EXPECT_GT(*conditions.power_w, 10);
  EXPECT_LT(*conditions.power_w, 2000);
  ASSERT_TRUE(conditions.temperature_c);
  EXPECT_GT(*conditions.temperature_c, 0);
}

TEST(Telemetry, GivesNoPowerForAMoment) {
  const cuda::Nvml nvml;
  cuda::Telemetry telemetry(reader(nvml));
  telemetry.start(false);
  EXPECT_FALSE(telemetry.conditions().power_w);
}

TEST(Telemetry, ReadsAShortWindowOnceAndALongOneAtItsEndToo) {
  int reads = 0;
  cuda::Telemetry telemetry([&] {
    ++reads;
    cuda::TelemetryReading reading;
    reading.temperature_c = 40;
    return reading;
  });
  telemetry.start(false);
  EXPECT_EQ(telemetry.conditions().temperature_c, 40);
  EXPECT_EQ(reads, 1);
  telemetry.start(false);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(telemetry.conditions().temperature_c, 40);
  EXPECT_EQ(reads, 3);
}

TEST(Telemetry, ReadsEnergyInWindowsThatLast) {
  std::atomic<int> reads = 0;
  cuda::TelemetryReading reading;
  reading.temperature_c = 40;
  cuda::Telemetry telemetry([&] { return reading; },
                            [&] { return std::optional<double>(++reads); });
  for (const bool lasts : {false, true}) {
    telemetry.start(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(lasts ? 400 : 50));
    telemetry.conditions();
    EXPECT_EQ(reads > 0, lasts);
  }
}

TEST(Telemetry, AFailedReadingIsAGap) {
  std::atomic<int> reads = 0;
  cuda::Telemetry telemetry([&]() -> cuda::TelemetryReading {
    if (reads++ % 2 == 0) throw cuda::NvmlUnavailable("GPU is lost");
    cuda::TelemetryReading reading;
    reading.sm_clock_hz = 1e9;
    return reading;
  });
  telemetry.start(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(telemetry.conditions().sm_clock_hz, 1e9);
  EXPECT_EQ(telemetry.failure(), "");
  EXPECT_LT(telemetry.readings().size(), static_cast<std::size_t>(reads));
}

TEST(Telemetry, StopsAndSaysWhyWhereReadingsKeepFailing) {
  for (const bool throws : {true, false}) {
    std::atomic<int> reads = 0;
    cuda::Telemetry telemetry([&]() -> cuda::TelemetryReading {
      ++reads;
      if (throws) throw cuda::NvmlUnavailable("GPU is lost");
      return {};
    });
    telemetry.start(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    EXPECT_EQ(telemetry.conditions(), Conditions());
    EXPECT_EQ(telemetry.failure(),
              throws ? "GPU is lost" : "the driver reports no telemetry values");
    const int before = reads;
    telemetry.start(false);
    EXPECT_EQ(telemetry.conditions(), Conditions());
    EXPECT_EQ(reads, before);
  }
}

// Readings of one second in which a counter that advances every 100 ms rises by `capped_s`.
std::vector<cuda::TimedReading> capped_readings(double capped_s) {
  std::vector<cuda::TimedReading> readings;
  for (int i = 0; i <= 10; ++i) {
    cuda::TimedReading& reading = readings.emplace_back();
    reading.time_s = 5 + 0.1 * i;
    reading.reading.power_capped_s = 1000 + capped_s * i / 10;
  }
  return readings;
}

TEST(Telemetry, SaysHowLongThePowerCapHeldTheClocks) {
  EXPECT_NEAR(cuda::power_cap_share(capped_readings(0.25), 5).value(), 0.25, 1e-9);
  EXPECT_NEAR(cuda::power_cap_share(capped_readings(0.25), 5.35).value(), 0.25, 1e-9);
  EXPECT_EQ(cuda::power_cap_share(capped_readings(0), 5), 0.0);
  EXPECT_EQ(cuda::power_cap_share(capped_readings(1.1), 5), 1.0);
  EXPECT_FALSE(cuda::power_cap_share(capped_readings(0.25), 5.6));  // too short for the counter
  EXPECT_FALSE(
      cuda::power_cap_share({{.time_s = 0, .reading = {}}, {.time_s = 1, .reading = {}}}, 0));
}

// The polled bit outlives the cap; the counter does not.
TEST(Telemetry, TheCounterDecidesWhetherThePowerCapActed) {
  constexpr std::uint64_t kPowerCapBit = 4;
  for (const double capped_per_read_s : {0.0, 0.01}) {
    double capped_s = 3;
    cuda::Telemetry telemetry([&] {
      cuda::TelemetryReading reading;
      reading.throttle_reasons = kPowerCapBit;
      reading.power_capped_s = capped_s += capped_per_read_s;
      return reading;
    });
    telemetry.start(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    EXPECT_EQ(telemetry.conditions().throttle_reasons.empty(), capped_per_read_s == 0);
  }
}

TEST(CudaCheck, NamesCallAndPlace) {
  try {
    PEAKLINE_CUDA(cudaSetDevice(4711));
    FAIL() << "no such device, and yet no error";
  } catch (const cuda::CudaError& error) {
    EXPECT_NE(std::string(error.what()).find("cudaSetDevice(4711)"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("device_test.cpp"), std::string::npos);
  }
  EXPECT_FALSE(cuda::context_lost());
}

TEST(CudaCheck, NamesTheRemedyForAFabricThatIsDown) {
  try {
    cuda::check(cudaErrorSystemNotReady, "cudaFree(nullptr)", "device.cpp", 1);
    FAIL() << "error 802, and yet no exception";
  } catch (const cuda::CudaError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("(802)"), std::string::npos) << message;
    EXPECT_NE(message.find("systemctl start nvidia-fabricmanager"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace peakline
