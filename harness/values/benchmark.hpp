#pragma once

// A Benchmark is all that the program must know about one, except how to run it: what its points
// are, which ceiling they stand for, what limits them physically, what they load and what their
// curve says. A registration fills this in; nothing else reads meaning out of an id.

#include <exception>
#include <functional>
#include <map>
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

struct Profile;

// When a point runs and next to what. In the order of a run.
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

// How a point is sampled.
enum class Rule {
  kCurve,      // >= 7 samples, <= 100 ms
  kFull,       // 20 uncorrelated blocks, until precise or out of time
  kBurst,      // short trains from rest
  kBrief,      // fewer of them
  kLongBurst,  // more of them
  kSustained,  // an unbroken load, once it has settled
  kSoak,       // from thermal equilibrium on, of a load as long as the user asks for
};

// Three swings of an H200's power control; and two, for loads that it rarely holds.
inline constexpr double kWholeLoadSeconds = 3;
inline constexpr double kShortLoadSeconds = 2;

struct Point {
  Params params = {};
  Phase phase = Phase::kDevice;
  Rule rule = Rule::kCurve;
  bool quick = false;                 // also part of --quick
  double seconds = 0.2;               // what it takes, roughly: for --dry-run and the time left
  double load_s = kWholeLoadSeconds;  // of the sustained rule: so much of the load counts
  // A point of the node's phases needs these GPUs, by index; the first one measures.
  std::vector<int> gpus = {};
  // Points of a benchmark with the same number above 0, which share no GPU, are measured at the
  // same time.
  int round = 0;
  bool whole_round = false;  // says nothing unless all points of the round are
};

inline bool is_host_point(const Point& point) { return point.phase == Phase::kHost; }
inline bool is_node_point(const Point& point) {
  return point.phase == Phase::kNode || point.phase == Phase::kNodeLoad;
}
// The unit that a benchmark keeps busy.
enum class Loads { kHost, kLink, kMemory, kCores };

// The most that physics allows, in the unit of the measurement.
struct PhysicalLimit {
  double value = 0;
  std::string how;        // "4096 ops/clk/SM x 132 SMs x 1980 MHz"
  Conditions conditions;  // the clock or the link that it holds for
  bool peak =
      true;  // else only a bound: the model may reach less, or sources contradict each other
};

using MeasurementsByName = std::map<std::pair<std::string, std::string>, const Measurement*>;

// The measurements and ceilings that may explain a ceiling.
struct FactorView {
  const Profile& profile;
  const DeviceFacts& device;
  const Ceiling& row;     // of the profile
  const Ceiling& theory;  // the resource's theoretical one
  const Measurement& source;
  const MeasurementsByName& by_name;  // the sound ones, by device and name

  // The measurement that a ceiling came from; nullptr where there is none.
  const Measurement* source_of(const Ceiling& ceiling) const;
};

// How to find the limit of a measurement; harness/conclude/limits.hpp has those there are.
struct Limit {
  // measurement: nullptr where none was made. nullopt: not known for this device.
  std::function<std::optional<PhysicalLimit>(const Measurement* measurement,
                                             const DeviceFacts& device)>
      of = {};
  // Why there is none, or only a bound that is no peak; `list` says it.
  std::string why_none = {};
  // Why a ceiling stays below the limit; harness/conclude/factors.hpp has those there are.
  std::function<std::vector<Factor>(const FactorView&)> factors = {};

  bool is_peak() const { return of && why_none.empty(); }
};

// The ceiling that a benchmark's measurements stand for. The best of those that count becomes it.
struct CeilingRule {
  Resource resource;
  Basis basis = Basis::kMeasured;
  // Says whether a measurement counts, on which device (nullptr: the host). Empty: all count.
  std::function<bool(const Measurement&, const DeviceFacts*)> counts = {};
  // The text that the ceiling's note says ahead of the measurement's own remark. Empty: none.
  std::function<std::string(const Measurement&)> note = {};
  // The bound of the resource on a device that has it, if it differs from the benchmark's.
  Limit limit = {};
};

// The sound measurements of one benchmark on one device, in the order of the run, with what else a
// sentence may need.
struct CurveView {
  const DeviceFacts* device = nullptr;  // nullptr: the host or the node
  std::vector<const Measurement*> points;
  // The device's ceiling; nullopt where there is none.
  std::function<std::optional<double>(std::string_view resource, Basis basis)> ceiling;
  // The device's sound measurement of that name, of any benchmark; nullptr where there is none.
  std::function<const Measurement*(std::string_view name)> measurement;
  const Profile* profile = nullptr;  // for what concerns several devices
};

// A rule's answer about the points: pieces of a sentence, and figures.
class Sentence {
 public:
  // of: the benchmark's id; kinds: the figures that the rule declares. Both must outlive it.
  Sentence(std::string_view of, std::span<const FigureKind> kinds) : of_(of), kinds_(kinds) {}

  void add(std::string piece) { pieces_.push_back(std::move(piece)); }
  // "label part, part": nothing where there are none.
  void add(std::string_view label, const std::vector<std::string>& parts);
  // Throws std::logic_error for a figure that the rule does not declare, or one by other names. In
  // a run that costs no more than the rule's topic: see BrokenTopic.
  void figure(std::string_view name, double value, Params by = {});

  const std::vector<std::string>& pieces() const { return pieces_; }  // joined by "; "
  const std::vector<Figure>& figures() const { return figures_; }

 private:
  std::string_view of_;
  std::span<const FigureKind> kinds_;
  std::vector<std::string> pieces_;
  std::vector<Figure> figures_;
};

// How a curve is summed up. Benchmarks with the same topic share a sentence.
struct CurveRule {
  std::string topic;                // "kernel launch"
  std::vector<FigureKind> figures;  // that it may yield
  std::function<void(const CurveView&, Sentence&)> summarize;
};

// A figure or a ceiling that a title is made of was not measured.
struct Missing : std::exception {
  const char* what() const noexcept override { return "something that it needs was not measured"; }
};

// The material of a title: the figures of its topic, and the device's ceilings.
struct TitleView {
  const Profile& profile;
  std::string_view device;             // its UUID, "host" or "node"
  const DeviceFacts* facts = nullptr;  // nullptr: the host or the node
  // The device's sound measurement of that name; nullptr where there is none.
  std::function<const Measurement*(std::string_view name)> measurement;
  std::span<const Figure> figures;  // of the topic

  // The first figure that fits. Throws Missing.
  const Figure& figure(const FigureQuery& query) const;
  double value(const FigureQuery& query) const { return figure(query).value; }
  const Figure* find(const FigureQuery& query) const { return find_figure(figures, query); }
  // It with its unit: "12.3 us", "4583 GB/s". Throws Missing.
  std::string text(const FigureQuery& query) const;
  // Finds all that fit, at least one. Throws Missing.
  std::vector<const Figure*> all(const FigureQuery& query) const;
  // The lowest of them.
  const Figure& least(const FigureQuery& query) const;
  // The device's ceiling. Throws Missing.
  const Ceiling& ceiling(std::string_view resource, Basis basis) const;
};

// A topic that one or several benchmarks share, and its one message.
struct Topic {
  std::string name;  // "kernel launch"
  // "A launch takes 1.9 us to submit": a sentence without a full stop. It throws Missing, or says
  // nothing, where the run lacks what it is made of.
  std::function<std::string(const TitleView&)> title = {};
  std::optional<Picture> picture = {};
};

// A topic of which nothing is said of a device, since one of its rules or its title threw. That is
// a mistake in the registration, and must cost the run nothing else.
struct BrokenTopic {
  std::string device;
  std::string topic;
  std::string why;  // "launch.graph: the rule yields the figure fixed, which it does not declare"
};

struct Benchmark {
  std::string id;
  std::string what;  // one line: what is measured
  std::string work;  // one line: how bytes, FLOPs or seconds are counted
  Quantity quantity = Quantity::kTime;
  int method_version = 1;
  Loads loads = Loads::kMemory;
  Estimate estimate = Estimate::kMedian;
  VariesWith varies_with = VariesWith::kDevice;
  Limit limit = {};
  std::vector<CeilingRule> ceilings = {};
  std::vector<CurveRule> curves = {};
  // Each topic is declared by one of the benchmarks that have a curve of it, or by any where none
  // has.
  std::vector<Topic> topics = {};
  // Devices that can have what it measures; empty: all. On others its points are skipped, cost no
  // time, and stand for no ceiling.
  std::function<bool(const DeviceFacts&)> runs_on = {};
  // Nobody has run it on such a device yet. Its measurements are marked, and a failure is no fault
  // of a device: it counts as skipped.
  bool never_run = false;
  // The precision under whose roof the points are drawn in a roofline; empty: in none.
  std::string roofline_precision = {};
  std::vector<Point> points = {};
};

using Benchmarks = std::span<const Benchmark>;

// The label of benchmarks that were never run.
inline constexpr std::string_view kNeverRun = "never run on hardware";
// How the reason begins for which a point of it was skipped that failed.
inline constexpr std::string_view kFailedWhereNeverRun =
    "never run on hardware before, and here it failed";

// The record of a point, as it is before anything is measured.
Measurement unmeasured(const Benchmark& benchmark, const Point& point);

// The points that are measured at the same time as this one, which is among them: its round.
std::vector<const Point*> round_of(const Benchmark& benchmark, const Point& point);

// The benchmark that a measurement came from; nullptr where the list has none.
const Benchmark* find_benchmark(Benchmarks benchmarks, std::string_view id);

// The rules by which a measurement stands for ceilings if it is sound. device: nullptr for the
// host.
std::vector<const CeilingRule*> ceiling_rules(Benchmarks benchmarks, const Measurement& measurement,
                                              const DeviceFacts* device);

// These are for CeilingRule::counts. The integer parameter is at least so large, and the work was
// not shrunk below it; the text parameter has this value.
std::function<bool(const Measurement&, const DeviceFacts*)> at_least(std::string param,
                                                                     double bytes);
std::function<bool(const Measurement&, const DeviceFacts*)> where(std::string param,
                                                                  std::string value);

// The burst and the sustained ceiling of a resource, from load:burst and load:sustained.
std::vector<CeilingRule> load_ceilings(const Resource& resource);

}  // namespace peakline
