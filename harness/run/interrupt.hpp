#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "harness/run/exit_codes.hpp"
#include "harness/run/file_descriptor.hpp"

namespace peakline::bench {

// Handles SIGINT, SIGTERM and SIGHUP. The first one after begin() asks for a stop; a second one, or
// any before begin(), ends the process at once. Create it before any other thread: it blocks these
// signals for all threads that start later.
class Interrupt {
 public:
  // The exit code of a process that is ended at once, and its last output on stdout.
  explicit Interrupt(int exit_code = kExitPartial, std::string last_words = "");
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // From here on there is something to save.
  void begin() { begun_ = true; }

  // Becomes readable, and stays so, once a stop has been asked for.
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
