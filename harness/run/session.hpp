#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/benchmark/bench.hpp"
#include "harness/conclude/sittings.hpp"
#include "harness/run/interrupt.hpp"
#include "harness/run/progress.hpp"
#include "harness/values/clock.hpp"
#include "harness/values/population.hpp"
#include "harness/values/profile.hpp"

namespace peakline::bench {

struct RunSettings {
  RunOptions options;            // for the workers
  std::filesystem::path output;  // empty: none
  std::size_t runs = 1;          // of the whole plan
  Clock::time_point deadline = Clock::time_point::max();
  bool if_idle = false;  // measure nothing if another process uses a GPU
  bool anonymize = false;
  std::vector<Population> kept = {};  // as in with_conclusions()
  Benchmarks benchmarks;              // all registered: they define the conclusions
};

// The profile to be written: with conclusions, and anonymized if requested.
Profile concluded(Profile profile, const RunSettings& settings);

// The profile in progress, shared by the devices' threads, and the reasons to stop. Thread-safe
// unless stated otherwise.
class Session {
 public:
  // start: the profile before anything is measured.
  Session(const RunSettings& settings, Profile start, const Interrupt& interrupt,
          Progress& progress);

  const RunSettings& settings() const { return settings_; }
  Progress& progress() { return progress_; }
  int interrupt_fd() const { return interrupt_.fd(); }
  Clock::time_point deadline() const { return settings_.deadline; }
  bool time_is_up() const { return Clock::now() >= deadline(); }
  bool stopped() const { return interrupt_.requested() || time_is_up(); }

  // Starts the next run; no device's thread may run.
  void begin_run() { ++run_; }
  // Adds a sitting of a point, and writes the profile if due. tolerance: of merged().
  void add(Measurement measurement, double tolerance);
  // Adds an unmeasured point, unless an earlier run measured it; the profile becomes partial.
  void add_unmeasured(Measurement measurement);
  // Whether the measurement is above what its device can do, as far as the run has seen it.
  bool implausible(const Measurement& measurement);
  // Names of the device's measurements behind ceilings so far.
  std::set<std::string> ceiling_sources(const std::string& device);
  void cut_short() { cut_short_ = true; }
  bool is_cut_short() const { return cut_short_; }
  void add_facts(const DeviceFacts& facts);
  void add_worker(pid_t pid);
  void set_unusable(const std::string& uuid, const std::string& reason);
  // Why the device cannot be measured, or "".
  std::string why_unusable(const std::string& uuid);
  std::string why_unusable(int index);
  // The run's usable GPUs: index to UUID.
  std::map<int, std::string> usable_gpus();

  // No device's thread may run during these:
  std::vector<DeviceFacts>& devices() { return profile_.devices; }
  const std::set<pid_t>& workers() const { return workers_; }
  std::size_t saved() const { return saved_; }  // measurements in the file
  Profile take_profile();

 private:
  struct Visited {
    std::size_t index = 0;  // of its record
    Visits visits;
  };

  void write_checkpoint();
  void save_now_and_then();

  const RunSettings& settings_;
  const Interrupt& interrupt_;
  Progress& progress_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  Profile profile_;
  std::map<std::pair<std::string, std::string>, Visited> visited_;  // by device and name
  std::size_t run_ = 0;                                             // from 1
  std::atomic<bool> cut_short_ = false;
  std::set<pid_t> workers_;
  Clock::time_point last_checkpoint_ = start_;
  std::size_t saved_ = 0;
  bool checkpoint_failed_ = false;
};

// Clock's duration, clamped to about thirty years.
Clock::duration to_duration(double seconds);

}  // namespace peakline::bench
