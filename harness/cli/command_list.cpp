#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/benchmark/registry.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/documents/documents.hpp"
#include "harness/host/facts.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/gpus.hpp"
#include "harness/values/text.hpp"

namespace peakline::bench {
namespace {

// Each parameter's values, abridged: "width 4 8 16, bytes 4096 ... 1073741824 (19 values)".
std::string parameters_text(const Benchmark& benchmark) {
  constexpr std::size_t kListed = 6;
  using Parameter = std::pair<std::string, std::vector<std::string>>;
  std::vector<Parameter> parameters;
  for (const Point& point : benchmark.points) {
    for (const auto& [name, value] : point.params) {
      auto found = std::ranges::find(parameters, name, &Parameter::first);
      if (found == parameters.end()) found = parameters.insert(found, {name, {}});
      std::vector<std::string>& values = found->second;
      const std::string text = to_string(value);
      if (std::ranges::find(values, text) == values.end()) values.push_back(text);
    }
  }
  std::string text;
  for (const auto& [name, values] : parameters) {
    text += fmt::format("{}{} ", text.empty() ? "" : ", ", name);
    text += values.size() <= kListed ? joined(values, " ")
                                     : fmt::format("{} ... {} ({} values)", values.front(),
                                                   values.back(), values.size());
  }
  return text.empty() ? "none" : text;
}

int list(const Program& program, bool json) {
  Registry registry;
  // Omits benchmarks that an option of `run` adds.
  program.catalog(registry, {.threads = host::usable_threads()});
  const Benchmarks benchmarks = registry.benchmarks();
  if (json) return print(list_json(benchmarks), kExitOk);
  const std::size_t width = terminal_options().width;
  std::string text;
  for (const Benchmark& benchmark : benchmarks) {
    text += fmt::format("{} ({}, {})\n", benchmark.id, measured_on(benchmark),
                        unit_of(benchmark.quantity));
    text += hanging("  ", benchmark.what, width);
    text += hanging("  work: ", benchmark.work, width);
    text += hanging("  parameters: ", parameters_text(benchmark), width);
    if (benchmark.never_run)
      text +=
          hanging("  ", fmt::format("{}: compiled, and tested without a device", kNeverRun), width);
    const Limit& limit = benchmark.limit;
    if (!limit.is_peak())
      text += hanging(limit.of ? "  no peak: " : "  no limit: ", limit.why_none, width);
  }
  if (!built_with_cuda())
    text += hanging("", "GPUs are not measured: " + why_without_cuda(), width);
  return print(text, kExitOk);
}

}  // namespace

void add_list_command(CLI::App& app, const Program& program, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* list_app =
      app.add_subcommand("list", "List what can be measured and how it is counted");
  list_app->add_flag("--json", *json, "Print JSON, with every point");
  list_app->footer("Examples:\n  peakline list\n  peakline list --json | jq '.benchmarks[].id'");
  set_action(list_app, action, [json, &program] { return list(program, *json); });
}

}  // namespace peakline::bench
