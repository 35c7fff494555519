#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "harness/run/exit_codes.hpp"
#include "harness/run/file_descriptor.hpp"

namespace peakline::bench {

// Handles SIGINT, SIGTERM and SIGHUP: the first after begin() requests a stop; a second one, or any
// before begin(), ends the process. Create before other threads, as it blocks these signals for
// later ones.
class Interrupt {
 public:
  // Exit code and last stdout output of a process that is ended at once.
  explicit Interrupt(int exit_code = kExitPartial, std::string last_words = "");
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Call when there is something to save.
  void begin() { begun_ = true; }

  // Readable once a stop is requested.
  int fd() const { return stop_.get(); }
  bool requested() const;

 private:
  void watch();

  const int exit_code_;
  const std::string last_words_;
  FileDescriptor signals_, stop_, quit_;
  std::atomic<bool> begun_ = false;
  std::thread watcher_;
};

}  // namespace peakline::bench
