#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "harness/cli/commands.hpp"
#include "harness/cli/measure_options.hpp"
#include "harness/cli/output_file.hpp"
#include "harness/cli/read_profiles.hpp"
#include "harness/cli/rules_file.hpp"
#include "harness/cli/run_command.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/judge/check.hpp"
#include "harness/profile/file.hpp"
#include "harness/profile/population.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/plan.hpp"
#include "harness/show/check.hpp"
#include "harness/values/text.hpp"

namespace peakline::bench {
namespace {

struct CheckArguments {
  std::vector<std::string> command;
  std::vector<std::string> profiles;
  std::vector<std::string> against;
  std::vector<std::string> allowed;
  std::optional<std::string> device;
  std::string rules, explain, junit, prometheus, output;
  std::string exit_codes = "peakline";
  bool full = false, all = false, json = false;
};

// A folder that is gone at the end, with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "peakline-check-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), name);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Files of populations, and profiles or folders of them. Without any, those of this program.
std::vector<Population> populations(const CheckArguments& arguments,
                                    const std::set<std::string>& checked_cards) {
  if (arguments.against.empty()) return bundled_populations();
  std::vector<Population> all;
  std::vector<std::string> files;
  for (const std::string& path : profiles_in(arguments.against)) {
    const std::string text = profile_format::read_text(path);
    if (!is_population(text)) {
      files.push_back(path);
      continue;
    }
    for (Population& population : populations_from_json(text, path))
      all.push_back(std::move(population));
  }
  const std::vector<Profile> profiles = read_profiles(files);
  std::vector<const Profile*> pointers;
  for (const Profile& profile : profiles) pointers.push_back(&profile);
  for (Population& population : populations_of_gpus(pointers, checked_cards))
    all.push_back(std::move(population));
  return all;
}

CheckResult checked(const Profile& profile, const CheckArguments& arguments,
                    std::span<const Population> against, std::span<const RuleChange> changes) {
  return check(profile, {.populations = against, .allowed = arguments.allowed, .changes = changes});
}

Profile measured(const CheckArguments& arguments, const Program& program, std::string filter,
                 const std::filesystem::path& output) {
  RunArguments run_arguments{.command = arguments.command,
                             .device = arguments.device,
                             .filter = std::move(filter),
                             .output = output.string(),
                             .quiet = arguments.json,
                             .summary = false};
  run_arguments.measure.quick = !arguments.full;
  run(run_arguments, program);
  return read_profile(output);
}

// against: what the result refers to.
CheckedFile measured_and_checked(const CheckArguments& arguments, const Program& program,
                                 std::span<const RuleChange> changes,
                                 std::vector<Population>& against) {
  const TemporaryFolder folder;
  const bool kept = !arguments.output.empty();
  const std::filesystem::path file =
      kept ? std::filesystem::path(arguments.output) : folder.path() / "first.json";
  const Profile profile = measured(arguments, program, "", file);
  std::set<std::string> cards;
  for (const DeviceFacts& gpu : profile.devices) cards.insert(gpu.uuid);
  against = populations(arguments, cards);
  CheckedFile first{.file = kept ? file.string() : "",
                    .result = checked(profile, arguments, against, changes)};
  // A neighbour or a busy host may have slowed the first measurement.
  const std::vector<std::string> ids = ids_to_measure_again(first.result);
  if (!ids.empty()) {
    std::string filter;
    for (const std::string& id : ids) {
      filter += filter.empty() ? "^(" : "|";
      for (const char c : id) filter += c == '.' ? std::string("\\.") : std::string(1, c);
    }
    const Profile again =
        measured(arguments, program, filter + ")(/|$)", folder.path() / "again.json");
    confirm(first.result, checked(again, arguments, against, changes));
  }
  return first;
}

int exit_code(const Checks& checks, const std::string& convention) {
  const Outcome verdict = checks.verdict();
  const bool fails = verdict == Outcome::kFail, unknown = verdict == Outcome::kCannotJudge;
  if (convention == "nagios") return fails ? 2 : unknown ? 3 : checks.warned() ? 1 : 0;
  if (convention == "npd") return fails ? 1 : unknown ? 2 : 0;
  return fails ? kExitFinding : unknown ? kExitPartial : kExitOk;
}

int check_machine(const CheckArguments& arguments, const Program& program) {
  Checks checks{.files = {},
                .source = arguments.against.empty()
                              ? "part of this peakline"
                              : fmt::format("{}", fmt::join(arguments.against, ", "))};
  const std::vector<RuleChange> changes =
      arguments.rules.empty() ? std::vector<RuleChange>() : read_rules(arguments.rules);
  std::vector<Profile> profiles;
  std::vector<Population> against;
  if (arguments.profiles.empty()) {
    checks.files.push_back(measured_and_checked(arguments, program, changes, against));
  } else {
    const std::vector<std::string> files = profiles_in(arguments.profiles);
    profiles = read_profiles(files);
    std::set<std::string> cards;
    for (const Profile& profile : profiles)
      for (const DeviceFacts& gpu : profile.devices) cards.insert(gpu.uuid);
    against = populations(arguments, cards);
    for (std::size_t i = 0; i < profiles.size(); ++i)
      checks.files.push_back({files[i], checked(profiles[i], arguments, against, changes)});
  }
  if (!arguments.junit.empty()) profile_format::write_text(check_junit(checks), arguments.junit);
  if (!arguments.prometheus.empty())
    profile_format::write_text(check_prometheus(checks), arguments.prometheus);
  const std::size_t width = terminal_width();
  if (!arguments.explain.empty()) {
    const std::string text = explained_rule(checks, arguments.explain, width);
    if (text.empty())
      throw UsageError(fmt::format("--explain {}: no such rule; --all lists them",
                                   printable(arguments.explain, 80)));
    return print(text, kExitOk);
  }
  const std::string text =
      arguments.json ? check_json(checks)
                     : check_text(checks, arguments.all, {.color = color_wanted(), .width = width});
  return print(text, exit_code(checks, arguments.exit_codes));
}

}  // namespace

void add_check_command(CLI::App& app, const Program& program, std::vector<std::string> command,
                       Action& action) {
  auto arguments = std::make_shared<CheckArguments>();
  arguments->command = std::move(command);
  CLI::App* check_app =
      app.add_subcommand("check", "Say whether the GPUs are as fast as healthy ones: PASS or FAIL");
  CLI::Option* profiles = check_app->add_option(
      "PROFILE", arguments->profiles,
      "Profiles, or folders of them; without any, this machine is measured first");
  check_app
      ->add_option("--against", arguments->against,
                   "What healthy GPUs measure: a file of fleet --write-reference, profiles, or "
                   "folders of them; may be repeated (default: the GPUs that peakline knows)")
      ->type_name("PATH")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  check_app->add_option("--allow", arguments->allowed, "Excuse a rule by its name; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  check_app
      ->add_option("--rules", arguments->rules,
                   "Limits and exceptions of your own, in TOML (see --help)")
      ->type_name("FILE");
  check_app->add_flag("--full", arguments->full, "Measure as a full run does, about 150 s per GPU")
      ->excludes(profiles);
  check_app->add_option("--device", arguments->device, "GPUs to measure, as run takes them")
      ->type_name("all|LIST")
      ->excludes(profiles);
  check_app->add_option("-o,--output", arguments->output, "Keep the profile that is measured")
      ->type_name("FILE")
      ->excludes(profiles);
  check_app->add_flag("--all", arguments->all, "Show every rule with its limit");
  check_app
      ->add_option("--explain", arguments->explain,
                   "Say what a rule compares with and how its limit came about")
      ->type_name("RULE");
  check_app->add_flag("--json", arguments->json, "Print JSON");
  check_app->add_option("--junit", arguments->junit, "Write the rules as JUnit test cases")
      ->type_name("FILE");
  check_app
      ->add_option("--prometheus", arguments->prometheus,
                   "Write metrics for the node exporter's textfile collector")
      ->type_name("FILE");
  check_app
      ->add_option("--exit-codes", arguments->exit_codes,
                   "peakline: 0 pass, 1 fail, 3 cannot judge; nagios: 0, 1 warning, 2 fail, 3; "
                   "npd: 0 pass, 1 fail, 2 cannot judge")
      ->check(CLI::IsMember({"peakline", "nagios", "npd"}))
      ->capture_default_str();
  check_app->footer(
      "A figure that fails is measured a second time before it counts. Limits follow from how\n"
      "healthy GPUs of the model scatter: one healthy run in a thousand fails.\n"
      "Examples:\n"
      "  peakline check\n"
      "  peakline check node7.json --all\n"
      "  peakline check --against our-h200s.json --prometheus peakline.prom");
  check_app->callback([arguments, &program, &action] {
    action = [arguments, &program] { return check_machine(*arguments, program); };
  });
}

}  // namespace peakline::bench
