#pragma once

// Describes what a site's rules would judge, before anything is measured.

#include <span>
#include <string>
#include <vector>

#include "harness/conclude/benchmark.hpp"
#include "harness/judge/rules.hpp"
#include "harness/values/population.hpp"

namespace peakline {

// A rule's figure on healthy cards of a model, in one mode.
struct HealthyLevel {
  std::string model, mode;  // "NVIDIA H200", "2 x NVIDIA H200"; "quick"
  double median = 0;
};

struct LintedRule {
  RuleChange change;
  std::string device = {};  // "gpu0", "node"; empty: all
  std::string label = {};   // "BF16 Tensor Cores burst"; else the rule's name
  std::string unit = {};    // empty: without value, or a fact
  std::vector<HealthyLevel> levels = {};
  std::string key = {};      // of the mistake: "name"
  std::string mistake = {};  // "tensor.bf61/burst: no such rule"; empty: none
};

// Rules may name figures of the known populations and of the benchmarks.
LintedRule lint(const RuleChange& change, std::span<const Population> known, Benchmarks benchmarks);

}  // namespace peakline
