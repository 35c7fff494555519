#include "harness/run/interrupt.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <system_error>
#include <utility>

namespace peakline::bench {
namespace {

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // Ignored signals (nohup) stay ignored: blocking would deliver them.
    struct sigaction current;
    ::sigaction(signal, nullptr, &current);
    if (current.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  return set;
}

}  // namespace

Interrupt::Interrupt(int exit_code, std::string last_words)
    : exit_code_(exit_code), last_words_(std::move(last_words)) {
  const sigset_t set = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = FileDescriptor(check_call(::signalfd(-1, &set, SFD_CLOEXEC), "signalfd"));
  stop_ = FileDescriptor(check_call(::eventfd(0, EFD_CLOEXEC), "eventfd"));
  quit_ = FileDescriptor(check_call(::eventfd(0, EFD_CLOEXEC), "eventfd"));
  try {
    watcher_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    // Without a thread, signals end the process; saved results stay.
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  }
}

Interrupt::~Interrupt() {
  if (!watcher_.joinable()) return;
  ::eventfd_write(quit_.get(), 1);
  watcher_.join();
  const sigset_t set = handled_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Interrupt::watch() {
  for (int seen = 0;;) {
    std::array<pollfd, 2> fds = {{{signals_.get(), POLLIN, 0}, {quit_.get(), POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), -1) < 0) continue;
    if (fds[1].revents) return;
    signalfd_siginfo info;
    if (::read(signals_.get(), &info, sizeof info) != sizeof info) continue;
    if (++seen == 2 || !begun_) {
      [[maybe_unused]] const ssize_t lost =
          ::write(STDOUT_FILENO, last_words_.data(), last_words_.size());
      ::_exit(exit_code_);  // workers die with the threads that started them
    }
    ::eventfd_write(stop_.get(), 1);
  }
}

bool Interrupt::requested() const {
  pollfd fd = {stop_.get(), POLLIN, 0};
  return ::poll(&fd, 1, 0) > 0;
}

}  // namespace peakline::bench
