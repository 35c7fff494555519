#pragma once

// The runs behind the bundled populations: runs_of_h200s.csv and reports/reference/cards/MODEL;
// CONTRIBUTING.md says how to add a card.

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/judge/population.hpp"
#include "harness/judge/yardsticks.hpp"
#include "harness/profile/profile.hpp"
#include "tests/unit/runs_of_h200s.hpp"

namespace peakline {

// "nvidia-h200" for "NVIDIA H200": folder and file name.
inline std::string file_name_of_model(std::string model) {
  std::ranges::transform(model, model.begin(), [](unsigned char c) {
    return c == ' ' ? '-' : static_cast<char>(std::tolower(c));
  });
  return model;
}

// source: root of the tree.
inline std::vector<Profile> contributed_profiles(const std::string& source) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(source + "/reports/reference/cards"))
    if (is_profile_name(entry.path())) files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<Profile> profiles;
  for (const std::filesystem::path& file : files) {
    profiles.push_back(read_profile(file));
    for (const DeviceFacts& device : profiles.back().devices) {
      const std::string folder = file_name_of_model(device.name);
      if (file.parent_path().filename() != folder)
        throw std::invalid_argument(file.string() + ": a profile of " + device.name +
                                    " belongs in the folder " + folder);
    }
  }
  return profiles;
}

inline std::vector<CardRun> contributed_runs(const std::string& source) {
  std::vector<CardRun> runs = runs_of_h200s(source);
  const std::vector<Profile> profiles = contributed_profiles(source);
  std::vector<const Profile*> all;
  for (const Profile& profile : profiles) all.push_back(&profile);
  // runs_of_h200s.csv has cards alone; this node adds the links between two.
  const Profile pair = read_profile(source + "/reports/reference/nvidia-h200-x2.json");
  for (const DeviceView& view : device_views(pair))
    if (view.is_node()) runs.push_back(node_run(view, "reference", true));
  const std::vector<CardRun> more = runs_of_gpus(all);
  runs.insert(runs.end(), more.begin(), more.end());
  return runs;
}

// Populations by file name.
inline std::map<std::string, std::vector<Population>> populations_by_file(
    const std::vector<CardRun>& runs) {
  std::map<std::string, std::vector<Population>> files;
  for (const Population& population : populations_of(runs))
    files[file_name_of_model(population.facts.model) + ".json"].push_back(population);
  return files;
}

// Names of a run's failing figures.
inline std::set<std::string> rejected(const CardRun& run, const Known& known) {
  std::set<std::string> names;
  for (const RunFigure& figure : run.figures) {
    const auto yardsticks = yardsticks_for(known, run.facts, figure);
    const Assessment found = judge(reading_of(figure, run.facts), yardsticks, run.figures.size());
    if (found.outcome == Outcome::kFail &&
        !neighbours_may_slow(run.facts, figure.resource, figure.value / found.by.centre))
      names.insert(figure.resource + '/' + std::string(to_string(figure.basis)));
  }
  return names;
}

}  // namespace peakline
