#pragma once

// Messages for arguments that are neither a command nor an option.

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace peakline::bench {

// "peakline run --help" for the parsed command.
std::string help_page(const CLI::App& app);

// Names the first unknown argument, a likely correction and the help page; "" without one.
std::string unexpected(const CLI::App& app);

// A command of the help by its name; nullptr if there is none.
const CLI::App* command_called(const CLI::App& app, std::string_view name);
// "shwo: not a command; did you mean peakline show? (see peakline show --help)"
std::string unknown_command(const CLI::App& app, std::string_view argument);

// "; did you mean --quick?" if the command has a similar option, else "".
std::string meant_option(const CLI::App& command, std::string_view argument);

}  // namespace peakline::bench
