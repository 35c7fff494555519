#include "harness/run/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {
namespace {

// Shows that a run goes on without filling a log file.
constexpr auto kPlainInterval = std::chrono::seconds(5);
constexpr std::size_t kDefaultColumns = 80;
constexpr std::size_t kMaxMessageChars = 1000;

std::string record_text(const Measurement& m) {
  if (m.status != Status::kOk) return fmt::format("{}: {}", to_string(m.status), m.reason);
  std::string text = m.value ? format_value(*m.value, m.unit) : "measured";
  if (m.flags.unstable) {
    text += ", varies";
  } else if (m.summary && m.summary->median > 0) {
    const double half_width = (m.summary->ci_high - m.summary->ci_low) / 2 / m.summary->median;
    text += " +- " + format_percent(half_width);
  }
  if (m.verified.value_or(false)) text += ", verified";
  if (m.flags.throttled) text += ", throttled";
  return fmt::format("{}, took {}", text, format_time(m.duration_s));
}

// "1:40", "0:05"
std::string format_duration(double seconds) {
  const auto whole = std::llround(std::max(0.0, seconds));
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::optional<std::size_t> terminal_columns(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

Progress::Progress(Verbosity verbosity, bool terminal)
    : verbosity_(verbosity), terminal_(terminal) {}

Progress::~Progress() { erase(); }

void Progress::name_device(const std::string& device, std::string name) {
  names_[device] = std::move(name);
}

std::string Progress::name_of(const std::string& device) const {
  const auto found = names_.find(device);
  return found == names_.end() ? device : found->second;
}

void Progress::expect(std::size_t points, double seconds) {
  points_ = points;
  left_s_ = seconds;
}

void Progress::started(const std::string& device, const std::string& point, bool again) {
  const std::lock_guard lock(mutex_);
  running_[device] = {point, again};
  show();
}

void Progress::finished(const Measurement& measurement, double share_s, bool again) {
  const std::lock_guard lock(mutex_);
  running_.erase(measurement.device);
  done_ += again ? 0 : 1;
  left_s_ -= share_s;
  const bool failed = measurement.status == Status::kError;
  if (verbosity_ == Verbosity::kVerbose || failed) {
    print(fmt::format("{} {}: {}", name_of(measurement.device), measurement.name(),
                      record_text(measurement)));
  }
}

void Progress::passed_over(const std::string& device, double share_s, bool again) {
  const std::lock_guard lock(mutex_);
  running_.erase(device);
  done_ += again ? 0 : 1;
  left_s_ -= share_s;
}

void Progress::note(const std::string& message) {
  if (verbosity_ == Verbosity::kQuiet) return;
  error(message);
}

void Progress::error(const std::string& message) {
  const std::lock_guard lock(mutex_);
  print("peakline: " + message);
}

void Progress::log(const std::string& device, std::string_view line) {
  if (verbosity_ != Verbosity::kVerbose) return;
  const std::lock_guard lock(mutex_);
  print(fmt::format("{}: {}", name_of(device), line));
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  erase();
}

void Progress::print(std::string_view line) {
  erase();
  std::fputs((printable(line, kMaxMessageChars) + "\n").c_str(), stderr);
}

void Progress::show() {
  if (verbosity_ != Verbosity::kNormal) return;
  const auto now = Clock::now();
  if (!terminal_ && now - last_shown_ < kPlainInterval) return;
  last_shown_ = now;
  const bool next =
      std::ranges::any_of(running_, [](const auto& running) { return !running.second.again; });
  std::string line = fmt::format("[{}/{}, {} left]", std::min(done_ + (next ? 1 : 0), points_),
                                 points_, format_duration(left_s_));
  for (const auto& [device, running] : running_)
    line += fmt::format(" {} {}{}", name_of(device), running.point, running.again ? " again" : "");
  if (!terminal_) return print(line);
  // A wrapped line cannot be erased, and some terminals wrap at the last column.
  const std::size_t columns = terminal_columns(STDERR_FILENO).value_or(kDefaultColumns);
  line = printable(line, std::max<std::size_t>(columns - 1, 1));
  std::fputs(("\r" + line + "\033[K").c_str(), stderr);
  shown_ = true;
}

void Progress::erase() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

}  // namespace peakline::bench
