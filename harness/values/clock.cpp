#include "harness/values/clock.hpp"

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

double now_s() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

}  // namespace peakline
