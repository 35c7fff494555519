// Writes the population of the H200s in tests/unit/runs_of_h200s.csv, of which no profiles are
// kept: usage: peakline_population OUT.

#include "harness/profile/population.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <regex>
#include <set>
#include <string>

#include "tests/unit/runs_of_h200s.hpp"

int main(int argc, char** argv) {
  using namespace peakline;
  if (argc != 2) {
    std::cerr << "usage: peakline_population OUT\n";
    return 2;
  }
  try {
    std::vector<Population> populations = populations_of(runs_of_h200s(PEAKLINE_SOURCE_DIR));
    // The file's first line names the revisions that the cards were measured with.
    std::ifstream file(PEAKLINE_SOURCE_DIR "/tests/unit/runs_of_h200s.csv");
    std::string line;
    std::getline(file, line);
    const std::regex revision("\\b[0-9a-f]{7}\\b");
    std::set<std::string> revisions;
    for (std::sregex_iterator found(line.begin(), line.end(), revision), end; found != end; ++found)
      revisions.insert(found->str());
    for (Population& population : populations)
      population.revisions.assign(revisions.begin(), revisions.end());
    write_populations(populations, argv[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
