#include "harness/cli/command_line.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cli/commands.hpp"
#include "harness/cli/help.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/cli/unexpected.hpp"
#include "harness/profile/command.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/build_facts.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/plan.hpp"
#include "harness/values/text.hpp"

namespace peakline::bench {
namespace {

// CLI11's messages contain arguments.
constexpr std::size_t kMaxParseErrorChars = 200;

// Also reached when a destructor runs out of memory, so composes no message.
[[noreturn]] void terminated() {
  constexpr std::string_view kMessage = "peakline: out of memory\n";
  try {
    if (const auto exception = std::current_exception()) std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    if (::write(STDERR_FILENO, kMessage.data(), kMessage.size()) > 0) ::_exit(kExitUsage);
  } catch (...) {
  }
  std::abort();
}

// A closed standard descriptor would be reused by the next file, and be written to.
void open_standard_descriptors() {
  int fd = 0;
  do {
    fd = ::open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) ::close(fd);
}

// CLI11 ends options at "--", which separates compare's two sides and may precede options.
std::vector<const char*> separator_as_option(int argc, char** argv) {
  std::vector<const char*> arguments(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "compare") {
    const auto separator = std::ranges::find(arguments, std::string_view("--"));
    if (separator != arguments.end()) *separator = "--new";
  }
  return arguments;
}

// The code for bad usage by the convention that the words ask for, even if they cannot be parsed.
int usage_code_of(const std::vector<std::string>& command) {
  int code = kExitUsage;
  for (const profile_format::CommandWord& word : profile_format::words_of(command))
    if (word.name == "--exit-codes") code = usage_code(word.value.value_or(""));
  return code;
}

constexpr const char* kFooter =
    "Examples:\n"
    "  peakline demo try                   files to try the others with, without a GPU\n"
    "  peakline run                        measure every GPU and the host\n"
    "  peakline run --quick                the main figures in 15 s (four GPUs: 33 s), less "
    "precisely\n"
    "  peakline list                       what can be measured\n"
    "  peakline show profile.json          the summary that run prints at the end\n"
    "  peakline check                      is this machine's GPU healthy: PASS or FAIL\n"
    "  peakline compare a.json -- b.json   what became faster or slower\n"
    "  peakline-report profile.json        its pictures, as one page\n"
    "The Python package brings peakline-report, peakline-mfu and peakline-llm.\n"
    "Exit codes: 0 success; 1 a finding that the caller asked to fail on (check, --fail-on, run "
    "--verify); 2 bad usage or unreadable input; 3 partial profile (a failed measurement, an "
    "interrupt, the time limit), a file in a folder that fleet could not read, or what check "
    "cannot judge.";

std::string version_text() {
  return fmt::format("peakline {} ({})", PEAKLINE_VERSION, build_facts().git_revision);
}

// These do the same as the flags, for those who expect commands.
void add_help_commands(CLI::App& app, Action& action) {
  CLI::App* version = app.add_subcommand("version", "Print the version");
  version->footer("Example:\n  peakline version");
  set_action(version, action, [] { return print(version_text() + '\n', kExitOk); });
  auto name = std::make_shared<std::string>();
  CLI::App* help = app.add_subcommand("help", "Print the help of peakline or of a command");
  help->add_option("COMMAND", *name, "One of the commands");
  help->footer("Example:\n  peakline help run");
  set_action(help, action, [&app, name] {
    const CLI::App* command = name->empty() ? &app : command_called(app, *name);
    if (command == nullptr) throw UsageError(unknown_command(app, *name));
    return print(help_formatter()->make_help(command, "", CLI::AppFormatMode::Normal), kExitOk);
  });
}

}  // namespace

struct CommandLine::Commands {
  CLI::App app{"Measures what a machine's GPUs and CPUs can really do", "peakline"};
  Action action;
};

CommandLine::CommandLine(const Program& program, const std::vector<std::string>& command)
    : commands_(std::make_unique<Commands>()) {
  CLI::App& app = commands_->app;
  Action& action = commands_->action;
  app.formatter(help_formatter());
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version", version_text)->description("Print the version");
  app.require_subcommand(0, 1);  // missing and unknown commands are reported below
  app.footer(kFooter);
  add_run_command(app, program, command, action);
  add_list_command(app, program, action);
  add_show_command(app, program, action);
  add_check_command(app, program, command, action);
  add_compare_command(app, action);
  add_benchmark_command(app, program, action);
  add_fleet_command(app, action);
  add_repeatability_command(app, action);
  add_demo_command(app, action);
  add_peaks_command(app, action);
  add_schema_command(app, action);
  add_man_command(app, action);
  add_help_commands(app, action);
  add_worker_command(app, program, action);
}

CommandLine::~CommandLine() = default;

int CommandLine::run(int argc, char** argv, Does does) {
  auto& [app, action] = *commands_;
  const std::vector<const char*> arguments = separator_as_option(argc, argv);
  const int usage = usage_code_of({argv, argv + argc});
  bool measures = false;
  try {
    action = nullptr;
    app.parse(argc, arguments.data());
    if (!action) throw UsageError("expected a subcommand (see peakline --help)");
    if (does == Does::kParse) return kExitOk;
    measures =
        app.got_subcommand("run") || app.got_subcommand("worker") || app.got_subcommand("check");
    if (!measures) std::set_terminate(terminated);
    return action();
  } catch (const CLI::Success& help_or_version) {
    const int code = app.exit(help_or_version);
    return std::cout.flush() ? code : fail(usage, "cannot write to standard output");
  } catch (const CLI::ParseError& error) {
    const std::string wrong = unexpected(app);
    return fail(usage, !wrong.empty() ? wrong
                                      : fmt::format("{} (see {})",
                                                    printable(error.what(), kMaxParseErrorChars),
                                                    help_page(app)));
  } catch (const UsageError& error) {
    return fail(usage, error.what());
  } catch (const ProfileError& error) {
    return fail(usage, error.what());
  } catch (const std::bad_alloc&) {
    return fail(measures ? kExitPartial : usage, "out of memory");
  } catch (const std::exception& error) {
    return fail(measures ? kExitPartial : usage, reason_of(error));
  }
}

int run_command_line(int argc, char** argv, const Program& program) {
  open_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // report a too large file by the failing write
  return CommandLine(program, {argv, argv + argc}).run(argc, argv, CommandLine::Does::kAll);
}

}  // namespace peakline::bench
