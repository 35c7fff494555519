#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/values/population.hpp"
#include "harness/values/profile.hpp"

namespace peakline::bench {

// Reads files of populations, and profiles or folders of them. without: UUIDs of cards to omit.
std::vector<Population> populations_of_paths(const std::vector<std::string>& paths,
                                             const std::set<std::string>& without);

// Earlier runs of these cards, for their spread.
struct KeptRuns {
  std::vector<std::string> files;
  std::vector<Population> populations;
};
// Reads the files of --population, else those beside the profiles. near: may not exist yet.
KeptRuns kept_runs(const std::vector<std::string>& named, const std::vector<std::string>& near);

void add_population_option(CLI::App& app, std::vector<std::string>& files);

// Writes the population of the profiles' GPUs and reports excluded cards on stderr. option: for
// messages. faults: reasons against a card, by UUID. Throws UsageError if the file exists, no
// profile has GPU figures, or half of a population's cards would be excluded.
void write_population(std::span<const Profile* const> profiles, const std::string& option,
                      const std::string& path,
                      const std::map<std::string, std::string>& faults = {});

}  // namespace peakline::bench
