#include <fmt/format.h>

#include <map>
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
#include "harness/judge/compare.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/plan.hpp"
#include "harness/show/compare.hpp"

namespace peakline::bench {
namespace {

struct CompareArguments {
  std::vector<std::string> base, next;
  double threshold_percent = CompareOptions{}.threshold * 100;
  std::string fail_on;
  std::string device;
  std::vector<std::string> allowed, populations;
  bool all = false, json = false;
};

// Reduces profiles to the named GPUs, in that order, and the host.
void keep_gpus(const std::vector<std::string>& files, const std::string& named,
               std::vector<Profile>& profiles) {
  if (named == kAllDevices) return;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    Profile& p = profiles[i];
    try {
      p.devices = select_gpus(p.devices, named);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}: {}", files[i], error.what()));
    }
    // Links are of all GPUs. Readers leave out rows of GPUs that are not in `devices`.
    const auto of_node = [](const auto& row) { return row.device == kNodeDevice; };
    std::erase_if(p.measurements, of_node);
    std::erase_if(p.ceilings, of_node);
    std::erase_if(p.missing_ceilings, of_node);
    std::erase_if(p.curves, of_node);
    std::erase_if(p.findings, of_node);
    p.points.erase(std::string(kNodeDevice));
  }
}

// Says when both sides hold the same run: once, though whole folders may.
void note_same_runs(const CompareArguments& arguments, std::span<const Profile> base,
                    std::span<const Profile> next) {
  std::map<RunIdentity, std::size_t> runs;
  for (std::size_t i = 0; i < base.size(); ++i) runs.emplace(identity_of(base[i]), i);
  std::string first;
  std::size_t more = 0;
  for (std::size_t j = 0; j < next.size(); ++j) {
    const auto same = runs.find(identity_of(next[j]));
    if (same == runs.end()) continue;
    if (!first.empty())
      ++more;
    else
      first = fmt::format("{} and {}", arguments.base[same->second], arguments.next[j]);
  }
  if (first.empty()) return;
  const std::string others = more == 0   ? ""
                             : more == 1 ? "; so does one other pair"
                                         : fmt::format("; so do {} other pairs", more);
  note(fmt::format("{} hold the same run{}", first, others));
}

int compare_files(CompareArguments arguments) {
  // Two files need no separator.
  if (arguments.next.empty() && arguments.base.size() == 2) {
    arguments.next = {arguments.base.back()};
    arguments.base.pop_back();
  }
  if (arguments.base.empty() || arguments.next.empty()) {
    throw UsageError("compare: expected BASE... -- NEW...: profiles on both sides");
  }
  arguments.base = profiles_in(arguments.base);
  arguments.next = profiles_in(arguments.next);
  std::vector<Profile> base = read_profiles(arguments.base), next = read_profiles(arguments.next);
  note_same_runs(arguments, base, next);
  if (const std::string& named = arguments.device; !named.empty()) {
    const std::size_t colon = named.find(':');
    keep_gpus(arguments.base, named.substr(0, colon), base);
    keep_gpus(arguments.next, colon == named.npos ? named : named.substr(colon + 1), next);
  }
  std::vector<std::string> near = arguments.base;
  near.insert(near.end(), arguments.next.begin(), arguments.next.end());
  KeptRuns kept = kept_runs(arguments.populations, near);
  CompareResult result = compare(base, next,
                                 {.threshold = arguments.threshold_percent / 100,
                                  .allowed = arguments.allowed,
                                  .populations = bundled_populations(),
                                  .kept = kept.populations,
                                  .in_order = !arguments.device.empty(),
                                  .base_files = arguments.base,
                                  .next_files = arguments.next});
  result.kept_in = std::move(kept.files);
  const bool gate = !arguments.fail_on.empty();
  const std::string text =
      arguments.json
          ? compare_json(result)
          : compare_text(result, {.all = arguments.all, .gate = gate}, terminal_options());
  const Outcome outcome = gate ? result.gate.outcome() : Outcome::kPass;
  return print(text, outcome == Outcome::kFail          ? kExitFinding
                     : outcome == Outcome::kCannotJudge ? kExitPartial
                                                        : kExitOk);
}

}  // namespace

void add_compare_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* compare_app = app.add_subcommand(
      "compare",
      "Show what became faster or slower (compare BASE... -- NEW...), of a machine or a fleet");
  compare_app->add_option("BASE", arguments->base, "Profiles from before, or folders of them")
      ->required();
  compare_app->add_option("--new", arguments->next, "Profiles from after, or folders; same as --")
      ->type_name("PROFILE");
  compare_app
      ->add_option("--threshold", arguments->threshold_percent,
                   "Ignore changes smaller than this percentage")
      ->type_name("PCT")
      ->check(number_in(0, 100))
      ->capture_default_str();
  compare_app
      ->add_option(
          "--fail-on", arguments->fail_on,
          "Exit with code 1 if anything became slower, is missing or fails, with 3 if it cannot be "
          "judged")
      ->type_name("regression")
      ->check(CLI::IsMember({"regression"}));
  compare_app
      ->add_option("--device", arguments->device,
                   "Compare these GPUs alone, as run takes them; after a colon, those of the new "
                   "side: 0:1 compares GPU 0 with GPU 1")
      ->type_name("all|LIST[:LIST]")
      ->check(not_empty("LIST"));
  add_repeatable(*compare_app, "--allow", "NAME", arguments->allowed,
                 "Excuse a reason of the gate by its name; may be repeated");
  add_population_option(*compare_app, arguments->populations);
  compare_app->add_flag("--all", arguments->all, "Show every figure, not only what deviates");
  compare_app->add_flag("--json", arguments->json, "Print JSON");
  compare_app->footer(
      "Machines are paired by name or by their GPUs, GPUs by UUID.\n"
      "One run a side finds a loss of 3 % (5 % under sustained load); several find smaller ones.\n"
      "Exit codes: 0 for any verdict; with --fail-on regression 1 slower, 3 cannot be judged; 2 "
      "bad "
      "input.\n"
      "Examples:\n"
      "  peakline compare monday.json -- friday.json\n"
      "  peakline compare old/*.json -- new/*.json --fail-on regression\n"
      "  peakline compare before/ -- after/\n"
      "  peakline compare node7.json -- node8.json --device 0:1\n"
      "  peakline compare old.json -- new.json --fail-on regression --allow "
      "gpu0/pcie.h2d/measured");
  set_action(compare_app, action, [=] { return compare_files(*arguments); });
}

}  // namespace peakline::bench
