#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/benchmark/bench.hpp"

namespace peakline::bench {

// The command line chooses these options for workers.
struct MeasureOptions {
  RunOptions options;
  // The mode decides by default.
  std::optional<double> max_noise_percent = {};
  std::optional<std::size_t> min_samples = {};

  // Adds all but --quick, which `run` documents itself.
  void add_to(CLI::App& app);
  RunOptions run_options() const;
};

// Adds an option with a value that may be repeated.
void add_repeatable(CLI::App& app, const std::string& name, const std::string& type,
                    std::vector<std::string>& values, const std::string& what);

// Checks for CLI11 that return an error or "". CLI11's own accept NaN and negative integers.
using OptionCheck = std::function<std::string(const std::string&)>;
OptionCheck not_empty(std::string what);         // "FILE"
OptionCheck number_in(double low, double high);  // inclusive
OptionCheck number_above_0(double high);         // infinite: any finite number
OptionCheck whole_number_in(std::uint64_t low, std::uint64_t high);

}  // namespace peakline::bench
