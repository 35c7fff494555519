// A system clock that is set back, as it may be where a virtual machine is moved or restored. To be
// preloaded; set by the environment:
//   JUMP_AFTER   readings of the monotonic clock after which both clocks are set back
//   JUMP_BACK_S  by so many seconds

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace {

long variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : 0;
}

std::atomic<long> readings = 0;

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const long jump_after = variable("JUMP_AFTER"), back_s = variable("JUMP_BACK_S");
  const long result = ::syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_MONOTONIC) ++readings;
  if (readings > jump_after && (clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME))
    time->tv_sec -= back_s;
  return static_cast<int>(result);
}
