#pragma once

// The subcommands of the executable. Each function adds one to the app; once it was given on the
// command line and parsed, `action` does its work and returns the exit code.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/benchmark/bench.hpp"
#include "harness/cli/command_line.hpp"

namespace peakline::bench {

// 0: fine, 1: a finding that the caller asked to fail on, 2: bad usage or unreadable input (thrown
// as UsageError, ProfileError or by CLI11), 3: a partial profile.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFinding = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitPartial = 3;

using Action = std::function<int()>;

// command: the whole command line, for the profile.
void add_run_command(CLI::App& app, const Program& program, std::vector<std::string> command,
                     Action& action);
void add_list_command(CLI::App& app, const Program& program, Action& action);
void add_show_command(CLI::App& app, Action& action);
// Takes NEW as the values of --new, for which main puts the "--" of the command line.
void add_compare_command(CLI::App& app, Action& action);
void add_schema_command(CLI::App& app, Action& action);
void add_worker_command(CLI::App& app, const Program& program, Action& action);

// The options that `run` takes from its user and hands on to `worker`, which takes the same ones.
struct MeasureArguments {
  bool quick = false;
  std::optional<double> max_noise_percent;  // default: the mode's own
  std::size_t min_samples = RunOptions{}.min_samples;
  std::uint64_t seed = RunOptions{}.seed;
  bool no_verify = false;
  double soak_s = 0;
  bool profile = false;

  void add_to(CLI::App& app);
  // Throws UsageError.
  RunOptions checked() const;
};

// Writes a command's result to stdout and returns `code`; where it cannot be written, says why and
// returns kExitUsage. A reader that has seen enough, as `head` has, is no failure.
int print(const std::string& text, int code);

// For commands that print a summary: a colour terminal is there and wanted, its columns.
bool color_wanted();
int terminal_width();

}  // namespace peakline::bench
