#include <memory>
#include <string>

#include "harness/cli/commands.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/exit_codes.hpp"

namespace peakline::bench {

void add_schema_command(CLI::App& app, Action& action) {
  auto kind = std::make_shared<std::string>("profile");
  CLI::App* schema_app =
      app.add_subcommand("schema", "Print the JSON Schema of a profile, or of a population");
  schema_app
      ->add_option("KIND", *kind,
                   "profile: what run writes; population: what fleet --write-reference writes")
      ->check(CLI::IsMember({"profile", "population"}))
      ->capture_default_str();
  schema_app->footer(
      "Examples:\n"
      "  peakline schema > profile.schema.json\n"
      "  peakline schema population > population.schema.json");
  set_action(schema_app, action, [=] {
    return print(*kind == "profile" ? profile_schema() : population_schema(), kExitOk);
  });
}

}  // namespace peakline::bench
