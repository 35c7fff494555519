#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "harness/values/clock.hpp"
#include "harness/values/measurement.hpp"

namespace peakline::bench {

enum class Verbosity { kQuiet, kNormal, kVerbose };

// Progress: on a terminal one line, rewritten at its current width; elsewhere plain lines every few
// seconds. Quiet: errors only. Verbose: a line per record. Control characters are removed.
// Thread-safe.
class Progress {
 public:
  Progress(Verbosity verbosity, bool terminal);
  ~Progress();

  // Messages use this name ("GPU 0"). Set before anything runs.
  void name_device(const std::string& device, std::string name);
  std::string name_of(const std::string& device) const;

  // seconds: estimated total.
  void expect(std::size_t points, double seconds);
  // again: a further sitting, which does not count as a point.
  void started(const std::string& device, const std::string& point, bool again = false);
  // share_s: part of the estimate.
  void finished(const Measurement& measurement, double share_s, bool again = false);
  // A sitting or point that is not measured, for a reason already printed.
  void passed_over(const std::string& device, double share_s, bool again = false);
  // Separate lines. Quiet suppresses notes, never errors.
  void note(const std::string& message);
  void error(const std::string& message);
  // A worker's output, shown only if verbose.
  void log(const std::string& device, std::string_view line);
  // Erases the progress line, before writing to stdout.
  void clear();

 private:
  void print(std::string_view line);  // replaces the progress line
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

// Columns of a terminal; nullopt if it is none, or does not tell.
std::optional<std::size_t> terminal_columns(int fd);

}  // namespace peakline::bench
