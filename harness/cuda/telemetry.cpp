#include "harness/cuda/telemetry.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "harness/statistics/statistics.hpp"
#include "harness/values/clock.hpp"

namespace peakline::cuda {
namespace {

// Frequent enough for a point of 100 ms, rare enough that the driver's locks cost nothing. A
// reading takes milliseconds, so shorter windows get one.
constexpr auto kInterval = std::chrono::milliseconds(20);
// The energy counter advances every 20 to 100 ms.
constexpr double kShortestForPowerS = 1.0;
// The capped-time counter advances every 100 ms.
constexpr double kShortestForCapS = 0.5;
// Utilization is an average over up to a second.
constexpr double kShortestForUtilizationS = 1.0;

// Reading the energy counter takes 3 to 17 ms (H100), all else a fraction of one.
constexpr double kEnergyAfterS = 0.2;

// A lost device does not return, and each query may block for long.
constexpr int kMostFailures = 5;

std::optional<double> median_of(const std::vector<TimedReading>& readings,
                                std::optional<double> TelemetryReading::*member) {
  std::vector<double> values;
  for (const TimedReading& timed : readings)
    if (const auto& value = timed.reading.*member) values.push_back(*value);
  if (values.empty()) return std::nullopt;
  return median(values);
}

}  // namespace

std::optional<double> mean_power_w(const std::vector<TimedReading>& readings, double from_s) {
  const TimedReading* first = nullptr;  // after the first and last step of the counter
  const TimedReading* last = nullptr;
  double sum_w = 0;
  std::size_t known = 0;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const TelemetryReading& reading = readings[i].reading;
    if (readings[i].time_s < from_s) continue;
    if (reading.power_w) {
      sum_w += *reading.power_w;
      ++known;
    }
    if (i == 0 || !reading.energy_j || !readings[i - 1].reading.energy_j ||
        reading.energy_j == readings[i - 1].reading.energy_j)
      continue;
    if (first == nullptr) first = &readings[i];
    last = &readings[i];
  }
  if (first != nullptr && last->time_s - first->time_s >= kShortestForPowerS)
    return (*last->reading.energy_j - *first->reading.energy_j) / (last->time_s - first->time_s);
  if (known == 0) return std::nullopt;
  return sum_w / static_cast<double>(known);
}

std::optional<double> power_cap_share(const std::vector<TimedReading>& readings, double from_s) {
  const TimedReading* first = nullptr;
  const TimedReading* last = nullptr;
  for (const TimedReading& timed : readings) {
    if (timed.time_s < from_s || !timed.reading.power_capped_s) continue;
    if (first == nullptr) first = &timed;
    last = &timed;
  }
  if (first == nullptr || last->time_s - first->time_s < kShortestForCapS) return std::nullopt;
  const double capped_s = *last->reading.power_capped_s - *first->reading.power_capped_s;
  // A step of the counter may include time before the first reading.
  return std::clamp(capped_s / (last->time_s - first->time_s), 0.0, 1.0);
}

Telemetry::Telemetry(Read read, ReadEnergy energy)
    : read_(std::move(read)), energy_(std::move(energy)) {
  if (read_) thread_ = std::thread([this] { loop(); });
}

Telemetry::~Telemetry() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Telemetry::read() {
  if (!failure().empty()) return;
  TimedReading timed{now_s(), {}};
  std::string why;
  try {
    timed.reading = read_();
    if (energy_ && timed.time_s > start_s_ + kEnergyAfterS) timed.reading.energy_j = energy_();
    if (timed.reading == TelemetryReading{}) why = "the driver reports no telemetry values";
  } catch (const std::exception& error) {
    why = error.what();
  }
  const std::lock_guard lock(mutex_);
  failures_ = why.empty() ? 0 : failures_ + 1;
  if (why.empty()) readings_.push_back(timed);
  if (failures_ >= kMostFailures) failure_ = why;
}

std::string Telemetry::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Telemetry::loop() {
  std::unique_lock lock(mutex_);
  while (!quit_) {
    wake_.wait(lock, [this] { return active_ || quit_; });
    while (active_ && !quit_) {
      reading_ = true;
      lock.unlock();
      read();
      lock.lock();
      reading_ = false;
      wake_.notify_all();
      wake_.wait_for(lock, kInterval, [this] { return !active_ || quit_; });
    }
  }
}

void Telemetry::start(bool background) {
  if (!read_) return;
  start_s_ = now_s();
  {
    const std::lock_guard lock(mutex_);
    readings_.clear();
    active_ = background;
  }
  if (background)
    wake_.notify_all();
  else
    read();
}

Conditions Telemetry::conditions() {
  Conditions conditions;
  if (!read_) return conditions;
  {
    std::unique_lock lock(mutex_);
    active_ = false;
    wake_.notify_all();
    // readings() must not change after this.
    wake_.wait(lock, [this] { return !reading_; });
  }
  if (readings_.empty() ||
      now_s() - readings_.back().time_s > std::chrono::duration<double>(kInterval).count())
    read();
  const std::lock_guard lock(mutex_);
  if (readings_.empty()) return conditions;
  std::sort(readings_.begin(), readings_.end(),
            [](const TimedReading& a, const TimedReading& b) { return a.time_s < b.time_s; });
  conditions.sm_clock_hz = median_of(readings_, &TelemetryReading::sm_clock_hz);
  if (conditions.sm_clock_hz) conditions.sm_clock_source = ClockSource::kNvml;
  conditions.memory_clock_hz = median_of(readings_, &TelemetryReading::memory_clock_hz);
  conditions.temperature_c = median_of(readings_, &TelemetryReading::temperature_c);
  const double duration_s = readings_.back().time_s - readings_.front().time_s;
  if (duration_s >= kShortestForUtilizationS)
    conditions.utilization = median_of(readings_, &TelemetryReading::utilization);
  if (duration_s >= kShortestForPowerS)
    conditions.power_w = mean_power_w(readings_, readings_.front().time_s);
  std::uint64_t reasons = 0;
  for (const TimedReading& timed : readings_) reasons |= timed.reading.throttle_reasons.value_or(0);
  conditions.throttle_reasons = throttle_reason_names(reasons);
  conditions.power_cap_share = power_cap_share(readings_, readings_.front().time_s);
  // The counter is better than polled bits, which lag.
  if (conditions.power_cap_share) {
    std::erase(conditions.throttle_reasons, kPowerCapReason);
    if (*conditions.power_cap_share > 0) conditions.throttle_reasons.emplace_back(kPowerCapReason);
  }
  return conditions;
}

}  // namespace peakline::cuda
