#pragma once

// Files of populations on the command line.

#include <CLI/CLI.hpp>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/values/population.hpp"
#include "harness/values/profile.hpp"

namespace peakline::bench {

// Reads files of populations, and profiles or folders of them, and leaves out the cards named by
// UUID.
std::vector<Population> populations_of_paths(const std::vector<std::string>& paths,
                                             const std::set<std::string>& without);

// How runs of the cards at hand differ, from runs that were kept.
struct KeptRuns {
  std::vector<std::string> files;
  std::vector<Population> populations;
};
// Reads the files that are named (--population), or else those beside the profiles. near: profiles,
// or folders of them; they need not exist.
KeptRuns kept_runs(const std::vector<std::string>& named, const std::vector<std::string>& near);

void add_population_option(CLI::App& app, std::vector<std::string>& files);

// Writes what the GPUs of the profiles measure and how they scatter, and says on stderr which cards
// it leaves out. option: for messages. faults: what speaks against a card, by UUID. Throws
// UsageError where the file exists, where no profile has figures of a GPU, or where half of the
// cards or more of a population would be left out.
void write_population(std::span<const Profile* const> profiles, const std::string& option,
                      const std::string& path,
                      const std::map<std::string, std::string>& faults = {});

}  // namespace peakline::bench
