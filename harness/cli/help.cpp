#include "harness/cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "harness/cli/terminal.hpp"
#include "harness/show/terminal_text.hpp"

namespace peakline::bench {
namespace {

constexpr std::size_t kIndent = 2, kWidestName = 26;

// A longer name stands on a line of its own.
std::string entry(const std::string& name, const std::string& text, std::size_t width) {
  const std::string indent(kIndent, ' ');
  if (text.empty()) return indent + name + '\n';
  const std::string column(kIndent + kWidestName + kIndent, ' ');
  if (name.size() > kWidestName) return indent + name + '\n' + hanging(column, text, width);
  return hanging(indent + name + column.substr(kIndent + name.size()), text, width);
}

std::string usage(const CLI::App& command, const std::string& name) {
  std::string text = fmt::format("Usage: {} [OPTION]...", name);
  if (!command.get_subcommands([](const CLI::App*) { return true; }).empty())
    return fmt::format("Usage: {} COMMAND [OPTION]...\n", name);
  for (const CLI::Option* option :
       command.get_options([](const CLI::Option* o) { return !o->nonpositional(); }))
    text += (option->get_required() ? " " : " [") + option_text(*option) +
            (option->get_required() ? "" : "]");
  return text + '\n';
}

class Help : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* command, std::string, CLI::AppFormatMode) const override {
    const std::size_t width = terminal_options().width;
    const CLI::App* parent = command->get_parent();
    const std::string whole = (parent ? parent->get_name() + ' ' : "") + command->get_name();
    std::string text =
        hanging("", command->get_description() + '.', width) + usage(*command, whole);
    auto options = command->get_options();
    std::rotate(options.begin(), options.begin() + 1, options.end());  // --help is the last one
    for (const std::string& group : groups_of(options)) {
      text += fmt::format("\n{}:\n", group);
      for (const CLI::Option* option : options)
        if (option->get_group() == group)
          text += entry(option_text(*option), option_description(*option), width);
    }
    std::string commands;
    for (const CLI::App* one :
         command->get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); }))
      commands += entry(one->get_name(), one->get_description(), width);
    if (!commands.empty()) text += "\nCommands:\n" + commands;
    if (!command->get_footer().empty()) text += '\n';
    for (const auto& [is_example, line] : footer_lines(*command))
      text += is_example ? line + '\n' : hanging("", line, width);
    return text;
  }

 private:
  // Groups come in the order of their first options.
  static std::vector<std::string> groups_of(const std::vector<const CLI::Option*>& options) {
    std::vector<std::string> groups;
    for (const CLI::Option* option : options)
      if (std::ranges::find(groups, option->get_group()) == groups.end())
        groups.push_back(option->get_group());
    return groups;
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<Help>(); }

std::string option_text(const CLI::Option& option) {
  if (!option.nonpositional())
    return option.get_name(true) + (option.get_items_expected_max() > 1 ? "..." : "");
  // CLI11 appends what values it allows, after a colon; one in brackets is the type's own.
  const std::string type = option.get_type_name();
  const std::size_t own = type.find("[:");
  const std::string shown = type.substr(0, type.find(':', own == type.npos ? 0 : own + 2));
  return option.get_name(false, true) + (shown.empty() ? "" : ' ' + shown);
}

std::string option_description(const CLI::Option& option) {
  const std::string value = option.get_default_str();
  return option.get_description() + (value.empty() ? "" : fmt::format(" (default: {})", value));
}

std::vector<FooterLine> footer_lines(const CLI::App& command) {
  std::vector<FooterLine> lines;
  const std::string footer = command.get_footer();
  std::string_view rest = footer;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    lines.push_back({line.starts_with(' '), std::string(line)});
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  return lines;
}

void begin_options(CLI::App& command, const std::string& group) {
  command.option_defaults()->group(group);
}

}  // namespace peakline::bench
