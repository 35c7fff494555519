#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "harness/cli/commands.hpp"
#include "harness/cli/document_schemas.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/exit_codes.hpp"

namespace peakline::bench {
namespace {

constexpr const char* kProfile = "profile";
constexpr const char* kPopulation = "population";

std::vector<std::string> kinds() {
  std::vector<std::string> all = {kProfile, kPopulation};
  for (const DocumentSchema& schema : document_schemas()) all.emplace_back(schema.kind);
  return all;
}

// kind: one of kinds().
std::string schema_of(const std::string& kind) {
  if (kind == kProfile) return profile_schema();
  if (kind == kPopulation) return population_schema();
  return std::string(std::ranges::find(document_schemas(), kind, &DocumentSchema::kind)->text);
}

}  // namespace

void add_schema_command(CLI::App& app, Action& action) {
  auto kind = std::make_shared<std::string>(kProfile);
  CLI::App* schema_app = app.add_subcommand(
      "schema", "Print the JSON Schema of a profile, a population, or what --json prints");
  schema_app
      ->add_option(
          "KIND", *kind,
          "Kind of document, as in its key schema after \"peakline-\": profile, population; of "
          "--json: summary (show), catalog (list), comparison (compare), check, fleet, "
          "peaks, repeatability; kernels, trace, change, input (peakline-report); mfu, llm; "
          "probe (Python's peakline.probe)")
      ->check(CLI::IsMember(kinds()))
      ->capture_default_str();
  schema_app->footer(
      "Examples:\n"
      "  peakline schema > profile.schema.json\n"
      "  peakline schema summary > summary.schema.json");
  set_action(schema_app, action, [=] { return print(schema_of(*kind), kExitOk); });
}

}  // namespace peakline::bench
