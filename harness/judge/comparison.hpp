#pragma once

// The result of comparing two sets of profiles (compare.hpp).

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
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
  // The relevant relative change. With one run a side, losses must exceed it by up to 1 % of a
  // burst: 2 % finds losses of 3 %.
  double threshold = 0.02;
  std::vector<std::string> allowed = {};  // excused reasons of the gate
  // Scatter of a model's cards; without it, two cards are judged as one. It also judges new runs if
  // the old ones differ too much.
  std::span<const Population> populations = {};
  // Spread of a card's runs at this site, from kept runs (repeatability --write).
  std::span<const Population> kept = {};
  // Pairs GPUs by their place in the profiles, not by card: somebody chose them.
  bool in_order = false;
  // Files of the profiles, which name machines without a name of their own; may be empty.
  std::span<const std::string> base_files = {}, next_files = {};
};

struct SideValue {
  double value = 0;  // geometric mean of the runs
  std::size_t runs = 0;
  std::optional<double> sm_clock_hz, power_w;  // medians over runs that know them
  std::string limit;                           // "heat", "power cap"; empty: none seen
  // The largest scatter within a run, if beyond a healthy device's.
  std::optional<double> excessive_scatter = {};
};

struct CeilingComparison : FigureKey {
  std::string label = {};  // "BF16 Tensor Cores burst"
  std::string unit;
  SideValue base, next;
  double ratio = 1, ratio_low = 1, ratio_high = 1;  // next / base: above 1 is faster
  std::optional<double> ratio_per_clock;            // compute rates with known clocks
  Verdict verdict = Verdict::kInconclusive;
  std::optional<std::size_t> runs_to_settle;  // as in Judgement
  std::optional<double> threshold_to_settle;  // likewise
  // If the sides are two cards: the scatter of the model's cards, and their number.
  std::optional<double> between_cards = {};
  std::size_t cards = 0;
  std::string assumed_from = {};                       // another model whose scatter was borrowed
  bool method_changed = false;                         // values are not comparable
  std::set<std::string, std::less<>> benchmarks = {};  // whose points are behind it
  // New runs that are slower by themselves, and the slowest one's ratio.
  std::size_t slow_runs = 0;
  double slowest_run = 1;
  double believed_low = 1, runs_differ = 0;  // as in Judgement

  // Inconclusive, and neither more runs nor a threshold that hides no real losses would settle it.
  bool too_noisy() const {
    constexpr double kHighestThreshold = 0.05;
    return verdict == Verdict::kInconclusive && !runs_to_settle &&
           threshold_to_settle.value_or(1) > kHighestThreshold;
  }
};

// The points of a benchmark on both sides. Ratios are of speed: above 1, `next` is faster.
struct CurveComparison {
  struct Point {
    std::string name;  // parameters, "width:16/bytes:4096"
    double ratio = 1;
    double base = 0, next = 0;  // geometric means of the runs
  };
  std::string id;             // with the parameter, if an id has several sweeps
  std::string unit = {};      // of the points' figures
  std::vector<Point> points;  // in the order of the sweep
  double median_ratio = 1, ratio_low = 1, ratio_high = 1;
  Verdict verdict = Verdict::kInconclusive;
  std::optional<double> median_ratio_per_clock;  // compute rates with known clocks
  struct Part {
    std::size_t begin = 0, end = 0;  // of points
    double ratio = 1;                // their median
  };
  // The longest stretch of points whose ratios all differ from 1 by more than the threshold, in one
  // direction.
  std::optional<Part> changed = {};
  // A part that makes the curve slower where its median does not.
  std::optional<Part> slow_part = {};
  double runs_differ = 0;  // as in Judgement

  const std::optional<Part>& part() const { return slow_part ? slow_part : changed; }
  double loss_ratio() const { return slow_part ? slow_part->ratio : median_ratio; }
};

struct Difference {
  std::string what;  // "driver"
  std::string base, next;
};

struct DeviceComparison {
  std::string machine;               // "" if the sides are compared as one machine
  std::string key;                   // "gpu0", "host", "node"
  std::string model;                 // "NVIDIA H200", on the new side
  std::string base_card, next_card;  // short UUIDs of GPUs
  std::size_t base_cards = 0,
              next_cards = 0;        // compared as one: more than one if somebody chose so
  std::string moved_from;            // the card's machine on the old side, if another
  std::string base_name, next_name;  // "GPU 0 · NVIDIA H200", "host · AMD EPYC ..."
  bool same_model = true;
  bool virtual_machine = false;  // in any of the runs
  bool is_host = false;
  bool different_modes = false;  // quick runs on one side, full ones on the other
  bool untried = false;          // the new side's mode omits points of the old one's
  bool chosen = false;           // somebody paired these GPUs
  std::vector<CeilingComparison> ceilings;
  std::vector<CurveComparison> curves;
  std::vector<Difference> differences;
  std::vector<std::string> only_base, only_next;  // ceilings and benchmarks

  bool is_gpu() const { return !next_card.empty(); }
  // Another card is in the slot.
  bool replaced() const { return base_card != next_card && base_name == next_name; }
  // Neighbours use the CPUs and memory of a virtual machine.
  bool shared_host() const { return is_host && virtual_machine; }
  bool judged() const { return same_model && !shared_host(); }
  // Whether a ceiling of the curve's benchmark deviates as far, so that the curve says it again.
  bool told_by_ceiling(const CurveComparison& curve) const;
};

// How far all cards of a model moved together in a figure: the median of their ratios, with its
// 95 % interval by order statistics.
struct FleetShift : FigureKey {
  std::string model, label = {};
  std::size_t cards = 0;
  double ratio = 1, ratio_low = 1, ratio_high = 1;
  // kSlower, kFaster: the interval lies beyond the threshold; kSame: within it.
  Verdict verdict = Verdict::kInconclusive;
};
// Inconclusive figures that mostly point one way: by the sign test at 1 %, and in the median by at
// least half the threshold, beyond how far two cards of the model differ if there are two. No
// reason of the gate, since figures of one card share clock, heat and power.
struct Lean {
  std::size_t figures = 0, inconclusive = 0;  // `figures` of those not too noisy point that way
  double ratio = 1;                           // median of all these

  bool slower() const { return ratio < 1; }
};

// The device of rules about all cards.
inline constexpr std::string_view kFleetDevice = "fleet";
// Fewer cards give no such interval.
inline constexpr std::size_t kFewestShifted = 6;

// Why the new side does not pass; gate.cpp has the codes.
struct Gate {
  std::vector<Judged> reasons;  // rules that do not pass, unless excused
  // What check warns of or fails in the new runs by themselves, and is no reason.
  std::vector<Judged> warnings = {};
  std::vector<std::string> unused;  // allowed names without a rule

  bool passed() const;
  Outcome outcome() const;  // kWarn: passes with warnings
};

struct CompareResult {
  std::size_t base_runs = 0, next_runs = 0;
  std::vector<std::string> base_files, next_files;
  double threshold = 0;
  std::vector<std::string> machines = {};  // names; empty: the sides are compared as one
  std::size_t cards = 0;                   // GPUs of either side
  std::vector<DeviceComparison> devices;
  std::vector<FleetShift> shifts = {};
  std::optional<Lean> lean = {};
  std::vector<std::string> only_base, only_next;  // devices
  std::vector<std::string> kept_in = {};          // files of kept runs
  Gate gate;

  // The worst that the gate does not excuse: "slower", "unsteady", "different" (less hardware,
  // something missing or failed), "cannot_judge"; else "faster" or "same".
  std::string_view verdict() const;
};

}  // namespace peakline
