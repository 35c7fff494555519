// A command line, one argument a line. It is parsed, and not done.

#include <vector>

#include "harness/cli/command_line.hpp"
#include "harness/run/exit_codes.hpp"
#include "tests/fuzz/round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace peakline;
  static const bench::Program kProgram{};
  // Made once: that takes longer than to parse.
  static bench::CommandLine commands(kProgram, {"peakline"});
  std::string text = "peakline\n" + std::string(fuzz::text_of(data, size));
  std::vector<char*> arguments = {text.data()};
  for (char& c : text) {
    if (c != '\n') continue;
    c = '\0';
    arguments.push_back(&c + 1);
  }
  const int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  const int code = commands.run(count, arguments.data(), bench::CommandLine::Does::kParse);
  if (code != bench::kExitOk && code != bench::kExitUsage) std::abort();
  return 0;
}
