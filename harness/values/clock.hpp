#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace peakline {

// A monotonic clock that also survives virtual machines: their monotonic clock may step back when
// they are moved or resumed, and this one adds what is missing.
class Clock {
 public:
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept;
};

// Never negative.
double seconds_since(Clock::time_point start);

// Seconds from an arbitrary origin.
double now_s();

// UTC as profiles state it, "2026-01-31T12:00:00Z", of seconds since 1970; and back, nullopt for
// other texts.
std::string utc_text(std::int64_t seconds);
std::optional<std::int64_t> utc_seconds(const std::string& text);

// Makes readings of the system's clock monotonic. Thread-safe.
class NeverBack {
 public:
  // Takes and returns ticks of Clock::duration.
  Clock::rep operator()(Clock::rep reading) noexcept;

 private:
  std::atomic<Clock::rep> latest_ = std::numeric_limits<Clock::rep>::min();
  std::atomic<Clock::rep> added_ = 0;
};

}  // namespace peakline
