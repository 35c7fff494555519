// Commands that measure nothing.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <exception>
#include <map>
#include <set>
#include <thread>

#include "harness/benchmark/registry.hpp"
#include "harness/cli/commands.hpp"
#include "harness/core/units.hpp"
#include "harness/host/facts.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/plan.hpp"
#include "harness/show/compare.hpp"
#include "harness/show/list_document.hpp"
#include "harness/show/show.hpp"

namespace peakline::bench {
namespace {

std::vector<CatalogEntry> catalog(const Registry& registry) {
  std::vector<CatalogEntry> entries;
  for (const Benchmark& benchmark : registry.benchmarks()) {
    CatalogEntry& entry = entries.emplace_back();
    entry.id = benchmark.id;
    entry.what = benchmark.what;
    entry.work = benchmark.work;
    entry.unit = unit_of(benchmark.quantity);
    entry.method_version = benchmark.method_version;
    entry.device = "gpu";
    for (const Point& point : benchmark.points) {
      if (is_host_point(point)) entry.device = kHostDevice;
      entry.points.push_back({point.params, point.quick, point.seconds});
    }
  }
  return entries;
}

// "width 4 8 16, bytes 4096...1073741824 (19 values)": a parameter's values, in brief where there
// are many.
std::string parameters_text(const CatalogEntry& entry) {
  constexpr std::size_t kListed = 6;
  struct Values {
    std::vector<std::string> in_order;
    std::set<std::string> seen;
  };
  std::vector<std::string> names;
  std::map<std::string, Values> values;
  for (const CatalogPoint& point : entry.points) {
    for (const auto& [name, value] : point.params) {
      if (!values.contains(name)) names.push_back(name);
      Values& of = values[name];
      const std::string text = to_string(value);
      if (of.seen.insert(text).second) of.in_order.push_back(text);
    }
  }
  std::string text;
  for (const std::string& name : names) {
    const auto& list = values[name].in_order;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
    if (list.size() <= kListed) {
      for (const std::string& value : list) text += " " + value;
    } else {
      text += fmt::format(" {} ... {} ({} values)", list.front(), list.back(), list.size());
    }
  }
  return text.empty() ? "none" : text;
}

int list(const Program& program, bool json) {
  Registry registry;
  program.catalog(registry, host::usable_threads(), 0);
  const auto entries = catalog(registry);
  if (json) {
    return print(list_json(entries), kExitOk);
  }
  std::string text;
  for (const CatalogEntry& entry : entries) {
    text += fmt::format("{} ({}, {})\n  {}\n  work: {}\n  parameters: {}\n", entry.id, entry.device,
                        entry.unit, entry.what, entry.work, parameters_text(entry));
  }
  return print(text, kExitOk);
}

int show(const std::string& file, bool json) {
  const Profile profile = read_profile(file);
  const std::string text =
      json ? show_json(profile)
           : show_text(profile, {.color = color_wanted(), .width = terminal_width()});
  return print(text, kExitOk);
}

struct CompareArguments {
  std::vector<std::string> base, next;
  double threshold_percent = CompareOptions{}.threshold * 100;
  std::string fail_on;
  bool json = false;
};

// For CLI11: what is wrong with an option's text; empty if nothing is. (Its Range lets NaN pass.)
std::string percentage(const std::string& text) {
  double value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size();
  return good && value >= 0 && value <= 100 ? "" : "expected a number from 0 to 100, found " + text;
}

// Throws what the first unreadable file throws.
std::vector<Profile> read_all(const std::vector<std::string>& files) {
  // More would not help: they wait for memory, of which a hostile file takes much.
  constexpr std::size_t kMostThreads = 4;
  std::vector<Profile> profiles(files.size());
  std::vector<std::exception_ptr> errors(files.size());
  std::atomic<std::size_t> next = 0;
  const auto read = [&] {
    for (std::size_t i; (i = next++) < files.size();) {
      try {
        profiles[i] = read_profile(files[i]);
      } catch (...) {
        errors[i] = std::current_exception();
        return;
      }
      // A fleet's profiles are all in memory at once, and a comparison needs no raw samples.
      for (Measurement& measurement : profiles[i].measurements) {
        measurement.samples_s = std::vector<double>();
        measurement.series = Series();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    const std::size_t cpus = std::max(1U, std::thread::hardware_concurrency());
    for (std::size_t n = std::min({files.size(), cpus, kMostThreads}); n > 1; --n) {
      threads.emplace_back(read);
    }
    read();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return profiles;
}

int compare_files(CompareArguments arguments) {
  // Two files need nothing between them.
  if (arguments.next.empty() && arguments.base.size() == 2) {
    arguments.next = {arguments.base.back()};
    arguments.base.pop_back();
  }
  if (arguments.base.empty() || arguments.next.empty()) {
    throw UsageError("compare: expected BASE... -- NEW...: profiles on both sides");
  }
  const CompareResult result = compare(read_all(arguments.base), read_all(arguments.next),
                                       {.threshold = arguments.threshold_percent / 100});
  const std::string text =
      arguments.json ? compare_json(result)
                     : compare_text(result, {.color = color_wanted(), .width = terminal_width()});
  const bool failed = !arguments.fail_on.empty() && has_regression(result);
  return print(text, failed ? kExitFinding : kExitOk);
}

}  // namespace

void add_list_command(CLI::App& app, const Program& program, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* list_app = app.add_subcommand("list", "What can be measured, and how it is counted");
  list_app->add_flag("--json", *json, "As a document, with every point");
  list_app->footer("Examples:\n  peakline list\n  peakline list --json | jq '.benchmarks[].id'");
  list_app->callback(
      [json, &program, &action] { action = [json, &program] { return list(program, *json); }; });
}

void add_show_command(CLI::App& app, Action& action) {
  auto json = std::make_shared<bool>(false);
  auto file = std::make_shared<std::string>();
  CLI::App* show_app = app.add_subcommand("show", "Print the summary of a profile");
  show_app->add_option("PROFILE", *file, "Written by peakline run")->required();
  show_app->add_flag("--json", *json, "As a document");
  show_app->footer("Examples:\n  peakline show node7.json\n  peakline show node7.json --json");
  show_app->callback(
      [json, file, &action] { action = [json, file] { return show(*file, *json); }; });
}

void add_compare_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* compare_app =
      app.add_subcommand("compare", "Say what became faster or slower: compare BASE... -- NEW...");
  compare_app->add_option("BASE", arguments->base, "Profiles before")->required();
  compare_app->add_option("--new", arguments->next, "Profiles after; -- means the same");
  compare_app
      ->add_option("--threshold", arguments->threshold_percent,
                   "A change below this counts as none")
      ->type_name("PCT")
      ->check(percentage)
      ->capture_default_str();
  compare_app
      ->add_option("--fail-on", arguments->fail_on,
                   "regression: exit with 1 if a ceiling is slower")
      ->check(CLI::IsMember({"regression"}));
  compare_app->add_flag("--json", arguments->json, "As a document");
  compare_app->footer(
      "Several runs a side tell how much runs differ by themselves.\n"
      "Examples:\n"
      "  peakline compare monday.json -- friday.json\n"
      "  peakline compare old/*.json -- new/*.json --fail-on regression");
  compare_app->callback(
      [arguments, &action] { action = [arguments] { return compare_files(*arguments); }; });
}

}  // namespace peakline::bench
