#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/cli/commands.hpp"
#include "harness/cli/help.hpp"
#include "harness/cli/measure_options.hpp"
#include "harness/cli/output_file.hpp"
#include "harness/cli/populations.hpp"
#include "harness/cli/read_profiles.hpp"
#include "harness/cli/rules_file.hpp"
#include "harness/cli/run_command.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/documents/documents.hpp"
#include "harness/judge/check.hpp"
#include "harness/judge/lint.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/coordinator.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/interrupt.hpp"
#include "harness/run/plan.hpp"
#include "harness/show/check.hpp"
#include "harness/show/lint.hpp"
#include "harness/show/terminal_text.hpp"
#include "harness/values/clock.hpp"
#include "harness/values/closest.hpp"
#include "harness/values/text.hpp"

namespace peakline::bench {
namespace {

struct CheckArguments {
  std::vector<std::string> command;
  std::vector<std::string> profiles;
  std::vector<std::string> against;
  std::vector<std::string> allowed;
  std::optional<std::string> device;
  std::optional<double> time_limit_s;
  std::optional<std::string> junit, prometheus, lint;
  std::string rules, explain, output;
  std::string exit_codes = "peakline";
  std::optional<int> gpus;
  bool full = false, if_idle = false, all = false, json = false, strict = false;
};

CheckOptions options_of(const CheckArguments& arguments, std::span<const Population> against,
                        std::span<const RuleChange> changes) {
  return {.populations = against,
          .allowed = arguments.allowed,
          .changes = changes,
          .donors = bundled_populations(),
          .gpus = arguments.gpus};
}

// Default: the bundled populations.
std::vector<Population> populations(const CheckArguments& arguments,
                                    const std::set<std::string>& checked_cards) {
  return arguments.against.empty() ? bundled_populations()
                                   : populations_of_paths(arguments.against, checked_cards);
}

// A file's rules with the figures each would judge. Throws UsageError for a rule without one.
std::vector<LintedRule> linted(const std::string& file, const CheckArguments& arguments,
                               const Program& program) {
  Registry registry;
  // Rules may be about what only an option of `run` measures.
  program.catalog(registry, {.soak_s = 1, .verified_soak_s = 1, .energy = true, .storage = true});
  const std::vector<Population> known = populations(arguments, {});
  std::vector<LintedRule> rules;
  for (const RuleChange& change : read_rules(file)) {
    rules.push_back(lint(change, known, registry.benchmarks()));
    if (const auto& [key, mistake] = std::tie(rules.back().key, rules.back().mistake);
        !mistake.empty())
      throw UsageError(
          fmt::format("{}, line {}: {}: {}", file, change.lines.at(key), key, mistake));
  }
  return rules;
}

std::vector<RuleChange> changes_of(const CheckArguments& arguments, const Program& program) {
  std::vector<RuleChange> changes;
  if (arguments.rules.empty()) return changes;
  for (LintedRule& rule : linted(arguments.rules, arguments, program))
    changes.push_back(std::move(rule.change));
  return changes;
}

constexpr const char* kStopped = "stopped by a signal";

// against: must outlive the checks.
void measure_and_check(const CheckArguments& arguments, const Program& program,
                       std::span<const RuleChange> changes, Interrupt& interrupt,
                       std::vector<Population>& against, Checks& checks) {
  const Clock::time_point start = Clock::now();
  RunArguments run_arguments{.command = arguments.command,
                             .device = arguments.device,
                             .kept = !arguments.output.empty(),
                             .output = arguments.output,
                             .if_idle = arguments.if_idle,
                             .quiet = arguments.json,
                             .summary = false,
                             // The host alone is not judged.
                             .needs_gpu = arguments.output.empty() && !arguments.device};
  run_arguments.measure.options.quick = !arguments.full;
  std::string file;
  const auto attempt = [&](const std::string& filter) -> Attempt {
    if (arguments.time_limit_s)
      run_arguments.time_limit_s = *arguments.time_limit_s - seconds_since(start);
    run_arguments.filter = filter;
    const RunEnd end = run(run_arguments, program, interrupt);
    if (run_arguments.kept) file = end.file.string();
    run_arguments.kept = false;
    if (against.empty()) {
      std::set<std::string> cards;
      for (const DeviceFacts& gpu : end.profile.devices) cards.insert(gpu.uuid);
      against = populations(arguments, cards);
    }
    // Another process may also have come during the run.
    if (const std::string user = other_user(end.profile); arguments.if_idle && !user.empty())
      checks.why_none = "in use: " + user;
    CheckOptions options = options_of(arguments, against, changes);
    options.some_hidden = std::getenv("CUDA_VISIBLE_DEVICES") != nullptr;
    return {check(end.profile, options), end.stopped || !checks.why_none.empty()};
  };
  CheckResult result = check_twice(attempt);
  if (interrupt.requested()) checks.why_none = kStopped;
  if (checks.why_none.empty()) checks.files.push_back({std::move(file), std::move(result)});
}

int exit_code(const Checks& checks, const std::string& convention, bool strict) {
  const Outcome word = checks.verdict();
  const bool warned = word == Outcome::kWarn;
  const Outcome verdict = strict && warned ? Outcome::kCannotJudge : word;
  const bool fails = verdict == Outcome::kFail, unknown = verdict == Outcome::kCannotJudge;
  if (convention == kNagios) return fails ? 2 : unknown ? 3 : warned ? 1 : 0;
  if (convention == "npd") return fails ? 1 : unknown ? 2 : 0;
  return fails ? kExitFinding : unknown ? kExitPartial : kExitOk;
}

// The files that are written beside the result.
class Reports {
 public:
  explicit Reports(const CheckArguments& arguments)
      : junit_("--junit", arguments.junit, kJunitBeginning),
        prometheus_("--prometheus", arguments.prometheus, kPrometheusBeginning) {}
  void write(const Checks& checks) const {
    junit_.write([&](std::string_view) { return check_junit(checks); });
    prometheus_.write([&](std::string_view earlier) {
      return check_prometheus(checks, std::time(nullptr), earlier);
    });
  }

 private:
  ReportOutput junit_, prometheus_;
};

// Ends a check that could not be made, and says so in its reports too, as they would otherwise look
// like the last one's.
int end_without_verdict(const CheckArguments& arguments, const std::string& why) {
  Checks checks;
  checks.why_none = why;
  for (const bool junit : {true, false}) {
    if (arguments.lint) break;  // checks nothing
    CheckArguments one = arguments;
    (junit ? one.prometheus : one.junit).reset();
    try {
      Reports(one).write(checks);
    } catch (const UsageError&) {
      // The error may be about this file.
    }
  }
  return fail(usage_code(arguments.exit_codes), why);
}

std::string document(const Checks& checks, const CheckArguments& arguments) {
  if (arguments.json) return check_json(checks);
  if (arguments.exit_codes != "npd") return check_text(checks, arguments.all, terminal_options());
  // The node-problem-detector takes this many characters as one message.
  constexpr std::size_t kMostOfMessage = 80;
  std::string line = terminal_text(check_line(checks, false), false);
  line.pop_back();
  return printable(line, kMostOfMessage) + '\n';
}

int show(const std::string& text, int code, const CheckArguments& arguments) {
  return print(text, code, usage_code(arguments.exit_codes));
}

int check_machine(const CheckArguments& arguments, const Program& program) {
  Checks checks;
  if (!arguments.against.empty()) checks.source = joined(arguments.against);
  const std::vector<RuleChange> changes = changes_of(arguments, program);
  const Reports reports(arguments);
  std::vector<Profile> profiles;
  std::vector<Population> against;
  if (arguments.profiles.empty()) {
    populations(arguments, {});  // reports unreadable input before measuring
    Checks stopped = checks;
    stopped.why_none = kStopped;
    Interrupt interrupt(exit_code(stopped, arguments.exit_codes, arguments.strict),
                        document(stopped, arguments));
    measure_and_check(arguments, program, changes, interrupt, against, checks);
    if (!checks.why_none.empty()) {
      reports.write(checks);
      return show(document(checks, arguments),
                  exit_code(checks, arguments.exit_codes, arguments.strict), arguments);
    }
  } else {
    const std::vector<std::string> files = profiles_in(arguments.profiles);
    profiles = read_profiles(files);
    std::set<std::string> cards;
    for (const Profile& profile : profiles)
      for (const DeviceFacts& gpu : profile.devices) cards.insert(gpu.uuid);
    against = populations(arguments, cards);
    for (std::size_t i = 0; i < profiles.size(); ++i)
      checks.files.push_back(
          {files[i], check(profiles[i], options_of(arguments, against, changes))});
  }
  const std::string explained =
      arguments.explain.empty()
          ? ""
          : explained_rule(checks, arguments.explain, terminal_options().width);
  if (!arguments.explain.empty() && explained.empty())
    throw UsageError(fmt::format("--explain {}: no such rule; --all lists them{}",
                                 printable(arguments.explain, 80),
                                 did_you_mean(arguments.explain, rule_names(checks))));
  reports.write(checks);
  if (!explained.empty()) return show(explained, kExitOk, arguments);
  const bool lost = !arguments.output.empty() && checks.files[0].file.empty();
  return show(document(checks, arguments),
              lost ? usage_code(arguments.exit_codes)
                   : exit_code(checks, arguments.exit_codes, arguments.strict),
              arguments);
}

int lint_rules(const CheckArguments& arguments, const Program& program) {
  const std::vector<LintedRule> rules = linted(*arguments.lint, arguments, program);
  return show(lint_text(*arguments.lint, rules, terminal_options()), kExitOk, arguments);
}

}  // namespace

void add_check_command(CLI::App& app, const Program& program, std::vector<std::string> command,
                       Action& action) {
  auto arguments = std::make_shared<CheckArguments>();
  arguments->command = std::move(command);
  CLI::App* check_app =
      app.add_subcommand("check", "Say whether the GPUs are as fast as healthy ones: PASS or FAIL");
  begin_options(*check_app, "What is compared");
  CLI::Option* profiles = check_app->add_option(
      "PROFILE", arguments->profiles,
      "Profiles, or folders of them; without any, this machine is measured first");
  add_repeatable(*check_app, "--against", "PATH", arguments->against,
                 "What healthy GPUs measure: a file of fleet --write-reference, profiles, or "
                 "folders of them; may be repeated (for others: the GPUs that peakline knows)");
  add_repeatable(*check_app, "--allow", "NAME", arguments->allowed,
                 "Excuse a rule by its name; may be repeated");
  check_app->add_option("--rules", arguments->rules, "Limits and exceptions of your own, in TOML")
      ->type_name("FILE")
      ->check(not_empty("FILE"));
  check_app
      ->add_option("--gpus", arguments->gpus,
                   "Expected number of GPUs; fewer measured is a failure")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  check_app
      ->add_option("--lint", arguments->lint,
                   "Say what each rule of such a file would judge, or what is wrong with it; "
                   "nothing is measured")
      ->type_name("FILE")
      ->check(not_empty("FILE"))
      ->excludes(profiles);
  begin_options(*check_app, "Without PROFILE");
  check_app
      ->add_flag("--full", arguments->full,
                 "Measure as a full run does, 2 minutes with one GPU, up to 4 with four")
      ->excludes(profiles);
  check_app->add_option("--device", arguments->device, "GPUs to measure, as run takes them")
      ->type_name("all|LIST")
      ->excludes(profiles);
  check_app
      ->add_flag("--if-idle", arguments->if_idle,
                 "Measure only if no other process uses the GPUs; if one does, or starts "
                 "meanwhile, nothing is judged")
      ->excludes(profiles);
  check_app
      ->add_option("--time-limit", arguments->time_limit_s,
                   "Stop measuring after this many seconds; what is not measured by then cannot be "
                   "judged")
      ->type_name("S")
      ->check(number_above_0(std::numeric_limits<double>::infinity()))
      ->excludes(profiles);
  check_app->add_option("-o,--output", arguments->output, "Write the measured profile")
      ->type_name("FILE")
      ->check(not_empty("FILE"))
      ->excludes(profiles);
  begin_options(*check_app, "Output");
  check_app->add_flag("--all", arguments->all, "Show every group and rule with its limit");
  check_app->add_flag("--strict", arguments->strict, "Exit with 3 on a warning");
  check_app
      ->add_option("--explain", arguments->explain,
                   "Say what a rule compares with and how its limit came about")
      ->type_name("RULE")
      ->check(not_empty("RULE"));
  check_app->add_flag("--json", arguments->json, "Print JSON");
  check_app->add_option("--junit", arguments->junit, "Write the rules as JUnit test cases")
      ->type_name("FILE")
      ->check(not_empty("FILE"));
  check_app
      ->add_option("--prometheus", arguments->prometheus,
                   "Write metrics for the node exporter's textfile collector")
      ->type_name("FILE")
      ->check(not_empty("FILE"));
  check_app
      ->add_option("--exit-codes", arguments->exit_codes,
                   "peakline: 0 pass, 1 fail, 3 cannot judge; nagios: 0, 1 warning, 2 fail, 3; "
                   "npd: 0 pass, 1 fail, 2 cannot judge, and only the first line is printed")
      ->type_name("WHOSE")
      ->check(CLI::IsMember({"peakline", kNagios, "npd"}))
      ->capture_default_str();
  check_app->footer(
      "A figure that fails is measured a second time before it counts. Limits follow from how "
      "healthy GPUs of the model scatter: one healthy run in a thousand fails. Measuring takes 15 "
      "s "
      "with one GPU, 33 s with four.\n"
      "Exit codes: 0 pass or warning; 1 fail; 3 cannot judge, or a warning with --strict; 2 bad "
      "input.\n"
      "Examples:\n"
      "  peakline check\n"
      "  peakline check node7.json --all\n"
      "  peakline check --against our-h200s.json --prometheus peakline.prom");
  set_action(check_app, action, [arguments, &program] {
    try {
      return arguments->lint ? lint_rules(*arguments, program) : check_machine(*arguments, program);
    } catch (const UsageError& error) {
      return end_without_verdict(*arguments, error.what());
    } catch (const ProfileError& error) {
      return end_without_verdict(*arguments, error.what());
    }
  });
}

}  // namespace peakline::bench
