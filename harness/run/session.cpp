#include "harness/run/session.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/conclude/ceilings.hpp"
#include "harness/conclude/conclusions.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/conclude/sm_clocks.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/gpus.hpp"
#include "harness/values/device_view.hpp"

namespace peakline::bench {
namespace {

// The most that SIGKILL may cost.
constexpr auto kCheckpointInterval = std::chrono::seconds(10);

}  // namespace

Clock::duration to_duration(double seconds) {
  constexpr double kLongest = 1e9;  // the clock's type ends at about three hundred years
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, kLongest)));
}

Profile concluded(Profile profile, const RunSettings& settings) {
  if (settings.anonymize) profile = anonymized(std::move(profile));
  std::vector<Finding> left_out;
  leave_out_unreadable(profile, left_out);
  profile = with_conclusions(std::move(profile), settings.benchmarks, settings.kept);
  leave_out_unreadable(profile, left_out);
  std::ranges::move(left_out, std::back_inserter(profile.findings));
  return profile;
}

Session::Session(const RunSettings& settings, Profile start, const Interrupt& interrupt,
                 Progress& progress)
    : settings_(settings), interrupt_(interrupt), progress_(progress), profile_(std::move(start)) {}

void Session::write_checkpoint() {
  if (settings_.output.empty()) return;
  profile_.duration_s = seconds_since(start_);
  write_profile(concluded(profile_, settings_), settings_.output);
  saved_ = profile_.measurements.size();
}

void Session::add(Measurement measurement, double tolerance) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = visited_.try_emplace({measurement.device, measurement.name()});
  auto& [index, visits] = found->second;
  visits.resize(run_);
  visits.back().push_back(std::move(measurement));
  if (is_new) {
    index = profile_.measurements.size();
    profile_.measurements.emplace_back();
  }
  profile_.measurements[index] = readable(merged(visits, tolerance));
  save_now_and_then();
}

void Session::add_unmeasured(Measurement measurement) {
  {
    const std::lock_guard lock(mutex_);
    if (visited_.contains({measurement.device, measurement.name()})) return cut_short();
  }
  add(std::move(measurement), 0);
}

bool Session::implausible(const Measurement& measurement) {
  const std::lock_guard lock(mutex_);
  const DeviceFacts* device = facts_for(profile_, measurement);
  return device != nullptr &&
         peakline::implausible(measurement, with_seen_clock(*device, profile_.measurements),
                               settings_.benchmarks);
}

std::set<std::string> Session::ceiling_sources(const std::string& device) {
  const std::lock_guard lock(mutex_);
  std::set<std::string> names;
  for (const Ceiling& row : derive_ceilings(profile_, settings_.benchmarks).rows)
    if (row.device == device) names.insert(row.measurement);
  return names;
}

void Session::save_now_and_then() {
  if (Clock::now() - last_checkpoint_ < kCheckpointInterval) return;
  try {
    write_checkpoint();
  } catch (const ProfileError& error) {
    // There may be room again before the run ends.
    if (!std::exchange(checkpoint_failed_, true))
      progress_.note(std::string("results cannot be saved for now: ") + error.what());
  }
  last_checkpoint_ = Clock::now();
}

void Session::add_facts(const DeviceFacts& facts) {
  const std::lock_guard lock(mutex_);
  for (DeviceFacts& device : profile_.devices) {
    if (device.uuid == facts.uuid) merge(device, facts);
  }
}

void Session::add_worker(pid_t pid) {
  const std::lock_guard lock(mutex_);
  workers_.insert(pid);
}

void Session::set_unusable(const std::string& uuid, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  for (DeviceFacts& device : profile_.devices) {
    if (device.uuid == uuid) device.unusable = reason;
  }
}

std::string Session::why_unusable(const std::string& uuid) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(profile_.devices, uuid, &DeviceFacts::uuid);
  return found == profile_.devices.end() ? std::string() : found->unusable;
}

std::string Session::why_unusable(int index) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(profile_.devices, index, &DeviceFacts::index);
  return found == profile_.devices.end() ? "not measured" : found->unusable;
}

std::map<int, std::string> Session::usable_gpus() {
  const std::lock_guard lock(mutex_);
  std::map<int, std::string> gpus;
  for (const DeviceFacts& device : profile_.devices)
    if (device.unusable.empty()) gpus[device.index] = device.uuid;
  return gpus;
}

Profile Session::take_profile() {
  profile_.duration_s = seconds_since(start_);
  return std::move(profile_);
}

}  // namespace peakline::bench
