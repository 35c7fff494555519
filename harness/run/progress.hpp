#pragma once

// Prints what a run says on stderr while it works.

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "harness/values/clock.hpp"
#include "harness/values/measurement.hpp"

namespace peakline::bench {

enum class Verbosity { kQuiet, kNormal, kVerbose };

// Shows progress. On a terminal it is one line that is rewritten in place, as wide as the terminal
// is at that moment; elsewhere plain lines, at most one every few seconds. Quiet: only errors.
// Verbose: a line for every record. Control characters are removed. Any thread may call its
// functions.
class Progress {
 public:
  Progress(Verbosity verbosity, bool terminal);
  ~Progress();

  // Messages call the device by this name: "GPU 0". To be set before anything runs.
  void name_device(const std::string& device, std::string name);
  std::string name_of(const std::string& device) const;

  // Says what is to come; seconds: an estimate.
  void expect(std::size_t points, double seconds);
  // again: in a further sitting of a point, which counts once.
  void started(const std::string& device, const std::string& point, bool again = false);
  // share_s: of the estimate.
  void finished(const Measurement& measurement, double share_s, bool again = false);
  // A sitting that is left out, or a point that is recorded without a measurement, for a reason
  // that has been printed already.
  void passed_over(const std::string& device, double share_s, bool again = false);
  // Lines of their own. Quiet suppresses notes, never errors.
  void note(const std::string& message);
  void error(const std::string& message);
  // Takes a worker's output; only verbose shows it.
  void log(const std::string& device, std::string_view line);
  // Erases the line in progress, before stdout is written to.
  void clear();

 private:
  void print(std::string_view line);  // in place of the line in progress
  void show();
  void erase();

  const Verbosity verbosity_;
  const bool terminal_;
  std::mutex mutex_;
  std::map<std::string, std::string> names_;
  struct Running {
    std::string point;
    bool again = false;
  };
  std::map<std::string, Running> running_;  // by device
  std::size_t points_ = 0, done_ = 0;
  double left_s_ = 0;
  bool shown_ = false;
  Clock::time_point last_shown_{};
};

// The columns of the terminal that a descriptor is; nullopt where it is none, or does not tell.
std::optional<std::size_t> terminal_columns(int fd);

}  // namespace peakline::bench
