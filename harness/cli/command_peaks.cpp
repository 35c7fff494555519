#include <fmt/format.h>

#include <memory>
#include <string>

#include "harness/cli/commands.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/documents/documents.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/plan.hpp"
#include "harness/show/peaks.hpp"

namespace peakline::bench {

void add_peaks_command(CLI::App& app, Action& action) {
  auto json = std::make_shared<bool>(false);
  auto name = std::make_shared<std::string>();
  CLI::App* peaks_app = app.add_subcommand(
      "peaks", "Print what datasheets state of GPUs: dense peaks, their clocks and sources");
  peaks_app->add_option("NAME", *name,
                        "Only products of that name, such as H100 or \"A100 80 GB\"");
  peaks_app->add_flag("--json", *json, "Print JSON, with PCI ids and all figures");
  peaks_app->footer(
      "A device that is not in the table has no datasheet figures in a profile.\n"
      "Examples:\n"
      "  peakline peaks\n"
      "  peakline peaks H100\n"
      "  peakline peaks --json | jq '.products[] | select(.product == \"L40S\").figures'");
  set_action(peaks_app, action, [=] {
    const std::string text = *json ? peaks_json(*name) : peaks_text(*name, terminal_options());
    if (text.empty())
      throw UsageError(
          fmt::format("no product is called \"{}\": the table has NVIDIA GPUs from Turing (compute "
                      "capability 7.5) on, none older such as the V100; peakline peaks lists them",
                      *name));
    return print(text, kExitOk);
  });
}

}  // namespace peakline::bench
