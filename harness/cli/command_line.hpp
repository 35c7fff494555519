#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/cli/program.hpp"

namespace peakline::bench {

// The program's commands and options.
class CommandLine {
 public:
  // command: the whole command line, for the profile.
  CommandLine(const Program& program, const std::vector<std::string>& command);
  ~CommandLine();

  enum class Does { kAll, kParse };
  // Does what the arguments say, or only parses them, and returns the exit code; says in one line
  // on stderr what was wrong.
  int run(int argc, char** argv, Does does);

 private:
  struct Commands;
  std::unique_ptr<Commands> commands_;
};

// Prepares the process for whatever may come and runs its command line; returns the exit code.
int run_command_line(int argc, char** argv, const Program& program);

}  // namespace peakline::bench
