#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/benchmark/bench.hpp"
#include "harness/core/profile.hpp"
#include "harness/run/interrupt.hpp"
#include "harness/run/progress.hpp"

namespace peakline::bench {

struct RunSettings {
  RunOptions options;  // handed to the workers
  std::filesystem::path output;
  std::optional<double> time_limit_s;  // of the whole run
  bool anonymize = false;
  Benchmarks benchmarks;  // all that are registered: they say what follows from a measurement
};

// The profile as it is written: with what follows from its measurements, and anonymized if the
// settings say so.
Profile concluded(Profile profile, const RunSettings& settings);

// What the devices' threads share: the profile as it fills up, and the reasons to stop. Functions
// may be called from any thread unless they say otherwise.
class Session {
 public:
  using Clock = std::chrono::steady_clock;

  // start: what the profile says before anything is measured; it is written to settings.output at
  // once. Throws ProfileError where it cannot be.
  Session(const RunSettings& settings, Profile start, const Interrupt& interrupt,
          Progress& progress);

  const RunSettings& settings() const { return settings_; }
  Progress& progress() { return progress_; }
  int interrupt_fd() const { return interrupt_.fd(); }
  Clock::time_point deadline() const { return deadline_; }
  bool time_is_up() const { return Clock::now() >= deadline_; }
  bool stopped() const { return interrupt_.requested() || time_is_up(); }

  // Adds a record, and writes the profile if the last time was long enough ago.
  void add(Measurement measurement);
  void add_facts(const DeviceFacts& facts);
  void add_worker(pid_t pid);
  void set_unusable(const std::string& uuid, const std::string& reason);

  // Only while no device's thread runs.
  std::vector<DeviceFacts>& devices() { return profile_.devices; }
  const std::set<pid_t>& workers() const { return workers_; }
  std::size_t saved() const { return saved_; }  // measurements in the file
  Profile take_profile();

 private:
  void write_checkpoint();

  const RunSettings& settings_;
  const Interrupt& interrupt_;
  Progress& progress_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point deadline_ = Clock::time_point::max();
  std::mutex mutex_;
  Profile profile_;
  std::set<pid_t> workers_;
  Clock::time_point last_checkpoint_ = start_;
  std::size_t saved_ = 0;
  bool checkpoint_failed_ = false;
};

// A time in seconds as the clock's duration; more than thirty years become thirty years.
Session::Clock::duration to_duration(double seconds);
double seconds_since(Session::Clock::time_point start);

}  // namespace peakline::bench
