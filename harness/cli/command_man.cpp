#include <fmt/format.h>

#include <string>
#include <string_view>

#include "harness/cli/commands.hpp"
#include "harness/cli/help.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/run/exit_codes.hpp"

namespace peakline::bench {
namespace {

// Escapes text for roff; escaped hyphens can be copied into a shell.
std::string literal(std::string_view text) {
  std::string result;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\' || c == '-') result += '\\';
    result += c;
    if (c == '\\') result.back() = 'e';
    begins_line = c == '\n';
  }
  return result;
}

std::string options_text(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    text += fmt::format(".TP\n.B {}\n{}\n", literal(option_text(*option)),
                        literal(option_description(*option)));
  }
  return text;
}

std::string footer_text(const CLI::App& app) {
  std::string text;
  for (const auto& [is_example, line] : footer_lines(app))
    text += is_example ? fmt::format(".nf\n{}\n.fi\n", literal(line))
                       : fmt::format(".PP\n{}\n", literal(line));
  return text;
}

std::string manual(const CLI::App& app) {
  std::string text = fmt::format(
      ".TH PEAKLINE 1 \"\" \"peakline {}\"\n.SH NAME\npeakline \\- {}\n"
      ".SH SYNOPSIS\n.B peakline\nCOMMAND [OPTION]...\n.SH OPTIONS\n{}",
      PEAKLINE_VERSION, literal(app.get_description()), options_text(app));
  text += ".SH COMMANDS\n";
  const auto is_for_people = [](const CLI::App* command) { return !command->get_group().empty(); };
  for (const CLI::App* command : app.get_subcommands(is_for_people)) {
    text += fmt::format(".SS {}\n{}\n{}", command->get_name(), literal(command->get_description()),
                        options_text(*command));
    if (!command->get_footer().empty()) text += footer_text(*command);
  }
  return text + ".SH EXAMPLES AND EXIT CODES\n" + footer_text(app);
}

}  // namespace

void add_man_command(CLI::App& app, Action& action) {
  CLI::App* man_app = app.add_subcommand("man", "Print the manual page, for man -l");
  man_app->footer("Example:\n  peakline man | man -l -");
  set_action(man_app, action, [&app] { return print(manual(app), kExitOk); });
}

}  // namespace peakline::bench
