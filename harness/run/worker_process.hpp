#pragma once

// A worker process as the coordinator sees it.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/run/file_descriptor.hpp"
#include "harness/values/clock.hpp"

namespace peakline::bench {

// The descriptors on which a worker takes points and answers. Its stdout goes to its stderr, so
// that nothing that a library prints can be taken for an answer.
inline constexpr int kWorkerInput = 0;
inline constexpr int kWorkerOutput = 3;

// This executable, started again as `peakline worker ...` in a process group of its own. It is
// killed when the thread that started it ends, for whatever reason. The destructor kills and reaps
// it.
class WorkerProcess {
 public:
  // environment: variables to set in addition to this process's. on_log: called with each line that
  // the worker prints. Throws std::system_error where no process can be created.
  WorkerProcess(const std::vector<std::string>& arguments,
                const std::vector<std::pair<std::string, std::string>>& environment,
                std::function<void(std::string_view)> on_log);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t pid() const { return pid_; }

  // False where the worker no longer reads.
  bool write_line(std::string_view line);

  enum class Read { kLine, kTimeout, kEnded, kEndless, kInterrupted };
  // The worker's next answer, without its newline. Waits until the deadline, the worker's end, an
  // answer that is longer than any (kEndless), or until interrupt_fd becomes readable.
  Read read_line(std::string& line, Clock::time_point deadline, int interrupt_fd);

  // How long its threads have waited for a CPU that other processes had, the one that waited most;
  // 0 where the system does not say.
  double waited_for_cpu_s() const;

  struct End {
    int exit_code = -1;  // -1: ended by a signal
    // "exited with code 1: <the last line it printed>", "was killed by SIGSEGV", "stopped
    // answering"
    std::string how;
  };
  // Closes its input, waits for it to end (and kills it after `grace`), and says how it ended.
  End end(Clock::duration grace);

 private:
  void drain_log();

  pid_t pid_ = -1;
  FileDescriptor input_, output_, log_;
  std::string pending_output_, pending_log_, last_log_;
  std::function<void(std::string_view)> on_log_;
};

}  // namespace peakline::bench
