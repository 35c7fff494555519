#pragma once

// Two sets of profiles, from before and after a change or from two machines: what became faster or
// slower, by how much, and what may explain it. Pure functions.
//
// The rule of a verdict. Each side has, for each ceiling, the median of its runs' values and an
// interval:
//   - 6 runs or more: the order statistics of the runs' own 95 % intervals that enclose the median
//     with 95 % (statistics.hpp), so that the spread between runs decides;
//   - fewer: the widest that the runs' intervals reach, widened on either side by half the expected
//     spread from run to run, over the number of runs: kRunToRun, kRunToRunPowerLimited under a
//     power cap or a sustained load, kRunToRunShared for the CPU and memory of a virtual machine
//     or container. One run cannot know that spread.
// With the ratio new / base, and its interval from the low end of one side over the high end of the
// other:
//   faster        the interval lies above 1, and the ratio above 1 + threshold
//   slower        the interval lies below 1, and the ratio below 1 - threshold
//   same          the interval lies within 1 - threshold and 1 + threshold
//   inconclusive  anything else: more runs would tell; also where the measurement method changed
//   not judged    the devices are different models: the ratio says which wins, not what is broken

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/profile.hpp"

namespace peakline {

// How far two runs in a row on one idle device may differ (ratio - 1), of ceilings that no power
// cap holds, of those that one does, and of a virtual machine's CPU and memory, which its
// neighbours use too.
inline constexpr double kRunToRun = 0.01;
inline constexpr double kRunToRunPowerLimited = 0.02;
inline constexpr double kRunToRunShared = 0.1;

struct CompareOptions {
  // The relative change that matters. At least the run-to-run spread of a power-limited ceiling
  // with an interval's width to spare, or a single run a side could never be called the same.
  double threshold = 0.03;
};

enum class Verdict { kFaster, kSlower, kSame, kInconclusive, kNotJudged };
// "faster", "slower", "same", "inconclusive", "not_judged"
std::string_view to_string(Verdict verdict);

// One ceiling on one side, over all of its runs.
struct SideValue {
  double value = 0;  // median of the runs
  double low = 0, high = 0;
  std::size_t runs = 0;
  std::optional<double> sm_clock_hz, power_w;  // medians, of the runs that know them
  std::string limit;                           // "heat", "power cap"; empty: none was seen
};

struct CeilingComparison {
  std::string resource;
  std::string label;  // of the resource
  Basis basis = Basis::kMeasured;
  std::string unit;
  SideValue base, next;
  double ratio = 1, ratio_low = 1, ratio_high = 1;  // next / base: above 1 is faster
  std::optional<double> ratio_per_clock;            // of compute rates whose clocks are known
  Verdict verdict = Verdict::kInconclusive;
  bool method_changed = false;  // of measuring: the values do not compare
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
  double median_ratio = 1;
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
  std::vector<CeilingComparison> ceilings;
  std::vector<CurveComparison> curves;
  std::vector<Difference> differences;
  std::vector<std::string> only_base, only_next;  // ceilings and benchmarks
};

struct CompareResult {
  std::size_t base_runs = 0, next_runs = 0;
  double threshold = 0;
  std::vector<DeviceComparison> devices;
  std::vector<std::string> only_base, only_next;  // devices
};

// Devices are paired by UUID; what is left by index and name, all runs together; what is left then
// by index alone (different models). Linear in the number of profiles.
CompareResult compare(std::span<const Profile> base, std::span<const Profile> next,
                      const CompareOptions& options);

// Whether any ceiling of the same model became slower.
bool has_regression(const CompareResult& result);

}  // namespace peakline
