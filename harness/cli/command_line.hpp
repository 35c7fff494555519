#pragma once

#include <string>

#include "harness/benchmark/registry.hpp"
#include "harness/core/facts.hpp"

namespace peakline::bench {

// What the executable is made of.
struct Program {
  Catalog catalog = nullptr;
  SoftwareFacts build;  // versions of what it was built with
};

// Does what the command line says and returns the exit code.
int run_command_line(int argc, char** argv, const Program& program);

}  // namespace peakline::bench
