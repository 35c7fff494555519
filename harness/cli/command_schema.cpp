#include "harness/cli/commands.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/exit_codes.hpp"

namespace peakline::bench {

void add_schema_command(CLI::App& app, Action& action) {
  CLI::App* schema_app = app.add_subcommand("schema", "Print the JSON Schema of a profile");
  schema_app->footer("Example:\n  peakline schema > profile.schema.json");
  schema_app->callback([&action] { action = [] { return print(profile_schema(), kExitOk); }; });
}

}  // namespace peakline::bench
