#pragma once

// A Benchmark holds all that the program knows about a benchmark except how to run it: its points,
// ceilings, physical limits, load and curves. A registration fills it in; no meaning is read out of
// ids.

#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/values/facts.hpp"
#include "harness/values/figure.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/picture.hpp"
#include "harness/values/resources.hpp"

namespace peakline {

struct DeviceView;
struct Profile;

// When a point runs, and next to what; in the order of a run.
enum class Phase {
  kHost,       // the host alone
  kNode,       // between GPUs, before other workers hold them
  kLink,       // host link and launches: one device at a time
  kDevice,     // memory, latencies: devices in parallel
  kBurst,      // compute from rest
  kSustained,  // power-limited load: late, since a hot, capped card spoils what follows
  kWarm,       // curves that compare points with one another, per clock
  kSoak,       // minutes of load
  kNodeLoad,   // power-limited load of several GPUs at once
};

enum class Timing {
  kCurve,      // >= 7 samples, <= 100 ms
  kFull,       // 20 uncorrelated blocks, until precise or out of time
  kBurst,      // bursts of a few launches from rest
  kBrief,      // fewer bursts
  kLongBurst,  // more of them
  kSustained,  // an unbroken load, once it has settled
  kSoak,       // from thermal equilibrium on, for as long as the user asks
};

// Three oscillations of an H200's power control, or two: on H200s and H100s those give the same
// rate to 0.2 %.
inline constexpr double kWholeLoadSeconds = 3;
inline constexpr double kShortLoadSeconds = 2;

struct Point {
  Params params = {};
  Phase phase = Phase::kDevice;
  Timing timing = Timing::kCurve;
  bool quick = false;                 // also part of --quick
  double seconds = 0.2;               // estimate, for --dry-run and the time left
  double load_s = kWholeLoadSeconds;  // time that counts, under sustained timing
  bool whole_load = false;            // for its mean power: no early end, no series
  // The GPUs that a point of the node's phases needs, by index; the first one measures.
  std::vector<int> gpus = {};
  // Points of a benchmark with the same number above 0 share no GPU and are measured together.
  int round = 0;
  bool whole_round = false;  // useless unless all points of the round are measured
};

inline bool is_host_point(const Point& point) { return point.phase == Phase::kHost; }
inline bool is_node_point(const Point& point) {
  return point.phase == Phase::kNode || point.phase == Phase::kNodeLoad;
}
// The unit that a benchmark loads most.
enum class Loads { kHost, kLink, kMemory, kCores };

// The most that physics allows, in the unit of the measurement.
struct PhysicalLimit {
  double value = 0;
  std::string how;        // "4096 ops/clk/SM x 132 SMs x 1980 MHz"
  Conditions conditions;  // the clock or the link that it assumes
  // false: only a bound; the model may reach less, or sources contradict each other.
  bool peak = true;
};

// Finds the limit of a measurement; harness/conclude/limits.hpp has ready-made ones.
struct Limit {
  // measurement: nullptr where none was made. Returns nullopt where the limit is not known.
  std::function<std::optional<PhysicalLimit>(const Measurement* measurement,
                                             const DeviceFacts& device)>
      of = {};
  // Why there is no limit, or only a bound; printed by `list`.
  std::string why_none = {};
  // Why a ceiling of the device, with a theoretical one and a sound measurement behind it, stays
  // below the limit; harness/conclude/factors.hpp has ready-made ones.
  std::function<std::vector<Factor>(const DeviceView& device, const Ceiling& row)> factors = {};

  bool is_peak() const { return of && why_none.empty(); }
};

// The ceiling that a benchmark's measurements feed: the best that counts becomes it.
struct CeilingRule {
  Resource resource;
  Basis basis = Basis::kMeasured;
  // Selects measurements that count; device: nullptr for the host. Empty: all.
  std::function<bool(const Measurement&, const DeviceFacts*)> counts = {};
  // Text that precedes the measurement's remark in the ceiling's note.
  std::function<std::string(const Measurement&)> note = {};
  // The resource's limit on the device, if it differs from the benchmark's.
  Limit limit = {};
};

// A benchmark's sound measurements on a device, and the device for context. Without one, as in
// tests, there is no context.
struct CurveView {
  const DeviceFacts* device = nullptr;     // nullptr: the host or the node
  std::vector<const Measurement*> points;  // in the order of the run
  const Profile* profile = nullptr;        // for statements about several devices
  const DeviceView* view = nullptr;

  // The device's ceiling.
  std::optional<double> ceiling(std::string_view resource, Basis basis) const;
  // The device's sound measurement of that name, of any benchmark; nullptr without one.
  const Measurement* measurement(std::string_view name) const;
};

// Collects the figures of a rule.
class Figures {
 public:
  // of: the benchmark's id; kinds: the figures that the rule declares. Both must outlive this.
  Figures(std::string_view of, std::span<const FigureKind> kinds) : of_(of), kinds_(kinds) {}

  // Throws std::logic_error for a figure or parameters that the rule does not declare.
  void add(std::string_view name, double value, Params by = {});

  const std::vector<Figure>& all() const { return all_; }

 private:
  std::string_view of_;
  std::span<const FigureKind> kinds_;
  std::vector<Figure> all_;
};

// Sums a curve up in figures. Benchmarks may share a topic.
struct CurveRule {
  std::string topic;                // "kernel launch"
  std::vector<FigureKind> figures;  // that it may yield
  std::function<void(const CurveView&, Figures&)> summarize;
};

// Thrown by titles: a figure or a ceiling was not measured.
struct Missing : std::exception {
  const char* what() const noexcept override { return "something that it needs was not measured"; }
};

struct TitleView {
  const Profile& profile;
  std::string_view device;             // its UUID, "host" or "node"
  const DeviceFacts* facts = nullptr;  // nullptr: the host or the node
  const DeviceView& view;
  std::span<const Figure> figures;  // of the topic

  // The device's sound measurement of that name; nullptr without one.
  const Measurement* measurement(std::string_view name) const;

  // The first match. Throws Missing.
  const Figure& figure(const FigureQuery& query) const;
  double value(const FigureQuery& query) const { return figure(query).value; }
  const Figure* find(const FigureQuery& query) const { return find_figure(figures, query); }
  // The first match with its unit: "12.3 us", "4583 GB/s". Throws Missing.
  std::string text(const FigureQuery& query) const;
  // All matches, at least one. Throws Missing.
  std::vector<const Figure*> all(const FigureQuery& query) const;
  // The match with the lowest value. Throws Missing.
  const Figure& least(const FigureQuery& query) const;
  // Throws Missing.
  const Ceiling& ceiling(std::string_view resource, Basis basis) const;
};

// A topic of one or several benchmarks, with one title and one picture.
struct Topic {
  std::string name;  // "kernel launch"
  // A sentence without a full stop: "A launch takes 1.9 us to submit". Throws Missing, or returns
  // "", where the run lacks what it needs.
  std::function<std::string(const TitleView&)> title = {};
  std::optional<Picture> picture = {};
};

// A topic whose rule or title threw: a registration's mistake, which costs only the topic.
struct BrokenTopic {
  std::string device;
  std::string topic;
  std::string why;  // "launch.graph: the rule yields the figure fixed, which it does not declare"
};

struct Benchmark {
  std::string id;
  std::string what = {};  // one line: what is measured
  std::string work = {};  // one line: how bytes, FLOPs or seconds are counted
  Quantity quantity = Quantity::kTime;
  int method_version = 1;
  Loads loads = Loads::kMemory;
  Estimate estimate = Estimate::kMedian;
  VariesWith varies_with = VariesWith::kDevice;
  Limit limit = {};
  std::vector<CeilingRule> ceilings = {};
  std::vector<CurveRule> curves = {};
  // Each topic is declared by one benchmark; by one that has a curve of it, if any does.
  std::vector<Topic> topics = {};
  // Devices that support it; empty: all. On others its points are skipped and take no time.
  std::function<bool(const DeviceFacts&)> runs_on = {};
  // The option of `run` without which it is left out: "--storage"; empty: it is always there.
  std::string option = {};
  // Not yet run on such a device: measurements are marked, and failures count as skipped.
  bool never_run = false;
  // The roof under which a roofline draws the points; empty: not drawn.
  std::string roofline_precision = {};
  std::vector<Point> points = {};
};

using Benchmarks = std::span<const Benchmark>;

// The mark of never_run benchmarks.
inline constexpr std::string_view kNeverRun = "never run on hardware";

// The record of a point before it is measured.
Measurement unmeasured(const Benchmark& benchmark, const Point& point);

// The points measured together with this one, itself included.
std::vector<const Point*> round_of(const Benchmark& benchmark, const Point& point);

// nullptr where the list has no such benchmark.
const Benchmark* find_benchmark(Benchmarks benchmarks, std::string_view id);

// The ceilings that a measurement feeds if it is sound. device: nullptr for the host.
std::vector<const CeilingRule*> ceiling_rules(Benchmarks benchmarks, const Measurement& measurement,
                                              const DeviceFacts* device);

// For CeilingRule::counts: the integer parameter is at least `bytes` and memory sufficed for it;
// the text parameter equals `value`.
std::function<bool(const Measurement&, const DeviceFacts*)> at_least(std::string param,
                                                                     double bytes);
std::function<bool(const Measurement&, const DeviceFacts*)> where(std::string param,
                                                                  std::string value);

}  // namespace peakline
