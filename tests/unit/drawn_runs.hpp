#pragma once

#include <random>
#include <string>
#include <vector>

#include "harness/judge/card_runs.hpp"

namespace peakline {

// Runs of healthy cards, whose figures scatter partly together, partly alone.
inline std::vector<CardRun> drawn_runs(int cards, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<CardRun> runs;
  for (int card = 0; card < cards; ++card) {
    CardRun& run = runs.emplace_back();
    run.card = std::to_string(card);
    run.facts.model = "GPU";
    run.mode = "full";
    const double common = normal(random);
    for (int i = 0; i < 8; ++i) {
      const double own = i < 4 ? common : normal(random);
      RunFigure& figure =
          run.figures.emplace_back(RunFigure{{"tensor.x" + std::to_string(i), Basis::kBurst}});
      figure.unit = "B/s";
      figure.value = 1e12 * (1 + 0.011 * own);
    }
  }
  return runs;
}

}  // namespace peakline
