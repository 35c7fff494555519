#pragma once

// What a run says on stderr while it works.

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "harness/core/measurement.hpp"

namespace peakline::bench {

enum class Verbosity { kQuiet, kNormal, kVerbose };

// On a terminal one line that is written anew; elsewhere plain lines, at most one every few
// seconds. Quiet: errors alone; verbose: a line for every record. Its functions may be called from
// any thread.
class Progress {
 public:
  Progress(Verbosity verbosity, bool terminal);
  ~Progress();

  // How a device is called in messages: "host", "GPU 0". To be set before anything runs.
  void name_device(const std::string& device, std::string name);
  std::string name_of(const std::string& device) const;

  // What is to come; seconds: an estimate.
  void expect(std::size_t points, double seconds);
  void started(const std::string& device, const std::string& point);
  // share_s: of the estimate.
  void finished(const Measurement& measurement, double share_s);
  // A point that is recorded without having been tried, about which a message has told already.
  void passed_over(double share_s);
  // Lines of their own: a note is left out when quiet, an error never.
  void note(const std::string& message);
  void error(const std::string& message);
  // What a worker printed; only shown when verbose.
  void log(const std::string& device, std::string_view line);
  // Takes the line in progress away, before stdout is written to.
  void clear();

 private:
  void print(const std::string& line);  // in place of the line in progress
  void show();
  void erase();

  const Verbosity verbosity_;
  const bool terminal_;
  std::mutex mutex_;
  std::map<std::string, std::string> names_;
  std::map<std::string, std::string> running_;  // device -> point
  std::size_t points_ = 0, done_ = 0;
  double left_s_ = 0;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_shown_{};
};

// "1:40", "0:05"
std::string format_duration(double seconds);

}  // namespace peakline::bench
