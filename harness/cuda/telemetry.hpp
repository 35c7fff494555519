#pragma once

// Reads clocks, power and temperature of a GPU while it is measured, in a background thread.

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

// Mean watts of the readings from `from_s` on: the energy counter's difference between its first
// and last step, if these are >= 1 s apart; else the mean instantaneous power. nullopt if neither
// is known.
std::optional<double> mean_power_w(const std::vector<TimedReading>& readings, double from_s);

// The share of the time from `from_s` on in which the power cap held the clocks down, from NVML's
// counter; nullopt where the driver has none or the readings span less than half a second.
std::optional<double> power_cap_share(const std::vector<TimedReading>& readings, double from_s);

class Telemetry {
 public:
  // Takes one reading; may throw. Called from two threads, but never concurrently.
  using Read = std::function<TelemetryReading()>;

  // read: empty if nothing can be read; every condition is then unknown.
  explicit Telemetry(Read read);
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // Starts a window that ends at conditions(). background: false reads only at its start and, if it
  // lasts longer than 20 ms, its end, since the driver's locks would disturb host-side timings.
  void start(bool background);
  // Ends the window and summarizes it. Power is the energy counter's difference over the window, if
  // that lasts >= 1 s.
  Conditions conditions();
  // The readings of the last window, in time order, without those that failed.
  const std::vector<TimedReading>& readings() const { return readings_; }

  // Why reading stopped after several failures in a row; "" while it works.
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
