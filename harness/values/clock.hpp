#pragma once

// The host's clock, for durations and deadlines.

#include <atomic>
#include <chrono>
#include <limits>

namespace peakline {

// Monotonic, and never runs back, which the system's monotonic clock may where a virtual machine is
// moved or resumed: for as long as it was set back, this one adds what is missing.
class Clock {
 public:
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept;
};

// It is at or after 0.
double seconds_since(Clock::time_point start);

// This clock's time in seconds, from an arbitrary origin.
double now_s();

// Turns the system's readings into a clock that never goes back. Any thread may use it.
class NeverBack {
 public:
  // reading, and the result: ticks of Clock::duration.
  Clock::rep operator()(Clock::rep reading) noexcept;

 private:
  std::atomic<Clock::rep> latest_ = std::numeric_limits<Clock::rep>::min();
  std::atomic<Clock::rep> added_ = 0;
};

}  // namespace peakline
