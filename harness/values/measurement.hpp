#pragma once

// Plain values of measurements and conclusions. Times are s, rates per s, sizes B, clocks Hz.
// std::nullopt means unknown and is left out of a profile, never written as 0.

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
// In the order that the benchmark declares.
using Params = std::vector<std::pair<std::string, ParamValue>>;

std::string to_string(const ParamValue& value);

// "id/name:value/name:value", as in Google Benchmark, --filter and progress lines.
std::string point_name(std::string_view id, const Params& params);

// nullptr without such a parameter.
const ParamValue* find_param(const Params& params, std::string_view name);
std::optional<std::int64_t> int_param(const Params& params, std::string_view name);
std::optional<std::string> text_param(const Params& params, std::string_view name);

// GPU indices that a node measurement names: `gpu`, or the two of `pair` ("0-1"). nullopt: all
// GPUs, or no second one.
std::optional<int> first_gpu(const Params& params);
std::optional<int> second_gpu(const Params& params);

enum class Status { kOk, kSkipped, kError };
std::string_view to_string(Status status);  // "ok", "skipped", "error"

// The work of one launch. FMA = 2 FLOP; a copy counts bytes read plus bytes written.
struct Work {
  double bytes_read = 0;
  double bytes_written = 0;
  double flops = 0;

  double bytes() const { return bytes_read + bytes_written; }
  bool operator==(const Work&) const = default;
};

// How a value follows from Work and time (the Estimate of the blocks).
enum class Quantity {
  kTime,      // the time itself, unit "s"
  kByteRate,  // Work::bytes() / time, unit "B/s"
  kFlopRate,  // Work::flops / time, unit "FLOP/s"
  kOpRate,    // Work::flops / time for integer operations, unit "OP/s"
};
std::string_view unit_of(Quantity quantity);
// The value in `unit` of work that took time_s; nullopt for an unknown unit.
std::optional<double> value_in(std::string_view unit, const Work& work, double time_s);

// Nothing is measured to more digits.
inline constexpr int kProfileDigits = 7;
void round_digits(double& value, int digits = kProfileDigits);
void round_digits(std::optional<double>& value, int digits = kProfileDigits);
void round_digits(std::vector<double>& values, int digits = kProfileDigits);

// The search's choices and the launch's shape: "grid", "block", "algorithm", ...
using LaunchFacts = Params;

// How a time is estimated from block medians.
enum class Estimate {
  kMedian,
  kTrimmedMean,   // without the fastest and slowest tenth: for clocks that alternate
  kFastestTenth,  // median of the fastest tenth: for work that others can only slow
  kMean,          // for work that stalls and resumes, as throttled disks do
};
// "median", "trimmed_mean", "fastest_tenth", "mean"
std::string_view to_string(Estimate estimate);

// The main cause, besides the device, of differences between runs; in increasing order.
enum class VariesWith {
  kDevice,       // nothing
  kSearch,       // the kernel that a search picks
  kCollectives,  // NCCL's setup, or the host's memory, which answers
  kLaunches,     // the CPU, which launches the work
  kCpu,          // the CPU, which does the work or waits for it
};
std::string_view to_string(VariesWith varies);  // "device", "search", ...

// Order statistics over block medians, seconds per launch, with a 95 % interval of the median
// (rule: harness/statistics/statistics.hpp).
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
  bool implausible = false;  // above a physical limit; never a ceiling
  bool unstable = false;     // samples drift, or sittings disagree
  bool throttled = false;    // a power, thermal or other clock limit was active

  bool operator==(const Flags&) const = default;
};

enum class ClockSource { kKernel, kProbe, kNvml };
std::string_view to_string(ClockSource source);  // "kernel", "probe", "nvml"

// The device's state while the measurement ran.
struct Conditions {
  std::optional<double> sm_clock_hz = {};
  std::optional<ClockSource> sm_clock_source = {};
  std::optional<double> memory_clock_hz = {};
  // From the energy counter, for measurements of >= 1 s; NVML's power is a slow average.
  std::optional<double> power_w = {};
  std::optional<double> temperature_c = {};
  std::optional<double> utilization = {};  // 0..1, of the SMs in time
  // The PCIe link while data moved; only for measurements of the host link.
  std::optional<int> pcie_generation = {}, pcie_width = {};
  // 0..1, the share of time at lowered clocks to keep average power within the cap, for
  // measurements of >= 0.5 s. Limits that act within milliseconds show only in sm_clock_hz.
  std::optional<double> power_cap_share = {};
  // Names of NVML's clock event reasons: "sw_power_cap", "hw_thermal", ...
  std::vector<std::string> throttle_reasons = {};

  bool operator==(const Conditions&) const = default;
};

// A time series over a long measurement; all vectors have equal length.
struct Series {
  std::vector<double> time_s;  // end of each interval, since the start of the load
  std::vector<double> rate;    // in the measurement's unit
  std::vector<double> sm_clock_hz;
  std::vector<double> power_w;        // NaN (null in JSON) where unreadable
  std::vector<double> temperature_c;  // likewise

  bool empty() const { return time_s.empty(); }
  bool operator==(const Series&) const = default;
};

// The reason of a never_run measurement begins with this.
inline constexpr std::string_view kFailedWhereNeverRun =
    "never run on hardware before, and here it failed";

// More block medians add nothing but size.
inline constexpr std::size_t kMaxSamples = 64;

struct Measurement {
  std::string id;      // "area.what.variant"
  Params params = {};  // (id, params) is the identity of a measurement on a device
  std::string device;  // a GPU's UUID, "host" or "node"
  Status status = Status::kOk;
  // It failed where its code had never run on hardware before, and counts as skipped.
  bool never_run = false;
  // Why it was skipped or failed; a remark if ok ("footprint reduced from ...").
  std::string reason = {};
  Work work = {};
  LaunchFacts launch = {};
  std::vector<double> samples_s = {};  // block medians in time order, seconds per launch
  // Blocks per sitting, per run; empty: all from one sitting.
  std::vector<std::vector<std::int64_t>> sittings = {};
  std::int64_t launches_per_sample = 0;
  std::optional<Summary> summary = {};
  Estimate estimate = Estimate::kMedian;
  VariesWith varies_with = VariesWith::kDevice;
  std::optional<double> value = {};
  std::string unit = {};
  // nullopt: --no-verify, or nothing to verify, as a launch of an empty kernel.
  std::optional<bool> verified = {};
  Flags flags = {};
  Conditions conditions = {};
  Series series = {};
  double duration_s = 0;  // wall time with setup, search and verification
  int method_version = 1;

  std::string name() const { return point_name(id, params); }
  bool operator==(const Measurement&) const = default;
};

// Usable for conclusions: ok, not found wrong, plausible, value above 0.
bool sound(const Measurement& measurement);
// Whether its result was not compared with a reference. A rate comes from work, which has a result.
bool lacks_verification(const Measurement& measurement);

// Device names of the machine's CPUs and memory, and of what lies between GPUs.
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

// Identifies a figure of a device.
struct FigureKey {
  std::string resource;  // "hbm.read"
  Basis basis = Basis::kMeasured;
  // The ceiling is divided by the geometric mean of the part's other ceilings of the basis, such as
  // BF16 by FP16, FP8 and TF32, to expose a defect of one precision.
  bool beside_siblings = false;

  auto operator<=>(const FigureKey&) const = default;
};
std::string to_string(const FigureKey& key);  // "tensor.bf16/burst", "tensor.bf16/burst/siblings"

// Why a ceiling that a run tried for is missing.
enum class Absence {
  kUnknown,
  kSkipped,  // the hardware or its free memory does not allow it
  kFailed,
  kImplausible,
  kWrongResult,
  kFewSamples,
  kUnreadable,  // its row was no valid value
};
// "unknown", "skipped", "failed", "implausible", "wrong_result", "few_samples", "unreadable"
std::string_view to_string(Absence absence);

// A reason why a figure is below its theoretical value; see harness/conclude/factors.hpp.
struct Factor {
  std::string name;
  double value = 1;

  bool operator==(const Factor&) const = default;
};

// Sources of run-to-run differences, as standard deviations relative to the value.
struct RunSpread {
  double within = 0;  // scatter of samples within a sitting
  // Between sittings of a run; unknown from one.
  std::optional<double> sittings = {};
  double runs = 0;  // between runs
  // Half of the largest step, relative to the value: at any moment within a single sitting, or
  // between the fastest samples of two. Not part of the interval.
  std::optional<double> step = {};
  // Runs of this machine behind `runs`; 0: only the resource's class.
  std::int64_t runs_measured = 0;
  // Degrees of freedom from the user's earlier runs behind `runs`.
  std::int64_t kept_degrees = 0;
  // The model whose spread was borrowed for this one.
  std::string assumed_from = {};

  // Only a borrowed spread stands behind `runs`.
  bool assumed() const { return !assumed_from.empty() && runs_measured == 0 && kept_degrees == 0; }
  bool operator==(const RunSpread&) const = default;
};

struct Ceiling {
  std::string device;
  std::string resource;  // "hbm.read", "pcie.h2d", "cuda_core.fp32", "tensor.bf16", "memory.read"
  Basis basis = Basis::kMeasured;
  double value = 0;
  std::string unit;
  // 95 % interval for the next run's value, in `unit`. Absent for computed figures.
  std::optional<double> ci_low = {}, ci_high = {};
  std::optional<RunSpread> spread = {};  // components of the interval
  Conditions conditions = {};
  std::string measurement = {};  // point name; empty for theoretical and datasheet
  std::string note = {};         // how it was computed, or what makes it uncertain
  // Their product is value / theoretical; empty: unknown.
  std::vector<Factor> factors = {};

  bool operator==(const Ceiling&) const = default;
};

// nullptr without such a row.
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
