#pragma once

// The values that a measurement consists of. Plain data: what is concluded and judged is a
// function of these. Times are seconds, rates are per second, sizes are bytes, clocks are Hz.
// std::optional means "not known", which a profile says by leaving it out, never as 0.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace peakline {

using ParamValue = std::variant<std::int64_t, std::string>;
// Parameters in the order in which the benchmark declares them.
using Params = std::vector<std::pair<std::string, ParamValue>>;

std::string to_string(const ParamValue& value);

// "id/name:value/name:value": the name of one point of a benchmark, as Google Benchmark, --filter
// and progress lines show it.
std::string point_name(std::string_view id, const Params& params);

// nullptr where there is no such parameter.
const ParamValue* find_param(const Params& params, std::string_view name);
std::optional<std::int64_t> int_param(const Params& params, std::string_view name);
std::optional<std::string> text_param(const Params& params, std::string_view name);

// A measurement of the node names the GPU that measured by its index, which is `gpu` or the first
// of `pair` ("0-1"), and that of the other one of the pair. nullopt where it is of all GPUs, or
// one.
std::optional<int> first_gpu(const Params& params);
std::optional<int> second_gpu(const Params& params);

enum class Status { kOk, kSkipped, kError };
std::string_view to_string(Status status);  // "ok", "skipped", "error"

// The work of one launch, as its author counts it. FMA = 2 FLOP. A copy counts what it reads and
// what it writes.
struct Work {
  double bytes_read = 0;
  double bytes_written = 0;
  double flops = 0;

  double bytes() const { return bytes_read + bytes_written; }
  bool operator==(const Work&) const = default;
};

// How the value of a measurement follows from its work and its time, the Estimate of its blocks.
enum class Quantity {
  kTime,      // the time itself, unit "s"
  kByteRate,  // Work::bytes() / time, unit "B/s"
  kFlopRate,  // Work::flops / time, unit "FLOP/s"
  kOpRate,    // the same for whole numbers, unit "OP/s"
};
std::string_view unit_of(Quantity quantity);
// The value in `unit` of work that took so long; nullopt for the unit of no quantity.
std::optional<double> value_in(std::string_view unit, const Work& work, double time_s);

// Clocks and counters that time a sample are good to five digits or so: seven lose nothing, and
// keep a profile small.
inline constexpr int kProfileDigits = 7;
void round_digits(double& value, int digits = kProfileDigits);
void round_digits(std::optional<double>& value, int digits = kProfileDigits);
void round_digits(std::vector<double>& values, int digits = kProfileDigits);

// The choices of the search and the shape of the launch, as named values ("grid", "block",
// "unroll", "algorithm", "shape", "layout", "stop", ...).
using LaunchFacts = Params;

// How the value follows from a measurement's blocks.
enum class Estimate {
  kMedian,       // their median
  kTrimmedMean,  // the mean of all but the fastest and the slowest tenth: where the clock is at one
                 // of two steps, between which a median would jump
  kFastestTenth,  // the median of the fastest tenth of them: where others can only slow the work
  kMean,          // their mean: where what is measured goes and stops, as throttled disks do
};
// "median", "trimmed_mean", "fastest_tenth", "mean"
std::string_view to_string(Estimate estimate);

// The cause of differences from run to run beside the device, in the order of how far it moves
// figures.
enum class VariesWith {
  kDevice,       // nothing
  kSearch,       // the kernel that a search has found
  kCollectives,  // what NCCL sets up at its start
  kLaunches,     // the CPU, which starts the work
  kCpu,          // the CPU, which does the work or waits for it
};
std::string_view to_string(VariesWith varies);  // "device", "search", ...

// Order statistics over block medians, seconds per launch. The interval covers the median with
// about 95 % (harness/statistics/statistics.hpp states the exact rule).
struct Summary {
  double median = 0;
  double ci_low = 0;
  double ci_high = 0;
  double min = 0;
  double max = 0;
  std::int64_t n = 0;

  bool operator==(const Summary&) const = default;
};

struct Flags {
  bool implausible = false;  // above a physical limit: never used as a ceiling
  bool unstable = false;     // the samples drift, or the sittings do not agree
  bool throttled = false;    // a power, thermal or other clock limit was active meanwhile

  bool operator==(const Flags&) const = default;
};

enum class ClockSource { kKernel, kProbe, kNvml };
std::string_view to_string(ClockSource source);  // "kernel", "probe", "nvml"

// The device's state while the measurement ran.
struct Conditions {
  std::optional<double> sm_clock_hz = {};
  std::optional<ClockSource> sm_clock_source = {};
  std::optional<double> memory_clock_hz = {};
  // It is read from the energy counter, where the measurement lasts >= 1 s (NVML's power is a slow
  // average).
  std::optional<double> power_w = {};
  std::optional<double> temperature_c = {};
  std::optional<double> utilization = {};  // 0..1, of the SMs in time
  // The PCIe link as read while data moved; only for measurements of the host link.
  std::optional<int> pcie_generation = {}, pcie_width = {};
  // 0..1, the share of the time in which the driver lowered the clocks to keep the average power
  // within its cap, where the measurement lasts >= 0.5 s. A limit that acts at once, within the
  // first milliseconds of a load, does not count here: it shows in sm_clock_hz alone.
  std::optional<double> power_cap_share = {};
  // NVML's clock event reasons that were seen, as names ("sw_power_cap", "hw_thermal", ...).
  std::vector<std::string> throttle_reasons = {};

  bool operator==(const Conditions&) const = default;
};

// A time series over one long measurement; all vectors have the same length.
struct Series {
  std::vector<double> time_s;  // since the start of the load, end of each interval
  std::vector<double> rate;    // in the measurement's unit
  std::vector<double> sm_clock_hz;
  std::vector<double> power_w;        // NaN (written as null) where it could not be read
  std::vector<double> temperature_c;  // likewise

  bool empty() const { return time_s.empty(); }
  bool operator==(const Series&) const = default;
};

// More block medians than this say nothing new and make profiles large.
inline constexpr std::size_t kMaxSamples = 64;

struct Measurement {
  std::string id;      // "area.what.variant"
  Params params = {};  // (id, params) is the identity of a measurement on a device
  std::string device;  // a GPU's UUID, "host" or "node"
  Status status = Status::kOk;
  // Why it was skipped or failed; for an ok one, a remark ("footprint reduced from ...").
  std::string reason = {};
  Work work = {};
  LaunchFacts launch = {};
  std::vector<double> samples_s = {};  // block medians in time order, seconds per launch
  // How many of them are from each sitting of each run; empty: all from one sitting.
  std::vector<std::vector<std::int64_t>> sittings = {};
  std::int64_t launches_per_sample = 0;
  std::optional<Summary> summary = {};
  Estimate estimate = Estimate::kMedian;
  VariesWith varies_with = VariesWith::kDevice;
  std::optional<double> value = {};
  std::string unit = {};
  // nullopt: not asked for (--no-verify), or there was nothing to verify.
  std::optional<bool> verified = {};
  Flags flags = {};
  Conditions conditions = {};
  Series series = {};
  double duration_s = 0;  // wall time it took, with set-up, search and verification
  int method_version = 1;

  std::string name() const { return point_name(id, params); }
  bool operator==(const Measurement&) const = default;
};

// Whether a measurement may be relied on: ok, verified where that was asked for, not implausible,
// with a value above 0.
bool sound(const Measurement& measurement);

// The device name of measurements of the machine's CPUs and memory, and of what lies between its
// GPUs.
inline constexpr std::string_view kHostDevice = "host";
inline constexpr std::string_view kNodeDevice = "node";

// One measured or computed limit of a device.
enum class Basis {
  kTheoretical,
  kDatasheet,
  kInstruction,
  kMeasured,
  kBurst,
  kSustained,
  kModelBurst,
  kModelShaped  // under sustained load
};
// "theoretical", "datasheet", "instruction", "measured", "burst", "sustained",
// "model_burst", "model_shaped"
std::string_view to_string(Basis basis);

// One of the reasons why a figure is below the theoretical value; harness/conclude/factors.hpp has
// those there are.
struct Factor {
  std::string name;
  double value = 1;

  bool operator==(const Factor&) const = default;
};

// Components of the difference between runs: standard deviations, relative to the value.
struct RunSpread {
  double within = 0;  // by the scatter of samples within a sitting
  std::optional<double> sittings =
      {};           // by what the sittings of a run differ; one alone cannot tell
  double runs = 0;  // from run to run
  // Half of the largest step, relative to the value: between the parts of a single sitting before
  // and after any moment, or between the fastest samples of two sittings. It is no part of the
  // interval.
  std::optional<double> step = {};
  // The runs of this machine that `runs` rests on, beside the class of the resource; 0: only that.
  std::int64_t runs_measured = 0;
  // The degrees of freedom of runs that were kept before, which `runs` rests on as well.
  std::int64_t kept_degrees = 0;
  // The model that the class's spread was measured on, where it is assumed of this one.
  std::string assumed_from = {};

  // Whether nothing but another model's spread stands behind `runs`.
  bool assumed() const { return !assumed_from.empty() && runs_measured == 0 && kept_degrees == 0; }
  bool operator==(const RunSpread&) const = default;
};

struct Ceiling {
  std::string device;
  std::string resource;  // "hbm.read", "pcie.h2d", "cuda_core.fp32", "tensor.bf16", "memory.read"
  Basis basis = Basis::kMeasured;
  double value = 0;
  std::string unit;
  // The interval in which the next run's value lies with about 95 %, in `unit`. Absent for computed
  // figures.
  std::optional<double> ci_low = {}, ci_high = {};
  std::optional<RunSpread> spread = {};  // what the interval is made of
  Conditions conditions = {};
  std::string measurement = {};  // point name; empty for theoretical and datasheet
  std::string note = {};         // how it was computed, or what makes it uncertain
  // The factors' product is value / theoretical; empty: unknown.
  std::vector<Factor> factors = {};

  bool operator==(const Ceiling&) const = default;
};

// The row for (device, resource, basis); nullptr where there is none.
const Ceiling* find_ceiling(std::span<const Ceiling> ceilings, std::string_view device,
                            std::string_view resource, Basis basis);

struct RidgePoint {
  std::string compute;  // resources
  std::string memory;
  Basis compute_basis = Basis::kBurst;
  Basis memory_basis = Basis::kMeasured;
  double intensity = 0;  // FLOP/byte

  bool operator==(const RidgePoint&) const = default;
};

struct RooflinePoint {
  std::string measurement;  // point name
  std::string precision;    // "fp32", ...
  double intensity = 0;     // FLOP/byte
  double flops_per_s = 0;

  bool operator==(const RooflinePoint&) const = default;
};

struct Roofline {
  std::string device;
  std::vector<std::string> memory;   // resources whose ceilings are slopes
  std::vector<std::string> compute;  // resources whose ceilings are roofs
  std::vector<RidgePoint> ridge_points;
  std::vector<RooflinePoint> points;

  bool operator==(const Roofline&) const = default;
};

enum class Severity { kInfo, kWarning, kError };
std::string_view to_string(Severity severity);  // "info", "warning", "error"

struct Finding {
  std::string code;  // "power_cap", "pcie_link_narrow", ...: stable
  Severity severity = Severity::kInfo;
  std::string device;  // empty: the whole machine
  std::string message;
  std::vector<std::pair<std::string, std::string>> evidence;

  bool operator==(const Finding&) const = default;
};

}  // namespace peakline
