#include "harness/cli/populations.hpp"

#include <algorithm>
#include <filesystem>

#include "harness/cli/output_file.hpp"
#include "harness/cli/read_profiles.hpp"
#include "harness/judge/population.hpp"
#include "harness/profile/file.hpp"
#include "harness/profile/population.hpp"
#include "harness/run/plan.hpp"

namespace peakline::bench {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> populations_beside(const std::vector<std::string>& near) {
  std::set<fs::path> folders;
  std::error_code error;
  for (const std::string& path : near) {
    const fs::path folder =
        fs::is_directory(path, error) ? fs::path(path) : fs::path(path).parent_path();
    folders.insert(folder.empty() ? "." : folder.lexically_normal());
  }
  std::vector<std::string> files;
  for (const fs::path& folder : folders)
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error))
      if (entry->path().string().ends_with(kPopulationSuffix) && entry->is_regular_file(error))
        files.push_back(entry->path().lexically_normal().string());
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
  app.add_option("--population", files,
                 "How far runs here differ, as repeatability wrote it; may be repeated (default: "
                 "*.population.json beside the profiles)")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void write_population(std::span<const Profile* const> profiles, const std::string& option,
                      const std::string& path) {
  const std::vector<Population> populations = populations_of_gpus(profiles);
  if (populations.empty()) throw UsageError(option + ": none of the profiles has figures of a GPU");
  create_output(option, path, to_json(populations));
}

}  // namespace peakline::bench
