#include "harness/cli/terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include "harness/run/progress.hpp"
#include "harness/values/text.hpp"

namespace peakline::bench {

int print(const std::string& text, int code, int unwritable) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return code;
  return fail(unwritable,
              "cannot write to standard output: " + std::generic_category().message(errno));
}

int usage_code(std::string_view convention) {
  constexpr int kNagiosUnknown = 3;
  return convention == kNagios ? kNagiosUnknown : kExitUsage;
}

void note(std::string message) {
  constexpr std::size_t kMaxChars = 1000;
  std::ranges::replace(message, '\n', ' ');
  std::fputs(fmt::format("peakline: {}\n", printable(message, kMaxChars)).c_str(), stderr);
}

int fail(int code, std::string message) {
  note(std::move(message));
  return code;
}

ShowOptions terminal_options() {
  constexpr std::size_t kMinColumns = 60;  // enough for the tables
  ShowOptions options;
  const char* term = std::getenv("TERM");
  options.color = ::isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR") && term &&
                  std::string_view(term) != "dumb";
  if (const auto columns = terminal_columns(STDOUT_FILENO))
    options.width = std::max(kMinColumns, *columns);
  return options;
}

}  // namespace peakline::bench
