#pragma once

// Messages for arguments that are neither a command nor an option.

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace peakline::bench {

// "peakline run --help": where to read on about the command that was parsed, if any.
std::string help_page(const CLI::App& app);

// Names the first argument that nothing takes, what was likely meant, and the help page of that;
// empty where everything is taken.
std::string unexpected(const CLI::App& app);

// "; did you mean --quick?" where an option of the command resembles the argument, else empty.
std::string meant_option(const CLI::App& command, std::string_view argument);

}  // namespace peakline::bench
