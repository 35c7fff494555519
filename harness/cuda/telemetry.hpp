#pragma once

// What a GPU does while it is measured, read by a thread of its own.

#include <condition_variable>
#include <functional>
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
  // Takes one reading; may throw. Called from two threads, never at once.
  using Read = std::function<TelemetryReading()>;

  // read: empty where nothing can be read; every condition is then unknown.
  explicit Telemetry(Read read);
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
  // The readings of the last window, in time order. One that failed is missing.
  const std::vector<TimedReading>& readings() const { return readings_; }

  // Why nothing is read any more, after several failures in a row; "" while it works.
  std::string failure() const;

 private:
  void read();
  void loop();

  Read read_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool active_ = false, quit_ = false, reading_ = false;
  int failures_ = 0;  // in a row
  std::string failure_;
  std::vector<TimedReading> readings_;
  std::thread thread_;
};

}  // namespace peakline::cuda
