#pragma once

// What a GPU does while it is measured, read by a thread of its own.

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "harness/core/measurement.hpp"
#include "harness/cuda/nvml.hpp"

namespace peakline::cuda {

struct TimedReading {
  double time_s = 0;  // Telemetry::now_s()
  TelemetryReading reading;
};

// Watts over the readings from `from_s` on: the energy counter's difference over the time between
// two of its steps, where that is >= 1 s; else the mean of the momentary power. nullopt where
// neither is known.
std::optional<double> mean_power_w(const std::vector<TimedReading>& readings, double from_s);

class Telemetry {
 public:
  // Reads the device of this UUID through `nvml`, which must outlive this object; nullptr: nothing
  // can be read, and every condition is unknown.
  Telemetry(const Nvml* nvml, std::string uuid);
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  static double now_s();  // monotonic

  // Reads from now on until conditions(); `background` false: no thread in between, since the
  // driver's locks would disturb host-side timings.
  void start(bool background);
  // Ends the window and says what was seen in it. Power is the energy counter's difference over the
  // window, where that lasts >= 1 s.
  Conditions conditions();
  // The readings of the last window, in time order.
  const std::vector<TimedReading>& readings() const { return readings_; }

  const Nvml* nvml() const { return nvml_; }
  const std::string& uuid() const { return uuid_; }

 private:
  void read();
  void loop();

  const Nvml* nvml_;
  std::string uuid_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool active_ = false, quit_ = false, reading_ = false;
  std::vector<TimedReading> readings_;
  std::thread thread_;
};

}  // namespace peakline::cuda
