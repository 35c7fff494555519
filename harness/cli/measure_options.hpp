#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "harness/benchmark/bench.hpp"

namespace peakline::bench {

// The options of `run` that it hands on to its workers, which take the same ones.
struct MeasureOptions {
  bool quick = false;
  std::optional<double> max_noise_percent;  // default: the mode's own
  std::size_t min_samples = RunOptions{}.min_samples;
  std::uint64_t seed = RunOptions{}.seed;
  bool no_verify = false;
  double soak_s = 0;
  bool verified_soak = false;
  bool profile = false;

  // All but --quick, which `run` documents in its own way.
  void add_to(CLI::App& app);
  RunOptions run_options() const;
};

// Checks for CLI11, which return what is wrong with an option's text, or an empty string. (CLI11's
// own let NaN and negative whole numbers pass.)
using OptionCheck = std::function<std::string(const std::string&)>;
OptionCheck number_in(double low, double high);  // both included
OptionCheck number_above_0(double high);         // infinite: no limit, but a finite number
OptionCheck whole_number_in(std::uint64_t low, std::uint64_t high);

}  // namespace peakline::bench
