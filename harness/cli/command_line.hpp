#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/cli/program.hpp"

namespace peakline::bench {

class CommandLine {
 public:
  // command: the whole command line, for the profile.
  CommandLine(const Program& program, const std::vector<std::string>& command);
  ~CommandLine();

  enum class Does { kAll, kParse };
  // Executes or only parses the arguments; returns the exit code. Errors are one line on stderr.
  int run(int argc, char** argv, Does does);

 private:
  struct Commands;
  std::unique_ptr<Commands> commands_;
};

// Prepares the process and runs its command line; returns the exit code.
int run_command_line(int argc, char** argv, const Program& program);

}  // namespace peakline::bench
