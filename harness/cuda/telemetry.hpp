#pragma once

// Reads a GPU's clocks, power and temperature in a background thread during measurements.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "harness/cuda/nvml.hpp"
#include "harness/values/measurement.hpp"

namespace peakline::cuda {

struct TimedReading {
  double time_s = 0;  // now_s()
  TelemetryReading reading;
};

// Mean power from `from_s` on: from the energy counter if its steps span >= 1 s, else the mean of
// instantaneous power. nullopt if both are unknown.
std::optional<double> mean_power_w(const std::vector<TimedReading>& readings, double from_s);

// Share of the time from `from_s` on at clocks lowered by the power cap, from NVML's counter;
// nullopt without it, or for readings that span < 0.5 s.
std::optional<double> power_cap_share(const std::vector<TimedReading>& readings, double from_s);

class Telemetry {
 public:
  // Takes a reading; may throw. Called from two threads, never concurrently.
  using Read = std::function<TelemetryReading()>;
  using ReadEnergy = std::function<std::optional<double>()>;

  // read: empty if unavailable; all conditions are then unknown. energy: of windows that last,
  // since reading it takes longer than a point of a curve.
  explicit Telemetry(Read read, ReadEnergy energy = {});
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // Starts a window that conditions() ends. background: false reads only at its start and, beyond
  // 20 ms, its end, since the driver's locks would disturb host-side timings.
  void start(bool background);
  Conditions conditions();
  // The last window's successful readings, in time order.
  const std::vector<TimedReading>& readings() const { return readings_; }

  // Why reading has stopped, after several failures in a row; "" while it works.
  std::string failure() const;

 private:
  void read();
  void loop();

  Read read_;
  ReadEnergy energy_;
  std::atomic<double> start_s_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool active_ = false, quit_ = false, reading_ = false;
  int failures_ = 0;  // consecutive
  std::string failure_;
  std::vector<TimedReading> readings_;
  std::thread thread_;
};

}  // namespace peakline::cuda
