#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <string>

#include "harness/cli/commands.hpp"
#include "harness/cli/screen.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/plan.hpp"
#include "harness/show/show.hpp"

namespace peakline::bench {
namespace {

struct ShowArguments {
  std::string file;
  std::optional<std::string> topic;
  bool all = false, json = false;
};

std::string text_of(const Profile& profile, const ShowArguments& arguments) {
  if (arguments.json) return show_json(profile, checks_of(profile));
  const ShowOptions options{.color = color_wanted(), .width = terminal_width()};
  if (arguments.all) return show_all(profile, options);
  if (!arguments.topic) return screen_of(profile);
  std::string text = show_topic(profile, *arguments.topic, options);
  if (text.empty())
    throw UsageError(fmt::format("--topic {}: this profile has {}", shown(*arguments.topic),
                                 fmt::join(topics_of(profile), ", ")));
  return text;
}

}  // namespace

void add_show_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ShowArguments>();
  CLI::App* show_app = app.add_subcommand("show", "Print what matters in a profile");
  show_app->add_option("PROFILE", arguments->file, "Profile written by peakline run")->required();
  CLI::Option* all =
      show_app->add_flag("--all", arguments->all, "Print every ceiling, finding and curve");
  CLI::Option* topic =
      show_app
          ->add_option("--topic", arguments->topic,
                       "Print one part: compute, findings, caches, ...; a wrong one lists those "
                       "that there are")
          ->type_name("NAME")
          ->excludes(all);
  show_app->add_flag("--json", arguments->json, "Print JSON, with everything")
      ->excludes(all)
      ->excludes(topic);
  show_app->footer(
      "Examples:\n"
      "  peakline show node7.json\n"
      "  peakline show node7.json --topic caches\n"
      "  peakline show node7.json --all | less -R\n"
      "  peakline show node7.json --json");
  show_app->callback([arguments, &action] {
    action = [arguments] {
      return print(text_of(read_profile(arguments->file), *arguments), kExitOk);
    };
  });
}

}  // namespace peakline::bench
