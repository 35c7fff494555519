#include <memory>

#include "harness/cli/commands.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/show/peaks.hpp"

namespace peakline::bench {

void add_peaks_command(CLI::App& app, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* peaks_app = app.add_subcommand(
      "peaks", "Print what datasheets state of GPUs: dense peaks, their clocks and sources");
  peaks_app->add_flag("--json", *json, "Print JSON, with PCI ids and all figures");
  peaks_app->footer(
      "A device that is not in the table has no datasheet figures in a profile.\n"
      "Examples:\n"
      "  peakline peaks\n"
      "  peakline peaks --json | jq '.products[] | select(.product == \"L40S\").figures'");
  peaks_app->callback([=, &action] {
    action = [=] {
      return print(
          *json ? peaks_json() : peaks_text({.color = color_wanted(), .width = terminal_width()}),
          kExitOk);
    };
  });
}

}  // namespace peakline::bench
