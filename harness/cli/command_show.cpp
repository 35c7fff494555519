#include <memory>
#include <string>

#include "harness/cli/commands.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/show/show.hpp"

namespace peakline::bench {
namespace {

int show(const std::string& file, bool json) {
  const Profile profile = read_profile(file);
  const std::string text =
      json ? show_json(profile)
           : show_text(profile, {.color = color_wanted(), .width = terminal_width()});
  return print(text, kExitOk);
}

}  // namespace

void add_show_command(CLI::App& app, Action& action) {
  auto json = std::make_shared<bool>(false);
  auto file = std::make_shared<std::string>();
  CLI::App* show_app = app.add_subcommand("show", "Print the summary of a profile");
  show_app->add_option("PROFILE", *file, "Profile written by peakline run")->required();
  show_app->add_flag("--json", *json, "Print JSON");
  show_app->footer("Examples:\n  peakline show node7.json\n  peakline show node7.json --json");
  show_app->callback(
      [json, file, &action] { action = [json, file] { return show(*file, *json); }; });
}

}  // namespace peakline::bench
