#include "harness/cli/unexpected.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "harness/run/plan.hpp"
#include "harness/values/closest.hpp"
#include "harness/values/text.hpp"

namespace peakline::bench {
namespace {

// From the Python package; the program does not start them, as it also runs without.
constexpr std::string_view kPythonCommands[] = {"report", "mfu", "llm"};

std::vector<std::string> long_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  return names;
}

// Commands for users.
std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

bool is_option(std::string_view argument) { return argument.starts_with('-'); }

// "--quick" of "--quick=1"
std::string_view option_name(std::string_view argument) {
  return argument.substr(0, argument.find('='));
}

// For an option before or without a command.
std::string unknown_option(const CLI::App& app, std::string_view argument) {
  std::vector<std::string> having;
  for (const CLI::App* command : commands_of(app)) {
    const std::vector<std::string> names = long_names(*command);
    const auto has = [&](const std::string& name) { return "--" + name == option_name(argument); };
    if (std::ranges::any_of(names, has)) having.push_back(command->get_name());
  }
  if (!having.empty())
    return fmt::format("{}: goes after its command: {} (see {} --help)", shown(argument),
                       fmt::join(having, ", "), app.get_name());
  return fmt::format("{}: not an option{} (see {} --help)", shown(argument),
                     meant_option(app, argument), app.get_name());
}

const CLI::App* parsed_command(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? nullptr : parsed.front();
}

}  // namespace

std::string unknown_command(const CLI::App& app, std::string_view argument) {
  std::vector<std::string> names(std::begin(kPythonCommands), std::end(kPythonCommands));
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  const std::string name = closest(argument, names);
  if (name.empty())
    return fmt::format("{}: not a command (see {} --help)", shown(argument), app.get_name());
  const bool is_python = std::ranges::find(kPythonCommands, name) != std::end(kPythonCommands);
  const std::string page = fmt::format("{}{}{}", app.get_name(), is_python ? '-' : ' ', name);
  return fmt::format("{}: not a command; did you mean {}? (see {} --help)", shown(argument), page,
                     page);
}

const CLI::App* command_called(const CLI::App& app, std::string_view name) {
  const std::vector<const CLI::App*> commands = commands_of(app);
  const auto found =
      std::ranges::find(commands, name, [](const CLI::App* c) { return c->get_name(); });
  return found == commands.end() ? nullptr : *found;
}

std::string help_page(const CLI::App& app) {
  const CLI::App* command = parsed_command(app);
  return command == nullptr ? app.get_name() + " --help"
                            : fmt::format("{} {} --help", app.get_name(), command->get_name());
}

std::string unexpected(const CLI::App& app) {
  if (const auto arguments = app.remaining(); !arguments.empty()) {
    const std::string& first = arguments.front();
    return is_option(first) ? unknown_option(app, first) : unknown_command(app, first);
  }
  const CLI::App* command = parsed_command(app);
  if (command == nullptr || command->get_allow_extras() || command->remaining().empty()) return {};
  const std::string first = command->remaining().front();
  return fmt::format("{}: not an {} of {}{} (see {})", shown(first),
                     is_option(first) ? "option" : "argument", command->get_name(),
                     meant_option(*command, first), help_page(app));
}

std::string meant_option(const CLI::App& command, std::string_view argument) {
  constexpr std::string_view kDashes = "--";
  if (!argument.starts_with(kDashes)) return {};
  return did_you_mean(option_name(argument).substr(kDashes.size()), long_names(command), kDashes);
}

}  // namespace peakline::bench
