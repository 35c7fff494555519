#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/cli/commands.hpp"
#include "harness/cli/measure_options.hpp"
#include "harness/cli/populations.hpp"
#include "harness/cli/read_profiles.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/documents/documents.hpp"
#include "harness/judge/fleet.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/plan.hpp"
#include "harness/show/fleet.hpp"
#include "harness/values/text.hpp"

namespace peakline::bench {
namespace {

constexpr std::size_t kMaxErrorChars = 300;
constexpr std::size_t kErrorsShown = 5;

struct FleetArguments {
  std::vector<std::string> paths;
  double threshold_percent = kLeastLoss * 100;
  std::string fail_on;
  std::string reference;
  std::vector<std::string> allowed;
  bool all = false, json = false, csv = false;
};

// Says why a file was omitted; rethrows errors that are not the file's.
void warn(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ProfileError& unreadable) {
    note("left out: " + printable(unreadable.what(), kMaxErrorChars));
  }
}

int study(const FleetArguments& arguments) {
  std::vector<FleetProfile> profiles;
  std::size_t unreadable = 0;
  for (ReadResult& result : try_read_profiles(profiles_in(arguments.paths))) {
    if (!result.error) {
      profiles.push_back({std::move(result.file), std::move(result.profile)});
    } else if (std::ranges::find(arguments.paths, result.file) != arguments.paths.end()) {
      std::rethrow_exception(result.error);  // named by the user
    } else if (++unreadable <= kErrorsShown) {
      warn(result.error);
    }
  }
  if (unreadable > kErrorsShown) note(fmt::format("{} files left out in all", unreadable));
  if (profiles.empty()) throw UsageError("fleet: none of the files is a profile");
  const std::span<const Population> known = bundled_populations();
  const Fleet fleet = study_fleet(profiles,
                                  {.populations = known,
                                   .allowed = arguments.allowed,
                                   .donors = known,
                                   .least = arguments.threshold_percent / 100},
                                  std::time(nullptr));
  if (!arguments.reference.empty()) {
    std::vector<const Profile*> all;
    for (const FleetProfile& source : profiles) all.push_back(&source.profile);
    write_population(all, "--write-reference", arguments.reference, fleet.faults());
  }
  const std::string text = arguments.json  ? fleet_json(fleet)
                           : arguments.csv ? fleet_csv(fleet)
                                           : fleet_text(fleet, arguments.all, terminal_options());
  const bool gate = !arguments.fail_on.empty();
  const Outcome verdict = fleet.verdict();
  const bool failed = gate && verdict == Outcome::kFail,
             unknown = gate && verdict == Outcome::kCannotJudge;
  return print(text, failed ? kExitFinding : unknown || unreadable > 0 ? kExitPartial : kExitOk);
}

}  // namespace

void add_fleet_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<FleetArguments>();
  CLI::App* fleet_app = app.add_subcommand(
      "fleet", "Show how the devices of many machines compare, and which fall behind");
  fleet_app->add_option("PATH", arguments->paths, "Profiles, or folders of them")->required();
  fleet_app
      ->add_option("--threshold", arguments->threshold_percent,
                   "Ignore losses smaller than this percentage (4 where fewer than five peers "
                   "are known)")
      ->type_name("PCT")
      ->check(number_in(0, kWidestLimit * 100))  // a wider limit passes nothing
      ->capture_default_str();
  fleet_app
      ->add_option("--fail-on", arguments->fail_on,
                   "Exit with code 1 if any device is slow, incomplete or faulty, with 3 if any "
                   "cannot be judged")
      ->type_name("outlier")
      ->check(CLI::IsMember({"outlier"}));
  add_repeatable(*fleet_app, "--allow", "NAME", arguments->allowed,
                 "Excuse a reason by its name, see --json; may be repeated");
  fleet_app->add_flag("--all", arguments->all,
                      "Show every device, and how the ceilings are distributed");
  fleet_app
      ->add_option("--write-reference", arguments->reference,
                   "Write what the GPUs measure and how they scatter, for check --against")
      ->type_name("FILE")
      ->check(not_empty("FILE"));
  CLI::Option* json = fleet_app->add_flag("--json", arguments->json, "Print JSON");
  fleet_app->add_flag("--csv", arguments->csv, "Print CSV, a row per ceiling and device")
      ->excludes(json);
  fleet_app->footer(
      "Devices are checked as `peakline check` does, and compared with their peers: devices of "
      "the same model, measured in the same mode. The newest run of each device counts. A GPU that "
      "its machine's newest run lacks is lost, unless another is in its slot.\n"
      "Exit codes: 0 for any verdict; with --fail-on outlier 1 one falls behind, 3 one cannot be "
      "judged; 2 bad "
      "input; 3 also for unreadable files of a folder, which are left out and named.\n"
      "Examples:\n"
      "  srun --ntasks-per-node=1 --cpu-bind=none peakline run --quick -o profiles/\n"
      "  peakline fleet profiles/\n"
      "  peakline fleet profiles/ --csv > fleet.csv\n"
      "  peakline fleet profiles/ --write-reference our-h200s.json");
  set_action(fleet_app, action, [=] { return study(*arguments); });
}

}  // namespace peakline::bench
