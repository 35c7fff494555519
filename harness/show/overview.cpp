#include "harness/show/overview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "harness/core/ceilings.hpp"
#include "harness/core/findings.hpp"
#include "harness/core/labels.hpp"
#include "harness/core/spec.hpp"
#include "harness/core/statistics.hpp"
#include "harness/core/units.hpp"

namespace peakline {
namespace {

// From here on a rate counts as at its limit: the clock alone is known no better.
constexpr double kAtTheLimit = 0.995;

// Sizes this factor apart tell where a curve bends; a quick run's few are further apart.
constexpr double kNearSizes = 8;

constexpr std::string_view kNotMeasured = "not measured in this run";

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return result;
}

std::string last_part(std::string_view id) { return std::string(id.substr(id.rfind('.') + 1)); }

// The measurements of one device, with what the profile concludes from them.
struct View {
  const Profile& profile;
  std::string device;
  const DeviceFacts* facts;  // nullptr: the host
  std::vector<const Measurement*> measurements;

  const Ceiling* ceiling(std::string_view resource, Basis basis) const {
    return find_ceiling(profile.ceilings, device, resource, basis);
  }
  std::optional<double> value(std::string_view resource, Basis basis) const {
    const Ceiling* row = ceiling(resource, basis);
    return row == nullptr ? std::nullopt : std::optional(row->value);
  }
  const Measurement* source(const Ceiling& row) const {
    const auto found = std::ranges::find_if(
        measurements, [&](const Measurement* m) { return m->name() == row.measurement; });
    return found == measurements.end() ? nullptr : *found;
  }
};

bool sound(const Measurement& m) {
  return m.status == Status::kOk && m.value && *m.value > 0 && m.summary && m.summary->median > 0 &&
         !m.flags.implausible && m.verified != false;
}

// Why there is no ceiling although it was tried; kNotMeasured where it was not.
std::string why_missing(const View& view, std::string_view resource, Basis basis) {
  for (const Measurement* m : view.measurements) {
    const auto key = ceiling_key(*m, view.facts);
    if (!key || key->resource != resource || key->basis != basis) continue;
    const std::string reason = m->reason.empty() ? std::string() : ": " + m->reason;
    if (m->status == Status::kSkipped) return "skipped" + reason;
    if (m->status == Status::kError) return "failed" + reason;
    if (m->flags.implausible) return "implausible: above what the hardware can do";
    if (m->verified == false) return "wrong result";
  }
  return std::string(kNotMeasured);
}

bool tried(const View& view, std::string_view resource, Basis basis) {
  return std::ranges::any_of(view.measurements, [&](const Measurement* m) {
    const auto key = ceiling_key(*m, view.facts);
    return key && key->resource == resource && key->basis == basis;
  });
}

// The larger of the two losses: to a clock below its maximum, or to what the clock allows.
std::string why_not_all(const ComputeRow& row, const Conditions& conditions) {
  if (!row.peak_at_max_clock) return "theoretical peak not known";
  const double share = *row.measured / *row.peak_at_max_clock;
  if (share >= kAtTheLimit) return "at the limit";
  if (!row.observed_clock_hz || !row.peak_at_observed_clock || !row.max_clock_hz) {
    return "clock not read";
  }
  const double clock_share = *row.observed_clock_hz / *row.max_clock_hz;
  const double share_at_clock = *row.measured / *row.peak_at_observed_clock;
  if (clock_share < kFullClockShare && clock_share <= share_at_clock) {
    const std::string_view cause = thermally_limited(conditions) ? "thermal limit"
                                   : power_capped(conditions)    ? "power cap"
                                                                 : "clock";
    return fmt::format("{}: {}", cause, format_clock(*row.observed_clock_hz));
  }
  if (share_at_clock >= kAtTheLimit) {
    return fmt::format("all that {} allows", format_clock(*row.observed_clock_hz));
  }
  return fmt::format("{:.0f} % of {}'s peak", share_at_clock * 100,
                     format_clock(*row.observed_clock_hz));
}

ComputeRow compute_row(const View& view, std::string_view resource, Basis basis) {
  ComputeRow row;
  row.resource = resource;
  row.basis = basis;
  row.unit = compute_unit(resource);
  if (view.facts != nullptr) {
    row.max_clock_hz = view.facts->sm_clock_max_hz;
    row.peak_at_max_clock = view.value(resource, Basis::kTheoretical);
    if (const Ceiling* datasheet = view.ceiling(resource, Basis::kDatasheet)) {
      row.datasheet = datasheet->value;
      row.datasheet_clock_hz = datasheet->conditions.sm_clock_hz;
    }
  }
  const Ceiling* measured = view.ceiling(resource, basis);
  if (measured == nullptr) {
    row.why = why_missing(view, resource, basis);
    return row;
  }
  row.measured = measured->value;
  row.ci_low = measured->ci_low;
  row.ci_high = measured->ci_high;
  row.power_w = measured->conditions.power_w;
  row.temperature_c = measured->conditions.temperature_c;
  row.observed_clock_hz = measured->conditions.sm_clock_hz;
  if (view.facts != nullptr) {
    if (row.observed_clock_hz) {
      row.peak_at_observed_clock = theoretical_peak(*view.facts, resource, *row.observed_clock_hz);
      if (const auto sms = view.facts->sm_count) {
        row.ops_per_clock_per_sm = *row.measured / *row.observed_clock_hz / *sms;
      }
    }
    if (row.power_w) row.flops_per_joule = *row.measured / *row.power_w;
    row.why = why_not_all(row, measured->conditions);
  } else if (const Measurement* m = view.source(*measured)) {
    if (const auto threads = int_param(m->params, "threads")) {
      row.why = fmt::format("{} thread{}", *threads, *threads == 1 ? "" : "s");
    }
  }
  return row;
}

std::vector<ComputeRow> compute_rows(const View& view) {
  std::vector<std::string> resources;
  if (view.facts == nullptr) {
    resources = {"cpu.fp64", "cpu.fp32"};
  } else {
    for (const std::string_view resource : compute_resources()) {
      if (resource == "tensor.fp64") resources.insert(resources.end(), {"gemm.fp64", "gemm.fp32"});
      resources.emplace_back(resource);
    }
  }
  std::vector<ComputeRow> rows;
  for (const std::string& resource : resources) {
    bool burst = false;
    for (const Basis basis : {Basis::kInstruction, Basis::kMeasured, Basis::kBurst,
                              Basis::kSustained, Basis::kModelShaped}) {
      // An interrupted run owes the sustained figure that a finished quick one never meant to take.
      const bool owed = burst && basis == Basis::kSustained && !view.profile.complete;
      if (!tried(view, resource, basis) && !owed) continue;
      burst = burst || basis == Basis::kBurst;
      rows.push_back(compute_row(view, resource, basis));
    }
  }
  return rows;
}

std::string how_measured(const View& view, const Ceiling& row) {
  const Measurement* m = view.source(row);
  if (m == nullptr) return {};
  std::vector<std::string> parts;
  if (const auto width = int_param(m->params, "width")) {
    parts.push_back(fmt::format("{} B wide", *width));
  }
  if (const auto bytes = int_param(m->params, "bytes")) {
    parts.push_back(format_size(static_cast<double>(*bytes)));
  }
  if (const auto threads = int_param(m->params, "threads")) {
    parts.push_back(fmt::format("{} thread{}", *threads, *threads == 1 ? "" : "s"));
  }
  if (row.resource.starts_with("pcie.")) {
    const Ceiling* link = view.ceiling(row.resource, Basis::kTheoretical);
    const bool known =
        link != nullptr && link->conditions.pcie_generation && link->conditions.pcie_width;
    parts.push_back(known ? fmt::format("{}.0 x{}", *link->conditions.pcie_generation,
                                        *link->conditions.pcie_width)
                          : std::string("link not known"));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<BandwidthRow> bandwidth_rows(const View& view) {
  static constexpr std::array kGpu = {"hbm.read",  "hbm.write",  "hbm.copy",
                                      "hbm.triad", "hbm.memcpy", "hbm.memset",
                                      "pcie.h2d",  "pcie.d2h",   "pcie.bidirectional"};
  static constexpr std::array kHost = {"memory.read", "memory.copy", "memory.triad"};
  const std::span<const char* const> resources =
      view.facts != nullptr ? std::span<const char* const>(kGpu) : kHost;
  std::vector<BandwidthRow> rows;
  for (const std::string_view resource : resources) {
    if (!tried(view, resource, Basis::kMeasured)) continue;
    BandwidthRow row;
    row.resource = resource;
    row.theoretical = view.value(resource, Basis::kTheoretical);
    row.datasheet = view.value(resource, Basis::kDatasheet);
    if (const Ceiling* measured = view.ceiling(resource, Basis::kMeasured)) {
      row.measured = measured->value;
      row.ci_low = measured->ci_low;
      row.ci_high = measured->ci_high;
      row.how = how_measured(view, *measured);
    } else {
      row.how = why_missing(view, resource, Basis::kMeasured);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<HeadlineFigure> headlines(const View& view) {
  struct Wanted {
    const char* label;
    const char* resource;
    Basis basis;
  };
  static constexpr std::array kGpu = {Wanted{"HBM read", "hbm.read", Basis::kMeasured},
                                      Wanted{"PCIe to device", "pcie.h2d", Basis::kMeasured},
                                      Wanted{"FP32 CUDA cores", "cuda_core.fp32", Basis::kBurst},
                                      Wanted{"BF16 burst", "tensor.bf16", Basis::kBurst},
                                      Wanted{"BF16 sustained", "tensor.bf16", Basis::kSustained}};
  static constexpr std::array kHost = {Wanted{"memory read", "memory.read", Basis::kMeasured},
                                       Wanted{"memory copy", "memory.copy", Basis::kMeasured},
                                       Wanted{"memory triad", "memory.triad", Basis::kMeasured},
                                       Wanted{"FP64", "cpu.fp64", Basis::kMeasured},
                                       Wanted{"FP32", "cpu.fp32", Basis::kMeasured}};
  std::vector<HeadlineFigure> result;
  for (const Wanted& wanted : view.facts != nullptr ? kGpu : kHost) {
    std::string resource = wanted.resource;
    std::string label = wanted.label;
    // A device without BF16 units (compute capability 7.5) is judged by FP16.
    if (resource == "tensor.bf16" && view.facts != nullptr &&
        !ops_per_clock_per_sm(view.facts->compute_major, view.facts->compute_minor, resource) &&
        ops_per_clock_per_sm(view.facts->compute_major, view.facts->compute_minor, "tensor.fp16")) {
      resource = "tensor.fp16";
      label.replace(0, 4, "FP16");
    }
    HeadlineFigure headline;
    headline.label = label;
    if (const Ceiling* row = view.ceiling(resource, wanted.basis)) {
      headline.value = row->value;
      headline.unit = row->unit;
    } else {
      headline.missing = why_missing(view, resource, wanted.basis);
    }
    // Matrix rates are quoted against the datasheet, whose clock is below the maximum.
    const bool matrix = resource.starts_with("tensor.");
    const Ceiling* reference = matrix ? view.ceiling(resource, Basis::kDatasheet) : nullptr;
    if (reference == nullptr) reference = view.ceiling(resource, Basis::kTheoretical);
    if (reference != nullptr) {
      headline.reference = reference->value;
      headline.reference_name = to_string(reference->basis);
    }
    result.push_back(std::move(headline));
  }
  return result;
}

// One curve: x is the swept parameter, in its order.
struct CurvePoint {
  double x;
  const Measurement* m;
};

std::vector<CurvePoint> curve(const View& view, std::string_view id, std::string_view param) {
  std::vector<CurvePoint> points;
  for (const Measurement* m : view.measurements) {
    if (m->id != id || !sound(*m)) continue;
    if (const auto x = int_param(m->params, param)) points.push_back({static_cast<double>(*x), m});
  }
  std::ranges::stable_sort(points, {}, &CurvePoint::x);
  return points;
}

const Measurement* single(const View& view, std::string_view id, const Params& params = {}) {
  const auto found = std::ranges::find_if(view.measurements, [&](const Measurement* m) {
    return m->id == id && (params.empty() || m->params == params) && sound(*m);
  });
  return found == view.measurements.end() ? nullptr : *found;
}

// The points of a curve whose other parameter has this value.
std::vector<CurvePoint> curve_where(const View& view, std::string_view id, std::string_view param,
                                    std::string_view other, const ParamValue& value) {
  auto points = curve(view, id, param);
  std::erase_if(points, [&](const CurvePoint& p) {
    const ParamValue* found = find_param(p.m->params, other);
    return found == nullptr || *found != value;
  });
  return points;
}

// Points of one sweep run at whatever clock power and heat allow at that moment: per clock they
// can be held against each other. nullopt where a clock was not read.
std::optional<double> share_per_clock(const Measurement& m, const Measurement& of) {
  const auto& clock = m.conditions.sm_clock_hz;
  const auto& of_clock = of.conditions.sm_clock_hz;
  if (!clock || !of_clock || *clock <= 0 || *of_clock <= 0) return std::nullopt;
  return (*m.value / *clock) / (*of.value / *of_clock);
}

// Number formats of matrix products, in the order shown.
constexpr std::array kGemmFormats = {"bf16", "fp16", "tf32", "fp8", "int8"};

// Collects "label figure" pieces and their values.
struct Sentence {
  std::vector<std::string> pieces;
  std::vector<std::pair<std::string, double>> values;

  void add(std::string piece) { pieces.push_back(std::move(piece)); }
  void value(std::string name, double v) { values.emplace_back(std::move(name), v); }
  void finish(std::string topic, std::vector<CurveSummary>& out) {
    if (pieces.empty()) return;
    out.push_back(
        {std::move(topic), fmt::format("{}", fmt::join(pieces, "; ")), std::move(values)});
  }
};

void launch_costs(const View& view, std::vector<CurveSummary>& out) {
  Sentence sentence;
  for (const auto& [id, label] : {std::pair{"launch.submit", "submit"},
                                  {"launch.round_trip", "round trip"},
                                  {"launch.back_to_back", "back to back"},
                                  {"launch.empty_kernel", "empty kernel"}}) {
    if (const Measurement* m = single(view, id)) {
      sentence.add(fmt::format("{} {}", label, format_time(*m->value)));
      sentence.value(last_part(id) + "_s", *m->value);
    }
  }
  std::vector<double> nodes, times;
  for (const auto& [x, m] : curve(view, "launch.graph", "nodes")) {
    nodes.push_back(x);
    times.push_back(*m->value);
  }
  if (std::set(nodes.begin(), nodes.end()).size() >= 2) {
    const Line line = fit_line(nodes, times);
    sentence.add(line.fixed > 0 ? fmt::format("graph {} + {} per node", format_time(line.fixed),
                                              format_time(line.per_item))
                                : fmt::format("graph {} per node", format_time(line.per_item)));
    sentence.value("graph_fixed_s", line.fixed);
    sentence.value("graph_per_node_s", line.per_item);
  }
  sentence.finish("kernel launch", out);
}

void copies(const View& view, std::vector<CurveSummary>& out) {
  Sentence sentence;
  for (const auto& [direction, label] : {std::pair{"h2d", "to device"}, {"d2h", "to host"}}) {
    const auto points = curve(view, fmt::format("pcie.{}.pinned", direction), "bytes");
    if (points.size() < 2) continue;
    const double top =
        *std::ranges::max(points, {}, [](const CurvePoint& p) { return *p.m->value; }).m->value;
    const auto half =
        std::ranges::find_if(points, [&](const CurvePoint& p) { return *p.m->value >= top / 2; });
    std::string text = fmt::format("{}: {} in {}", label, format_size(points[0].x),
                                   format_time(points[0].m->summary->median));
    sentence.value(fmt::format("{}_smallest_copy_s", direction), points[0].m->summary->median);
    if (half != points.begin() && half->x <= std::prev(half)->x * kNearSizes) {
      text += fmt::format(", half of the top rate from {}", format_size(half->x));
      sentence.value(fmt::format("{}_half_rate_bytes", direction), half->x);
    }
    sentence.add(std::move(text));
  }
  for (const auto& [direction, label] : {std::pair{"h2d", "to device"}, {"d2h", "to host"}}) {
    const auto points = curve(view, fmt::format("pcie.{}.pageable", direction), "bytes");
    if (points.empty()) continue;
    const Measurement& largest = *points.back().m;
    sentence.add(fmt::format("pageable {} {}", label, format_value(*largest.value, largest.unit)));
    sentence.value(fmt::format("{}_pageable_bytes_per_s", direction), *largest.value);
  }
  sentence.finish("PCIe copies", out);
}

void access_widths(const View& view, std::vector<CurveSummary>& out) {
  for (const std::string_view id : {"hbm.read", "hbm.write", "hbm.copy", "hbm.triad"}) {
    std::map<std::int64_t, double> best;  // by width
    for (const auto& [bytes, m] : curve(view, id, "bytes")) {
      const auto width = int_param(m->params, "width");
      if (!width || bytes < kCeilingFootprintBytes) continue;
      best[*width] = std::max(best[*width], *m->value);
    }
    if (best.size() < 2) continue;
    Sentence sentence;
    for (const auto& [width, rate] : best) {
      sentence.add(fmt::format("{} B a thread {}", width, format_rate(rate, "B/s")));
      sentence.value(fmt::format("{}_width_{}_bytes_per_s", last_part(id), width), rate);
    }
    sentence.finish(resource_label(id), out);
    return;
  }
}

void divergence(const View& view, std::vector<CurveSummary>& out) {
  Sentence sentence;
  for (const auto& [id, label] :
       {std::pair{"divergence.lanes", "inside a warp"}, {"divergence.warps", "between warps"}}) {
    const auto points = curve(view, id, "paths");
    if (points.size() < 2 || points.front().x != 1) continue;
    const double factor = *points.front().m->value / *points.back().m->value;
    sentence.add(
        fmt::format("{:.0f} paths {}: time x {}", points.back().x, label, format_number(factor)));
    sentence.value(last_part(id) + "_slowdown", factor);
  }
  sentence.finish("divergence", out);
}

void alignment(const View& view, std::vector<CurveSummary>& out) {
  Sentence sentence;
  for (const auto& sweep :
       {std::tuple{"alignment.offset", "offset", 0.0}, {"alignment.stride", "stride", 1.0}}) {
    const char* const id = std::get<0>(sweep);
    const char* const param = std::get<1>(sweep);
    const double aligned = std::get<2>(sweep);
    const auto points = curve(view, id, param);
    const CurvePoint* worst = nullptr;
    double worst_share = 1;
    for (const CurvePoint& point : points) {
      const auto width = int_param(point.m->params, "width");
      const auto base = std::ranges::find_if(points, [&](const CurvePoint& p) {
        return p.x == aligned && int_param(p.m->params, "width") == width;
      });
      if (point.x == aligned || base == points.end()) continue;
      const double share = *point.m->value / *base->m->value;
      if (worst != nullptr && share >= worst_share) continue;
      worst = &point;
      worst_share = share;
    }
    if (worst == nullptr) continue;
    const auto width = int_param(worst->m->params, "width");
    const std::string accesses = width ? fmt::format(" ({}-byte accesses)", *width) : std::string();
    sentence.add(std::string_view(param) == "offset"
                     ? fmt::format("worst offset {:.0f} B{}: {} of aligned", worst->x, accesses,
                                   format_percent(worst_share))
                     : fmt::format("worst stride {:.0f}{}: {} of contiguous", worst->x, accesses,
                                   format_percent(worst_share)));
    sentence.value(fmt::format("worst_{}", param), worst->x);
    sentence.value(fmt::format("worst_{}_share", param), worst_share);
  }
  sentence.finish("alignment", out);
}

// Where the measured curve bends: its own highest rate over its own highest bandwidth.
void roofline_knees(const View& view, std::vector<CurveSummary>& out) {
  const std::string prefix = view.facts != nullptr ? "roofline.sweep." : "host.roofline.sweep.";
  Sentence sentence;
  for (const std::string precision : {"fp32", "fp64"}) {
    const auto points = curve(view, prefix + precision, "fma_per_element");
    double roof = 0;
    double slope = 0;
    for (const auto& [x, m] : points) {
      roof = std::max(roof, *m->value);
      slope = std::max(slope, m->work.bytes() / m->summary->median);
    }
    if (points.size() < 3 || roof <= 0 || slope <= 0) continue;
    const double knee = roof / slope;
    const CurvePoint* nearest = nullptr;
    const auto distance = [&](const CurvePoint& p) {
      return std::abs(std::log(p.m->work.flops / p.m->work.bytes() / knee));
    };
    for (const CurvePoint& point : points) {
      if (point.m->work.flops <= 0 || point.m->work.bytes() <= 0) continue;
      if (nearest == nullptr || distance(point) < distance(*nearest)) nearest = &point;
    }
    if (nearest == nullptr) continue;
    const double intensity = nearest->m->work.flops / nearest->m->work.bytes();
    const double share = *nearest->m->value / std::min(roof, slope * intensity);
    sentence.add(fmt::format("{}: {}, then {} from {} FLOP/byte; {} of the roof at the bend",
                             upper(precision), format_rate(slope, "B/s"),
                             format_rate(roof, "FLOP/s"), format_number(knee),
                             format_percent(share)));
    sentence.value(precision + "_bytes_per_s", slope);
    sentence.value(precision + "_flops_per_s", roof);
    sentence.value(precision + "_knee_flop_per_byte", knee);
    sentence.value(precision + "_share_at_knee", share);
  }
  sentence.finish("roofline sweep", out);
}

void thread_scaling(const View& view, std::vector<CurveSummary>& out) {
  Sentence sentence;
  for (const auto& [id, label] :
       {std::pair{"host.memory.read", "memory read"}, {"host.fma.fp32", "FP32"}}) {
    const auto points = curve(view, id, "threads");
    if (points.size() < 2 || points.front().x != 1) continue;
    const auto& best =
        std::ranges::max(points, {}, [](const CurvePoint& p) { return *p.m->value; });
    const Measurement& one = *points.front().m;
    sentence.add(fmt::format("{}: {} with 1 thread, {} x that with {:.0f}", label,
                             format_value(*one.value, one.unit),
                             format_number(*best.m->value / *one.value), best.x));
    sentence.value(last_part(id) + "_one_thread", *one.value);
    sentence.value(last_part(id) + "_speedup", *best.m->value / *one.value);
  }
  sentence.finish("threads", out);
}

void operand_data(const View& view, std::vector<CurveSummary>& out) {
  Sentence sentence;
  for (const std::string format : kGemmFormats) {
    const Measurement* normal = nullptr;
    const Measurement* fastest = nullptr;
    for (const Measurement* m : view.measurements) {
      const auto data = text_param(m->params, "data");
      if (m->id != "gemm." + format || !data || !sound(*m)) continue;
      sentence.value(fmt::format("{}_{}_flops_per_s", format, *data), *m->value);
      if (m->conditions.power_w) {
        sentence.value(fmt::format("{}_{}_power_w", format, *data), *m->conditions.power_w);
      }
      if (data == "normal") {
        normal = m;
      } else if (fastest == nullptr || *m->value > *fastest->value) {
        fastest = m;
      }
    }
    if (normal == nullptr || fastest == nullptr) continue;
    const auto figures = [](const Measurement& m) {
      const std::string rate = format_value(*m.value, m.unit);
      const auto& power = m.conditions.power_w;
      return power ? fmt::format("{} and {:.0f} W", rate, *power) : rate;
    };
    std::string data = *text_param(fastest->params, "data");
    std::ranges::replace(data, '_', ' ');
    if (data == "constant") data += " data";
    sentence.add(fmt::format("{} on {} runs at {}, on normal data at {}", upper(format), data,
                             figures(*fastest), figures(*normal)));
  }
  sentence.finish("operand data", out);
}

void product_sides(const View& view, std::vector<CurveSummary>& out) {
  Sentence sentence;
  for (const std::string format : kGemmFormats) {
    std::vector<std::string> worsts;
    for (const std::string dimension : {"M", "N", "K"}) {
      const auto points =
          curve_where(view, "gemm.alignment." + format, "size", "dimension", ParamValue(dimension));
      if (points.size() < 2) continue;
      // The longest side is the power of two that the others are shorter than.
      const CurvePoint& aligned = points.back();
      std::optional<double> least;
      double size = 0;
      for (const CurvePoint& point : points) {
        const auto share = share_per_clock(*point.m, *aligned.m);
        if (point.x == aligned.x || !share || (least && *share >= *least)) continue;
        least = share;
        size = point.x;
      }
      if (!least) continue;
      worsts.push_back(fmt::format("{} = {:.0f} {}", dimension, size, format_percent(*least)));
      const std::string name = fmt::format("{}_{}", format,
                                           dimension == "M"   ? "m"
                                           : dimension == "N" ? "n"
                                                              : "k");
      sentence.value(name + "_worst_size", size);
      sentence.value(name + "_worst_share_per_clock", *least);
    }
    if (worsts.empty()) continue;
    sentence.add(fmt::format("{} at its worst: {} of the aligned rate per clock", upper(format),
                             fmt::join(worsts, ", ")));
  }
  sentence.finish("product sides", out);
}

void vocabulary(const View& view, std::vector<CurveSummary>& out) {
  const auto points = curve(view, "gemm.vocabulary.bf16", "n");
  if (points.size() < 2) return;
  const CurvePoint& plain = points.front();
  const CurvePoint& padded = points.back();
  Sentence sentence;
  const auto figures = [&](const CurvePoint& p) {
    sentence.value(fmt::format("time_{:.0f}_s", p.x), p.m->summary->median);
    sentence.value(fmt::format("rate_{:.0f}_flops_per_s", p.x), *p.m->value);
    return fmt::format("{} at {}", format_time(p.m->summary->median),
                       format_value(*p.m->value, p.m->unit));
  };
  const std::string unpadded = figures(plain);
  std::string text = fmt::format("BF16 with {:.0f} outputs takes {}, padded to {:.0f} {}", plain.x,
                                 unpadded, padded.x, figures(padded));
  if (const auto share = share_per_clock(*plain.m, *padded.m)) {
    text += fmt::format(": {} of the rate per clock", format_percent(*share));
    sentence.value("share_per_clock", *share);
  }
  sentence.add(std::move(text));
  sentence.finish("vocabulary", out);
}

// Where one tile more than a full wave costs most.
void waves(const View& view, std::vector<CurveSummary>& out) {
  if (view.facts == nullptr || view.facts->sm_count.value_or(0) <= 0) return;
  const double sms = *view.facts->sm_count;
  constexpr std::string_view kId = "gemm.waves.bf16";
  const auto fixed = curve_where(view, kId, "m", "kernel", ParamValue("fixed"));
  struct Point {
    const Measurement* m;
    double waves;
  };
  std::vector<Point> points;
  for (const CurvePoint& point : fixed) {
    if (const auto tiles = int_param(point.m->launch, "tiles")) {
      points.push_back({point.m, static_cast<double>(*tiles) / sms});
    }
  }
  const Point* edge = nullptr;  // the last point before the cliff
  std::optional<double> deepest;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    if (std::ceil(points[i + 1].waves) <= std::ceil(points[i].waves)) continue;
    const auto share = share_per_clock(*points[i + 1].m, *points[i].m);
    if (!share || (deepest && *share >= *deepest)) continue;
    deepest = share;
    edge = &points[i];
  }
  if (edge == nullptr) return;
  const Point& beyond = *(edge + 1);
  Sentence sentence;
  std::string text = fmt::format(
      "from {:.2f} to {:.2f} waves of tiles the rate per clock of one kernel falls to "
      "{}",
      edge->waves, beyond.waves, format_percent(*deepest));
  sentence.value("waves_before", edge->waves);
  sentence.value("waves_after", beyond.waves);
  sentence.value("share_per_clock", *deepest);
  const auto best_of = [&](const Measurement& m) {
    return single(view, kId, {{"m", *int_param(m.params, "m")}, {"kernel", std::string("best")}});
  };
  if (const Measurement* best = best_of(*beyond.m)) {
    if (const auto share = share_per_clock(*best, *edge->m)) {
      text += fmt::format(", of the best kernel to {}", format_percent(*share));
      sentence.value("best_share_per_clock", *share);
    }
  }
  sentence.add(std::move(text));
  sentence.finish("waves", out);
}

void skinny_products(const View& view, std::vector<CurveSummary>& out) {
  // So few rows that the weights' way from memory decides.
  constexpr double kFewRows = 64;
  Sentence sentence;
  for (const std::string format : kGemmFormats) {
    const auto points = curve(view, "gemm.skinny." + format, "m");
    const auto burst = view.value("tensor." + format, Basis::kBurst);
    const auto bandwidth = view.value("hbm.read", Basis::kMeasured);
    if (points.empty() || !burst) continue;
    std::vector<std::string> parts;
    const auto half = std::ranges::find_if(
        points, [&](const CurvePoint& p) { return *p.m->value >= *burst / 2; });
    if (half != points.end()) {
      parts.push_back(fmt::format("half of the burst rate from M = {:.0f} on", half->x));
      sentence.value(format + "_half_burst_m", half->x);
    } else {
      parts.push_back(
          fmt::format("below half of the burst rate up to M = {:.0f}", points.back().x));
    }
    std::vector<double> shares;
    for (const CurvePoint& point : points) {
      const Work& work = point.m->work;
      if (point.x > kFewRows || !bandwidth || work.bytes() <= 0) continue;
      shares.push_back(*point.m->value / std::min(*burst, *bandwidth * work.flops / work.bytes()));
    }
    if (!shares.empty()) {
      const double share = median(shares);
      parts.push_back(fmt::format("up to M = {:.0f} a median {} of what the roofline says",
                                  kFewRows, format_percent(share)));
      sentence.value(format + "_share_of_roofline", share);
    }
    sentence.add(fmt::format("{}: {}", upper(format), fmt::join(parts, ", ")));
  }
  sentence.finish("skinny products", out);
}

void model_layer(const View& view, std::vector<CurveSummary>& out) {
  Sentence sentence;
  for (const std::string format : kGemmFormats) {
    const std::string id = "gemm.model." + format;
    const auto layers = curve_where(view, id, "hidden", "part", ParamValue("layer"));
    if (layers.empty()) continue;
    const auto hidden = static_cast<std::int64_t>(layers.back().x);
    auto points = curve_where(view, id, "tokens", "part", ParamValue("layer"));
    std::erase_if(points,
                  [&](const CurvePoint& p) { return int_param(p.m->params, "hidden") != hidden; });
    if (points.empty()) continue;
    // Not of sustained: points as short as these are at a clock between the two.
    const auto burst = view.value("tensor." + format, Basis::kBurst);
    const auto shares = [&](const CurvePoint& point) {
      std::string said = fmt::format("{:.0f} token{} {}", point.x, point.x == 1 ? "" : "s",
                                     format_value(*point.m->value, point.m->unit));
      if (const auto& clock_hz = point.m->conditions.sm_clock_hz) {
        said += fmt::format(" at {:.0f} MHz", *clock_hz / 1e6);
      }
      if (burst) {
        const double share = *point.m->value / *burst;
        said += fmt::format(", {} of burst", format_percent(share));
        sentence.value(fmt::format("{}_{:.0f}_tokens_share_of_burst", format, point.x), share);
      }
      return said;
    };
    std::string text =
        fmt::format("{}, hidden size {}: {}", upper(format), hidden, shares(points.back()));
    if (points.front().x == 1 && points.size() > 1) text += "; " + shares(points.front());
    sentence.add(std::move(text));
  }
  sentence.finish("model layer", out);
}

void soak(const View& view, std::vector<CurveSummary>& out) {
  const Measurement* m = single(view, "gemm.bf16", {{"load", std::string("soak")}});
  if (m == nullptr) return;
  Sentence sentence;
  std::string text = format_value(*m->value, m->unit);
  sentence.value("flops_per_s", *m->value);
  if (m->conditions.sm_clock_hz) text += " at " + format_clock(*m->conditions.sm_clock_hz);
  if (m->conditions.power_w) {
    text += fmt::format("{}{:.0f} W", m->conditions.sm_clock_hz ? " and " : " at ",
                        *m->conditions.power_w);
    sentence.value("power_w", *m->conditions.power_w);
  }
  const auto seconds = int_param(m->launch, "seconds");
  if (seconds) {
    text += fmt::format(" in {} s without a break", *seconds);
    sentence.value("seconds", static_cast<double>(*seconds));
  }
  const auto equilibrium_s = int_param(m->launch, "equilibrium_s");
  if (equilibrium_s) {
    text += fmt::format("; thermal equilibrium after {} s", *equilibrium_s);
    sentence.value("equilibrium_s", static_cast<double>(*equilibrium_s));
    if (const auto degrees = int_param(m->launch, "equilibrium_temperature_c")) {
      text += fmt::format(" at {} °C", *degrees);
      sentence.value("equilibrium_temperature_c", static_cast<double>(*degrees));
    }
  } else {
    text += "; no thermal equilibrium";
  }
  sentence.add(std::move(text));
  sentence.finish("soak", out);
}

void cleared_cache(const View& view, std::vector<CurveSummary>& out) {
  Sentence sentence;
  for (const std::string format : kGemmFormats) {
    const Measurement* m = single(view, "gemm." + format, {{"l2", std::string("cleared")}});
    if (m == nullptr) continue;
    std::string text = fmt::format("{} {}", upper(format), format_value(*m->value, m->unit));
    sentence.value(format + "_flops_per_s", *m->value);
    if (const auto burst = view.value("tensor." + format, Basis::kBurst)) {
      text += fmt::format(", {} of burst", format_percent(*m->value / *burst));
      sentence.value(format + "_share_of_burst", *m->value / *burst);
    }
    sentence.add(std::move(text));
  }
  sentence.finish("cleared L2", out);
}

std::string gpu_title(const DeviceFacts& d, std::string_view name) {
  std::vector<std::string> parts = {std::string(name)};
  if (d.sm_count) {
    parts.push_back(fmt::format("{} SMs", *d.sm_count));
    if (d.sm_clock_max_hz) parts.back() += ", " + format_clock(*d.sm_clock_max_hz);
  }
  if (d.memory_bytes) parts.push_back(format_size(*d.memory_bytes));
  if (d.power_limit_w) parts.push_back(fmt::format("{:.0f} W", *d.power_limit_w));
  if (d.pcie.generation && d.pcie.width && d.pcie_read_under_load) {
    parts.push_back(fmt::format("PCIe {}.0 x{}", *d.pcie.generation, *d.pcie.width));
  }
  if (d.ecc_enabled) parts.emplace_back(*d.ecc_enabled ? "ECC on" : "ECC off");
  return fmt::format("{}", fmt::join(parts, " · "));
}

std::string host_title(const HostFacts& host) {
  std::vector<std::string> parts = {"host"};
  if (!host.cpu_model.empty()) parts.push_back(host.cpu_model);
  if (host.cores) parts.push_back(fmt::format("{} cores", *host.cores));
  if (!host.vector_extension.empty()) parts.push_back(host.vector_extension);
  return fmt::format("{}", fmt::join(parts, " · "));
}

DeviceOverview device_overview(const View& view) {
  DeviceOverview result;
  result.device = view.device;
  result.name =
      view.facts != nullptr
          ? fmt::format("{} · {}", device_label(view.profile, view.device), view.facts->name)
          : view.device;
  result.title =
      view.facts != nullptr ? gpu_title(*view.facts, result.name) : host_title(view.profile.host);
  result.headlines = headlines(view);
  result.compute = compute_rows(view);
  result.bandwidth = bandwidth_rows(view);
  for (const Roofline& roofline : view.profile.rooflines) {
    if (roofline.device == view.device) result.ridge_points = roofline.ridge_points;
  }
  launch_costs(view, result.curves);
  copies(view, result.curves);
  access_widths(view, result.curves);
  divergence(view, result.curves);
  alignment(view, result.curves);
  thread_scaling(view, result.curves);
  roofline_knees(view, result.curves);
  model_layer(view, result.curves);
  skinny_products(view, result.curves);
  product_sides(view, result.curves);
  vocabulary(view, result.curves);
  waves(view, result.curves);
  operand_data(view, result.curves);
  cleared_cache(view, result.curves);
  soak(view, result.curves);
  return result;
}

}  // namespace

Overview overview(const Profile& profile) {
  Overview result;
  std::map<std::string, std::vector<const Measurement*>> by_device;
  for (const Measurement& m : profile.measurements) {
    by_device[m.device].push_back(&m);
    ++(m.status == Status::kOk        ? result.ok
       : m.status == Status::kSkipped ? result.skipped
                                      : result.failed);
  }
  for (const DeviceFacts& device : profile.devices) {
    result.devices.push_back(
        device_overview({profile, device.uuid, &device, by_device[device.uuid]}));
  }
  const std::string host(kHostDevice);
  if (by_device.contains(host)) {
    result.devices.push_back(device_overview({profile, host, nullptr, by_device[host]}));
  }
  return result;
}

}  // namespace peakline
