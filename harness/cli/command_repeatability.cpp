#include <memory>
#include <string>
#include <vector>

#include "harness/cli/commands.hpp"
#include "harness/cli/measure_options.hpp"
#include "harness/cli/populations.hpp"
#include "harness/cli/read_profiles.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/documents/documents.hpp"
#include "harness/judge/repeatability.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/plan.hpp"
#include "harness/show/repeatability.hpp"

namespace peakline::bench {
namespace {

int study(const std::vector<std::string>& files, const std::string& population, bool json) {
  const std::vector<Profile> profiles = read_profiles(files);
  const std::vector<Study> studies = study_runs(profiles);
  if (studies.empty()) {
    throw UsageError(
        "repeatability: expected at least two profiles of the same devices in the same mode");
  }
  if (!population.empty()) {
    std::vector<const Profile*> all;
    for (const Profile& profile : profiles) all.push_back(&profile);
    write_population(all, "--write", population);
  }
  const std::string text = json ? repeatability_json(studies, profiles)
                                : repeatability_text(studies, profiles, terminal_options());
  return print(text, kExitOk);
}

}  // namespace

void add_repeatability_command(CLI::App& app, Action& action) {
  auto files = std::make_shared<std::vector<std::string>>();
  auto population = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* study_app = app.add_subcommand(
      "repeatability", "Show how far runs of one machine differ, and whether intervals hold");
  study_app->add_option("PROFILE", *files, "Profiles of one machine")->required();
  study_app
      ->add_option(
          "--write", *population,
          "Store how far the runs of the GPUs differ, for --population of run and compare; "
          "NAME.population.json is found beside profiles")
      ->type_name("FILE")
      ->check(not_empty("FILE"));
  study_app->add_flag("--json", *json, "Print JSON");
  study_app->footer(
      "scripts/repeatability makes the runs, with pauses between them, and prints this.\n"
      "Examples:\n"
      "  peakline repeatability node7-*.json\n"
      "  peakline repeatability node7-*.json --write node7.population.json");
  set_action(study_app, action, [=] { return study(*files, *population, *json); });
}

}  // namespace peakline::bench
