#include "harness/values/clock.hpp"

#include <fmt/chrono.h>

#include <ctime>

namespace peakline {
namespace {

// Clocks are set back by more when machines move or resume; racing reads differ by less.
constexpr Clock::rep kSetBack = Clock::duration(std::chrono::seconds(1)).count();

}  // namespace

Clock::rep NeverBack::operator()(Clock::rep reading) noexcept {
  Clock::rep added = added_.load();
  const Clock::rep time = reading + added;
  Clock::rep latest = latest_.load();
  while (time > latest)
    if (latest_.compare_exchange_weak(latest, time)) return time;
  // Only the first thread that notices adds.
  if (latest - time > kSetBack) added_.compare_exchange_strong(added, added + (latest - time));
  return latest;
}

Clock::time_point Clock::now() noexcept {
  static NeverBack never_back;
  return time_point(
      duration(never_back(std::chrono::steady_clock::now().time_since_epoch().count())));
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string utc_text(std::int64_t seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::optional<std::int64_t> utc_seconds(const std::string& text) {
  std::tm time{};
  const char* const end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time);
  if (end == nullptr || *end != '\0') return std::nullopt;
  const std::int64_t seconds = timegm(&time);
  // timegm() takes February 30 for March 2.
  return utc_text(seconds) == text ? std::optional(seconds) : std::nullopt;
}

double now_s() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

}  // namespace peakline
