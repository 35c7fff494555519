#pragma once

// What a comparison of two sets of profiles says; compare.hpp makes it.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/rules.hpp"
#include "harness/judge/two_sides.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/population.hpp"

namespace peakline {

struct CompareOptions {
  // The relative change that matters. A loss has to lie a good deal beyond it to be found, by up to
  // 1 % of a burst with one run a side: 2 % finds losses of 3 %.
  double threshold = 0.02;
  std::vector<std::string> allowed = {};  // names of the gate's reasons that are excused
  // How cards of a model scatter; without any, two cards are judged as one.
  // They also judge a new run where the old ones differ too much to do so.
  std::span<const Population> populations = {};
  // How runs of a card at this site differ, from runs that were kept (repeatability --write).
  std::span<const Population> kept = {};
};

// One ceiling on one side, over all of its runs.
struct SideValue {
  double value = 0;  // geometric mean of the runs
  std::size_t runs = 0;
  std::optional<double> sm_clock_hz, power_w;  // medians, of the runs that know them
  std::string limit;                           // "heat", "power cap"; empty: none was seen
  // The largest scatter of a run by itself, where one is beyond what a healthy device shows.
  std::optional<double> excessive_scatter = {};
};

struct CeilingComparison {
  std::string resource;
  Basis basis = Basis::kMeasured;
  std::string label = {};  // "BF16 Tensor Cores burst"
  std::string unit;
  SideValue base, next;
  double ratio = 1, ratio_low = 1, ratio_high = 1;  // next / base: above 1 is faster
  std::optional<double> ratio_per_clock;            // of compute rates whose clocks are known
  Verdict verdict = Verdict::kInconclusive;
  std::optional<std::size_t> runs_to_settle;  // as in Judgement
  std::optional<double> threshold_to_settle;  // likewise
  // Where the sides are two cards: what a card of the model scatters by, and of how many it is
  // known.
  std::optional<double> between_cards = {};
  std::size_t cards = 0;
  std::string assumed_from = {};  // another model, of which it is known
  bool method_changed = false;    // of measuring: the values do not compare
  // How many of several new runs are slower by themselves, and the slowest one's ratio.
  std::size_t slow_runs = 0;
  double slowest_run = 1;
  double runs_differ = 0;  // as in Judgement
};

// All points of one benchmark that both sides have. Ratios are of speed: above 1, `next` is faster,
// also where the value is a time.
struct CurveComparison {
  struct Point {
    std::string name;  // the parameters, "width:16/bytes:4096"
    double ratio = 1;
  };
  std::string id;             // with the parameter, where one id has several sweeps
  std::vector<Point> points;  // in the order of the sweep
  double median_ratio = 1, ratio_low = 1, ratio_high = 1;
  Verdict verdict = Verdict::kInconclusive;
  std::optional<double> median_ratio_per_clock;  // of compute rates whose clocks are known
  // The longest stretch of points whose ratio differs from 1 by more than the threshold, all to the
  // same side, as indices [part_begin, part_end) into points; empty where the curves stay together.
  std::size_t part_begin = 0, part_end = 0;
};

// A condition that is not the same on both sides.
struct Difference {
  std::string what;  // "driver"
  std::string base, next;
};

struct DeviceComparison {
  std::string base_name, next_name;  // "GPU 0 · NVIDIA H200", "host · AMD EPYC ..."
  bool same_model = true;
  bool virtual_machine = false;  // around the device, in any of the runs
  bool is_host = false;
  bool different_modes = false;  // quick runs on one side, full ones on the other
  bool untried = false;          // the new side's mode does not measure all that the old side's did
  std::vector<CeilingComparison> ceilings;
  std::vector<CurveComparison> curves;
  std::vector<Difference> differences;
  std::vector<std::string> only_base, only_next;  // ceilings and benchmarks

  // A virtual machine's neighbours use its CPUs and memory too.
  bool shared_host() const { return is_host && virtual_machine; }
  bool judged() const { return same_model && !shared_host(); }
};

// Why a new profile does not pass for the old one; gate.cpp has the codes.
struct Gate {
  std::vector<JudgedRule> reasons;  // none of them passes, but some are excused
  std::vector<std::string> unused;  // names that were allowed and did not occur

  bool passed() const;  // no reason but excused ones
};

struct CompareResult {
  std::size_t base_runs = 0, next_runs = 0;
  double threshold = 0;
  std::vector<DeviceComparison> devices;
  std::vector<std::string> only_base, only_next;  // devices
  std::vector<std::string> kept_in = {};          // the files of the runs that were kept
  Gate gate;

  // The worst that can be said, of what the gate does not excuse: "slower", "unsteady", "different"
  // (less hardware, something missing or failed), "cannot_judge"; then "faster" and "same".
  std::string_view verdict() const;
};

}  // namespace peakline
