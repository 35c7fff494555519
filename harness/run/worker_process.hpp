#pragma once

// A worker process as the coordinator sees it, and the signals that end a run.

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace peakline::bench {

// Closes its file descriptor.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  ~FileDescriptor() { reset(); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;

  int get() const { return fd_; }
  void reset();

 private:
  int fd_;
};

// Takes SIGINT, SIGTERM and SIGHUP: until begin() the first one, then the second one ends the
// process at once with exit code 3, and the first after begin() asks for a stop. To be made before
// any other thread, since it blocks these signals for the threads made after it.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // From here on there is something to save.
  void begin() { begun_ = true; }

  // Readable, and stays so, once a stop was asked for.
  int fd() const { return stop_.get(); }
  bool requested() const;

 private:
  FileDescriptor signals_, stop_, quit_;
  std::atomic<bool> begun_ = false;
  std::thread watcher_;
};

// The descriptors on which a worker is spoken to; its stdout goes where its stderr goes, so that
// what libraries print cannot be taken for an answer.
inline constexpr int kWorkerInput = 0;
inline constexpr int kWorkerOutput = 3;

// This executable, started anew as `peakline worker ...` in a process group of its own. It is
// killed when the thread that started it ends, in whatever way. The destructor kills and reaps it.
class WorkerProcess {
 public:
  using Clock = std::chrono::steady_clock;

  // environment: variables to set on top of this process's. on_log: gets each line that the worker
  // prints. Throws std::system_error where no process can be made.
  WorkerProcess(const std::vector<std::string>& arguments,
                const std::vector<std::pair<std::string, std::string>>& environment,
                std::function<void(std::string_view)> on_log);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t pid() const { return pid_; }

  // False where the worker no longer reads.
  bool write_line(std::string_view line);

  enum class Read { kLine, kTimeout, kEnded, kInterrupted };
  // The next line that the worker answers, without its newline; waits until the deadline, the
  // worker's end or the moment when interrupt_fd becomes readable.
  Read read_line(std::string& line, Clock::time_point deadline, int interrupt_fd);

  struct End {
    int exit_code = -1;  // -1: ended by a signal
    // "exited with code 1: <the last line it printed>", "was killed by SIGSEGV"
    std::string how;
  };
  // Closes its input, waits for its end (and kills it after `grace`), and says how it ended.
  End end(Clock::duration grace);

 private:
  void drain_log();

  pid_t pid_ = -1;
  FileDescriptor input_, output_, log_;
  std::string pending_output_, pending_log_, last_log_;
  std::function<void(std::string_view)> on_log_;
};

}  // namespace peakline::bench
