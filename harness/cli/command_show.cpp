#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <string>

#include "harness/cli/commands.hpp"
#include "harness/cli/read_profiles.hpp"
#include "harness/cli/screen.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/conclude/curves.hpp"
#include "harness/documents/documents.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/plan.hpp"
#include "harness/show/show.hpp"
#include "harness/show/topics.hpp"

namespace peakline::bench {
namespace {

struct ShowArguments {
  std::string file;
  std::optional<std::string> topic;
  bool all = false, json = false;
};

std::string list(std::span<const TopicWord> words) {
  std::vector<std::string_view> all;
  for (const TopicWord& word : words) all.push_back(word.word);
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string text_of(const Profile& profile, std::span<const TopicWord> words,
                    const ShowArguments& arguments) {
  if (arguments.json) return show_json(profile, checks_of(profile));
  const ShowOptions options = terminal_options();
  if (!arguments.topic && !arguments.all) return screen_of(profile);
  const Checks checks = checks_of(profile);
  if (!arguments.topic) return show_all(profile, options, &checks);
  const std::string wanted = arguments.topic->empty() ? "''" : shown(*arguments.topic);
  const std::vector<std::string> own = topics_of(profile);
  const auto [names, ambiguous, needs] = choose_topics(words, own, *arguments.topic);
  if (!ambiguous.empty())
    throw UsageError(fmt::format("--topic {}: is it {}?", wanted, fmt::join(ambiguous, " or ")));
  if (names.empty() && needs.empty())
    throw UsageError(fmt::format("--topic {}: no such topic{} (there are {})", wanted,
                                 meant_topic(words, *arguments.topic), list(words)));
  std::string text = show_topics(profile, names, arguments.all, options, &checks);
  if (!text.empty()) return text;
  const std::string more = !needs.empty()            ? fmt::format(": {}", needs)
                           : profile.mode == "quick" ? ": peakline run without --quick"
                                                     : "";
  return fmt::format("{} has no {} figures{}\n",
                     shown(arguments.file.substr(arguments.file.rfind('/') + 1)), wanted, more);
}

}  // namespace

void add_show_command(CLI::App& app, const Program& program, Action& action) {
  auto arguments = std::make_shared<ShowArguments>();
  CLI::App* show_app = app.add_subcommand("show", "Print what matters in a profile");
  show_app->add_option("PROFILE", arguments->file, "Profile written by peakline run")->required();
  CLI::Option* all = show_app->add_flag(
      "--all", arguments->all, "Print every ceiling, finding and curve, or every row of --topic");
  CLI::Option* topic =
      show_app
          ->add_option("--topic", arguments->topic,
                       fmt::format("Print one part (with --all, every row of it): {}; or what you "
                                   "call it, such as stride, graph, pinned or tlb",
                                   list(program.topics)))
          ->type_name("NAME");
  show_app->add_flag("--json", arguments->json, "Print JSON, with everything")
      ->excludes(all)
      ->excludes(topic);
  show_app->footer(
      "Examples:\n"
      "  peakline show node7.json\n"
      "  peakline show node7.json --topic pcie\n"
      "  peakline show node7.json --all | less -R\n"
      "  peakline show node7.json --json");
  set_action(show_app, action, [arguments, &program] {
    Profile profile = read_one(arguments->file);
    Registry registry;
    program.catalog(registry, {});
    use_own_numbers(profile, registry.benchmarks());
    return print(text_of(profile, program.topics, *arguments), kExitOk);
  });
}

}  // namespace peakline::bench
