#pragma once

// The subcommands. Each function adds one; parsing sets `action` of the chosen one, which does the
// work and returns the exit code.

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/cli/program.hpp"

namespace peakline::bench {

using Action = std::function<int()>;

// Makes `work` the action once the command's arguments are parsed.
inline void set_action(CLI::App* command, Action& action, Action work) {
  command->callback([&action, work = std::move(work)] { action = work; });
}

void add_run_command(CLI::App& app, const Program& program, std::vector<std::string> command,
                     Action& action);
void add_list_command(CLI::App& app, const Program& program, Action& action);
void add_show_command(CLI::App& app, const Program& program, Action& action);
// Takes NEW as values of --new, with which the caller replaces "--".
void add_compare_command(CLI::App& app, Action& action);
// Passes on options of Google Benchmark.
void add_benchmark_command(CLI::App& app, const Program& program, Action& action);
void add_demo_command(CLI::App& app, Action& action);
void add_fleet_command(CLI::App& app, Action& action);
void add_check_command(CLI::App& app, const Program& program, std::vector<std::string> command,
                       Action& action);
void add_peaks_command(CLI::App& app, Action& action);
void add_repeatability_command(CLI::App& app, Action& action);
void add_schema_command(CLI::App& app, Action& action);
void add_man_command(CLI::App& app, Action& action);
void add_worker_command(CLI::App& app, const Program& program, Action& action);

}  // namespace peakline::bench
