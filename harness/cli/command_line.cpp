#include "harness/cli/command_line.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "harness/cli/commands.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/plan.hpp"

namespace peakline::bench {
namespace {

int fail(int code, std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::fputs(fmt::format("peakline: {}\n", message).c_str(), stderr);
  return code;
}

// A descriptor below 3 that is closed would be given to a file or a pipe, and be written to as if
// it were stdout.
void open_standard_descriptors() {
  int fd = 0;
  do {
    fd = ::open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) ::close(fd);
}

int run(int argc, char** argv, const Program& program) {
  const std::vector<std::string> command(argv, argv + argc);
  CLI::App app("Measures what a machine's GPUs and CPUs can really do, and writes it down once.",
               "peakline");
  app.set_version_flag("--version", [&program] {
    return fmt::format("peakline {} ({})", PEAKLINE_VERSION, program.build.git_revision);
  });
  app.require_subcommand(0, 1);  // a missing one is told below, an unknown one by its name
  app.footer(
      "Examples:\n"
      "  peakline run                    measure every GPU and the host\n"
      "  peakline run --quick            the same in 15 s, less precisely\n"
      "  peakline list                   what can be measured\n"
      "  peakline show profile.json      the summary that run prints at its end\n"
      "  peakline compare a.json -- b.json   what became faster or slower\n"
      "Exit codes: 0 fine; 1 a finding that the caller asked to fail on; 2 bad usage or "
      "unreadable\n"
      "input; 3 the profile is partial (a measurement failed, an interrupt, the time limit).");
  Action action;
  add_run_command(app, program, command, action);
  add_list_command(app, program, action);
  add_show_command(app, action);
  add_compare_command(app, action);
  add_schema_command(app, action);
  add_worker_command(app, program, action);
  // To CLI11 "--" ends the options; here it stands between the two sides, and options may follow.
  std::vector<const char*> arguments(argv, argv + argc);
  if (argc > 1 && command[1] == "compare") {
    const auto separator = std::find(command.begin(), command.end(), "--");
    if (separator != command.end()) arguments[separator - command.begin()] = "--new";
  }
  try {
    app.parse(argc, arguments.data());
    if (!action) throw UsageError("expected a subcommand (see peakline --help)");
    return action();
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return fail(kExitUsage, fmt::format("{} (see peakline --help)", error.what()));
  } catch (const UsageError& error) {
    return fail(kExitUsage, error.what());
  } catch (const ProfileError& error) {
    return fail(kExitUsage, error.what());
  }
}

}  // namespace

int run_command_line(int argc, char** argv, const Program& program) {
  open_standard_descriptors();
  try {
    return run(argc, argv, program);
  } catch (const std::exception& error) {
    return fail(kExitPartial, error.what());
  }
}

}  // namespace peakline::bench
