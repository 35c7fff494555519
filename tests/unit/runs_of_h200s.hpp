#pragma once

// runs_of_h200s.csv as runs of cards.

#include <array>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "harness/judge/card_runs.hpp"
#include "harness/profile/profile.hpp"
#include "harness/values/device_view.hpp"

namespace peakline {

// source: root of the tree. Facts that the file lacks, and methods, are the reference profile's.
inline std::vector<CardRun> runs_of_h200s(const std::string& source) {
  const Profile profile = read_profile(source + "/tests/golden/nvidia-h200.json");
  const CardRun reference = card_run(device_views(profile)[0], "");
  const auto known = [&](const std::string& resource, const std::string& basis) {
    for (const RunFigure& figure : reference.figures)
      if (!figure.beside_siblings && figure.resource == resource &&
          to_string(figure.basis) == basis)
        return figure;
    throw std::invalid_argument("the reference has no " + resource + '/' + basis);
  };
  std::ifstream file(source + "/tests/unit/runs_of_h200s.csv");
  // The first line ends with "by revision: a 62cb665, b 62cb665, ...".
  std::string card, revision;
  std::getline(file, card);
  std::istringstream named(card.substr(card.rfind(':') + 1));
  std::map<std::string, std::string> revisions;
  while (named >> card >> revision) revisions[card] = revision.substr(0, revision.find(','));
  std::vector<CardRun> runs;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream cells(line);
    std::array<std::string, 6> cell;
    for (std::string& c : cell) std::getline(cells, c, ',');
    const auto [place, added] = places.try_emplace({cell[0], cell[1], cell[2]}, runs.size());
    if (added) {
      CardRun& run = runs.emplace_back(reference);
      run.card = cell[0];
      run.mode = cell[1];
      run.revision = revisions.at(run.card);
      run.created = "";
      run.figures.clear();
    }
    RunFigure figure = known(cell[3], cell[4]);
    figure.value = std::stod(cell[5]);
    runs[place->second].figures.push_back(figure);
  }
  for (CardRun& run : runs) add_siblings(run.figures);
  return runs;
}

}  // namespace peakline
