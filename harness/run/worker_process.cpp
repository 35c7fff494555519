#include "harness/run/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

namespace peakline::bench {
namespace {

// Longer than any record or message: beyond it, a worker has gone wrong.
constexpr std::size_t kMaxLineBytes = 4u << 20;
// Bytes of output read at once, so that endless output cannot keep the reader from its deadline.
// Pipes hold no more unless root enlarged them.
constexpr std::size_t kMaxLogBytes = 1u << 20;

std::pair<FileDescriptor, FileDescriptor> make_pipe() {
  // Close-on-exec, or concurrently started workers would keep each other's pipes open.
  std::array<int, 2> fds;
  check_call(::pipe2(fds.data(), O_CLOEXEC), "pipe");
  return {FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const auto name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(changes.begin(), changes.end(),
                                      [&](const auto& change) { return change.first == name; });
    // Google Benchmark reads flags from these, which could write files or repeat points.
    if (!replaced && !name.starts_with("BENCHMARK_")) result.emplace_back(text);
  }
  for (const auto& [name, value] : changes) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> c_strings(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

int milliseconds_until(Clock::time_point deadline) {
  using std::chrono::milliseconds;
  constexpr std::int64_t kLongest = 3'600'000;  // poll takes an int; the caller repeats
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, kLongest));
}

}  // namespace

WorkerProcess::WorkerProcess(const std::vector<std::string>& arguments,
                             const std::vector<std::pair<std::string, std::string>>& environment,
                             std::function<void(std::string_view)> on_log)
    : on_log_(std::move(on_log)) {
  auto [worker_input, our_input] = make_pipe();
  auto [our_output, worker_output] = make_pipe();
  auto [our_log, worker_log] = make_pipe();
  check_call(::fcntl(our_log.get(), F_SETFL, O_NONBLOCK), "fcntl");

  // Allocates the child's memory before fork(): after it, a multithreaded process may only make
  // async-signal-safe calls.
  std::vector<std::string> words = {"peakline", "worker"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_with(environment);
  const std::vector<char*> argv = c_strings(words);
  const std::vector<char*> envp = c_strings(variables);
  sigset_t none;
  sigemptyset(&none);

  const pid_t parent = ::getpid();
  pid_ = check_call(::fork(), "fork");
  if (pid_ == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // the parent ended before prctl
    ::signal(SIGPIPE, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(worker_input.get(), kWorkerInput);
    ::dup2(worker_log.get(), STDOUT_FILENO);
    ::dup2(worker_log.get(), STDERR_FILENO);
    // dup2 onto itself would keep close-on-exec set.
    if (worker_output.get() == kWorkerOutput) {
      ::fcntl(kWorkerOutput, F_SETFD, 0);
    } else {
      ::dup2(worker_output.get(), kWorkerOutput);
    }
    ::execve("/proc/self/exe", argv.data(), envp.data());
    ::_exit(127);
  }
  ::setpgid(pid_, pid_);  // as in the child, whichever comes first
  input_ = std::move(our_input);
  output_ = std::move(our_output);
  log_ = std::move(our_log);
}

WorkerProcess::~WorkerProcess() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool WorkerProcess::write_line(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t n = ::write(input_.get(), text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    written += static_cast<std::size_t>(n);
  }
  return true;
}

void WorkerProcess::drain_log() {
  std::array<char, 1 << 16> chunk;
  for (std::size_t bytes = 0; bytes < kMaxLogBytes;) {
    const ssize_t n = ::read(log_.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) log_.reset();
    if (n <= 0) break;
    pending_log_.append(chunk.data(), static_cast<std::size_t>(n));
    bytes += static_cast<std::size_t>(n);
  }
  // An unterminated last line counts too.
  if (log_.get() < 0 && !pending_log_.empty()) pending_log_ += '\n';
  std::size_t begin = 0;
  for (auto end = pending_log_.find('\n'); end != pending_log_.npos;
       end = pending_log_.find('\n', begin)) {
    if (end > begin) {
      last_log_ = pending_log_.substr(begin, end - begin);
      on_log_(last_log_);
    }
    begin = end + 1;
  }
  pending_log_.erase(0, begin);
  if (pending_log_.size() > kMaxLineBytes) pending_log_.clear();
}

WorkerProcess::Read WorkerProcess::read_line(std::string& line, Clock::time_point deadline,
                                             int interrupt_fd) {
  for (;;) {
    if (const auto end = pending_output_.find('\n'); end != pending_output_.npos) {
      line = pending_output_.substr(0, end);
      pending_output_.erase(0, end + 1);
      return Read::kLine;
    }
    std::array<pollfd, 3> fds = {
        {{output_.get(), POLLIN, 0}, {interrupt_fd, POLLIN, 0}, {log_.get(), POLLIN, 0}}};
    const int ready = ::poll(fds.data(), fds.size(), milliseconds_until(deadline));
    if (ready < 0) {
      if (errno == EINTR) continue;
      throw std::system_error(errno, std::generic_category(), "poll");
    }
    if (fds[1].revents) return Read::kInterrupted;
    if (fds[2].revents) drain_log();
    if (fds[0].revents) {
      std::array<char, 1 << 16> chunk;
      const ssize_t n = ::read(output_.get(), chunk.data(), chunk.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return Read::kEnded;
      pending_output_.append(chunk.data(), static_cast<std::size_t>(n));
      if (pending_output_.find('\n') != pending_output_.npos) continue;
      if (pending_output_.size() > kMaxLineBytes) return Read::kEndless;
    }
    if (Clock::now() >= deadline) return Read::kTimeout;
  }
}

double WorkerProcess::waited_for_cpu_s() const {
  double longest_s = 0;
  std::error_code error;
  const auto tasks = std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid_), error);
  for (const auto& task : tasks) {
    double on_cpu_ns = 0, waited_ns = 0;
    if (std::ifstream(task.path() / "schedstat") >> on_cpu_ns >> waited_ns)
      longest_s = std::max(longest_s, waited_ns * 1e-9);
  }
  return longest_s;
}

WorkerProcess::End WorkerProcess::end(Clock::duration grace) {
  input_.reset();
  int status = 0;
  const auto deadline = Clock::now() + grace;
  for (;;) {
    drain_log();  // a worker blocked on printing could not end
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) break;
    if (Clock::now() >= deadline) {
      ::kill(-pid_, SIGKILL);
      while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
      }
      pid_ = -1;
      drain_log();
      return {-1, "stopped answering"};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  pid_ = -1;
  drain_log();
  if (WIFSIGNALED(status)) return {-1, "was killed by " + signal_name(WTERMSIG(status))};
  const int code = WEXITSTATUS(status);
  return {code,
          fmt::format("exited with code {}{}{}", code, last_log_.empty() ? "" : ": ", last_log_)};
}

}  // namespace peakline::bench
