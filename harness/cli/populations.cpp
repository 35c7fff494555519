#include "harness/cli/populations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "harness/cli/measure_options.hpp"
#include "harness/cli/output_file.hpp"
#include "harness/cli/read_profiles.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/judge/population.hpp"
#include "harness/profile/file.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/run/plan.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {
namespace {

namespace fs = std::filesystem;

std::optional<uid_t> owner_of(const fs::path& path) {
  struct stat status {};
  // A link belongs to its creator, whatever file it names.
  return lstat(path.c_str(), &status) == 0 ? std::optional(status.st_uid) : std::nullopt;
}

// Populations that are not hidden and belong to the profiles' owners or the caller, so that nobody
// else can widen a verdict.
std::vector<std::string> populations_beside(const std::vector<std::string>& near) {
  std::map<fs::path, std::set<uid_t>> folders;  // with their owners
  std::error_code error;
  for (const std::string& path : near) {
    const bool is_folder = fs::is_directory(path, error);
    const fs::path folder = is_folder ? fs::path(path) : fs::path(path).parent_path();
    std::set<uid_t>& owners = folders[folder.empty() ? "." : folder.lexically_normal()];
    owners.insert(geteuid());
    if (const auto owner = owner_of(path); owner && !is_folder) owners.insert(*owner);
  }
  std::vector<std::string> files;
  for (const auto& [folder, owners] : folders)
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      const auto owner = owner_of(entry->path());
      if (name.ends_with(kPopulationSuffix) && !name.starts_with('.') &&
          entry->is_regular_file(error) && owner && owners.contains(*owner))
        files.push_back(entry->path().lexically_normal().string());
    }
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::vector<Population> populations_of_paths(const std::vector<std::string>& paths,
                                             const std::set<std::string>& without) {
  std::vector<Population> all;
  std::vector<std::string> files;
  for (const std::string& path : profiles_in(paths, Populations::kWith)) {
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
  for (Population& population : populations_of_gpus(pointers, without))
    all.push_back(std::move(population));
  return all;
}

KeptRuns kept_runs(const std::vector<std::string>& named, const std::vector<std::string>& near) {
  KeptRuns kept{.files = named.empty() ? populations_beside(near) : named, .populations = {}};
  for (const std::string& file : kept.files)
    for (Population& population : read_populations(file))
      kept.populations.push_back(std::move(population));
  return kept;
}

void add_population_option(CLI::App& app, std::vector<std::string>& files) {
  add_repeatable(app, "--population", "FILE", files,
                 "How far runs here differ, as repeatability wrote it; may be repeated (default: "
                 "*.population.json beside the profiles)");
}

void write_population(std::span<const Profile* const> profiles, const std::string& option,
                      const std::string& path, const std::map<std::string, std::string>& faults) {
  const std::vector<Population> populations = populations_of_gpus(profiles, {}, faults);
  if (populations.empty())
    throw UsageError(option + ": none of the profiles has sound figures of a GPU");
  for (const Population& population : populations) {
    const std::size_t out = population.left_out.size(), all = out + population.cards;
    std::vector<std::string> names;
    for (const LeftOutCard& card : population.left_out) names.push_back(text_of(card));
    const std::string who =
        fmt::format("{}, {} runs: {} of {} left out: {}", population.facts.model, population.mode,
                    out, format_count(all, "card"), fmt::join(names, ", "));
    if (2 * out >= all)
      throw UsageError(
          fmt::format("{}: {}; a reference needs most of its cards healthy", option, who));
    if (out > 0) note(who);
  }
  create_output(option, path, to_json(populations));
  for (const Population& population : populations)
    note(fmt::format("wrote {}: {}, {} runs of {}", path, population.facts.model, population.mode,
                     format_count(population.cards, population.facts.gpus ? "node" : "card")));
}

}  // namespace peakline::bench
