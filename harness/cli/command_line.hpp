#pragma once

#include "harness/cli/program.hpp"

namespace peakline::bench {

// Does what the command line says and returns the exit code.
int run_command_line(int argc, char** argv, const Program& program);

}  // namespace peakline::bench
