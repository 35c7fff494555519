// System calls that fail, and a worker that ends, hangs, floods or lies. To be preloaded; set by
// the environment:
//   FAULT_IN    coordinator or worker: the process that has the fault
//   FAULT_CALL  the calls that are counted: write (to a file), fsync, create (a rename that
//               replaces nothing), rename, fork, pipe2, thread (pthread_create) or answer (of a
//               worker)
//   FAULT_AT    at the how many-eth of them it happens, from 1; 0: at each of them
//   FAULT_DOES  error:N    the call fails with that errno
//               signal:N   the process gets the signal first
//               exit:N     the process ends
// and of a worker's answer
//               say:TEXT   it answers the text instead, of which each @ is a newline
//               print:N    it prints so many bytes in lines first
//               flood      it prints without end, and answers nothing more
//               swell:N    it answers so many bytes without end
//               repeat     it answers twice
//               close      it answers nothing more, and hangs

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace {

constexpr int kAnswers = 3;  // the descriptor on which a worker answers

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

bool is_worker() {
  std::ifstream file("/proc/self/cmdline");
  const std::string line((std::istreambuf_iterator<char>(file)), {});
  const auto first = line.find('\0');
  return first != line.npos && std::string_view(line.c_str() + first + 1) == "worker";
}

struct Fault {
  std::string call, kind, value;
  int at = 0;
  long number = 0;
  std::atomic<int> seen = 0;

  Fault() {
    if ((variable("FAULT_IN") == "worker") != is_worker()) return;
    call = variable("FAULT_CALL");
    at = std::atoi(variable("FAULT_AT").c_str());
    const std::string does = variable("FAULT_DOES");
    kind = does.substr(0, does.find(':'));
    value = does.substr(std::min(does.size(), kind.size() + 1));
    number = std::atol(value.c_str());
  }

  bool counts(std::string_view one) const { return call == one; }
};

// Made before main, and with it the program's own threads.
Fault& fault() {
  static Fault* const kFault = new Fault;  // NOLINT: destructors of others may still write
  return *kFault;
}
[[gnu::constructor]] void begin() { fault(); }

bool happens(std::string_view call) {
  Fault& f = fault();
  return f.counts(call) && (++f.seen == f.at || f.at == 0);
}

// True: the call is to fail, and errno says why.
bool fails(std::string_view call) {
  if (!happens(call)) return false;
  const Fault& f = fault();
  if (f.kind == "signal") ::kill(::getpid(), static_cast<int>(f.number));
  if (f.kind == "exit") ::_exit(static_cast<int>(f.number));
  errno = static_cast<int>(f.number);
  return f.kind == "error";
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));  // NOLINT
}

void put(int fd, std::string_view text) {
  while (!text.empty()) {
    const long n = ::syscall(SYS_write, fd, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void put_lines(int fd, long bytes) {
  std::string chunk(4096, 'x');
  chunk.back() = '\n';
  for (long put_bytes = 0; put_bytes < bytes; put_bytes += std::ssize(chunk)) put(fd, chunk);
}

// What becomes of a worker's answer.
void answer(std::string_view text) {
  const Fault& f = fault();
  if (f.kind == "say") {
    std::string said = f.value;
    for (char& c : said)
      if (c == '@') c = '\n';
    return put(kAnswers, said);
  }
  if (f.kind == "print") put_lines(STDERR_FILENO, f.number);
  for (; f.kind == "flood"; ::usleep(10'000)) put_lines(STDERR_FILENO, 1 << 20);
  if (f.kind == "swell") return put(kAnswers, std::string(static_cast<std::size_t>(f.number), 'x'));
  if (f.kind == "close") {
    ::close(kAnswers);
    while (true) ::pause();
  }
  put(kAnswers, text);
  if (f.kind == "repeat") put(kAnswers, text);
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* data, size_t size) {
  struct stat status;
  if (fd == kAnswers && fault().counts("answer")) {
    if (fails("answer")) return -1;
    const bool now = fault().at == 0 || fault().seen == fault().at;
    if (now) return answer({static_cast<const char*>(data), size}), static_cast<ssize_t>(size);
  } else if (fault().counts("write") && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    if (fails("write")) return -1;
  }
  return ::syscall(SYS_write, fd, data, size);
}

int fsync(int fd) { return fails("fsync") ? -1 : static_cast<int>(::syscall(SYS_fsync, fd)); }

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  if (fails(flags == 0 ? "rename" : "create")) return -1;
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int pipe2(int* fds, int flags) noexcept {
  return fails("pipe2") ? -1 : static_cast<int>(::syscall(SYS_pipe2, fds, flags));
}

pid_t fork() noexcept {
  static auto* const real = next<pid_t()>("fork");
  return fails("fork") ? -1 : real();
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  static auto* const real = next<decltype(pthread_create)>("pthread_create");
  return fails("thread") ? errno : real(thread, attributes, start, argument);
}
}
