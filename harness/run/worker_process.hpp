#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/run/file_descriptor.hpp"
#include "harness/values/clock.hpp"

namespace peakline::bench {

// A worker's descriptors for points and answers. Its stdout goes to stderr, so that libraries'
// output is never taken for an answer.
inline constexpr int kWorkerInput = 0;
inline constexpr int kWorkerOutput = 3;

// This executable, run as `peakline worker ...` in its own process group. Killed when the thread
// that started it ends; the destructor kills and reaps it.
class WorkerProcess {
 public:
  // environment: additional variables. on_log: called with each printed line. Throws
  // std::system_error if no process can be created.
  WorkerProcess(const std::vector<std::string>& arguments,
                const std::vector<std::pair<std::string, std::string>>& environment,
                std::function<void(std::string_view)> on_log);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t pid() const { return pid_; }

  // False if the worker no longer reads.
  bool write_line(std::string_view line);

  enum class Read { kLine, kTimeout, kEnded, kEndless, kInterrupted };
  // The next answer, without newline. Waits until the deadline, the worker's end, an overlong
  // answer (kEndless), or interrupt_fd becomes readable.
  Read read_line(std::string& line, Clock::time_point deadline, int interrupt_fd);

  // Seconds that its threads waited for a CPU, the maximum over threads; 0 if unknown.
  double waited_for_cpu_s() const;

  struct End {
    int exit_code = -1;  // -1: ended by a signal
    // "exited with code 1: <its last line>", "was killed by SIGSEGV", "stopped answering"
    std::string how;
  };
  // Closes its input, waits, kills it after `grace`; says how it ended.
  End end(Clock::duration grace);

 private:
  void drain_log();

  pid_t pid_ = -1;
  FileDescriptor input_, output_, log_;
  std::string pending_output_, pending_log_, last_log_;
  std::function<void(std::string_view)> on_log_;
};

}  // namespace peakline::bench
