#pragma once

// Tells what a site's rules would judge, as far as that is known before anything is measured.

#include <span>
#include <string>
#include <vector>

#include "harness/judge/rules.hpp"
#include "harness/values/benchmark.hpp"
#include "harness/values/population.hpp"

namespace peakline {

// The figure of a rule as healthy cards of a model measure it, in one mode.
struct HealthyLevel {
  std::string model, mode;  // "NVIDIA H200", "2 x NVIDIA H200"; "quick"
  double median = 0;
};

// A rule as a site changes it.
struct LintedRule {
  RuleChange change;
  std::string device = {};  // "gpu0", "node"; empty: of all
  std::string label = {};  // "BF16 Tensor Cores burst"; the rule's name where it is about no figure
  std::string unit = {};   // of a figure; empty: it has no value, or a fact's
  std::vector<HealthyLevel> levels = {};
  std::string key = {};      // of the mistake: "name"
  std::string mistake = {};  // "tensor.bf61/burst: no such rule"; empty: none
};

// known: populations, whose figures rules may be about beside those of the benchmarks.
LintedRule lint(const RuleChange& change, std::span<const Population> known, Benchmarks benchmarks);

}  // namespace peakline
