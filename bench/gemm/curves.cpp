#include "bench/gemm/curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/conclude/curves.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {
namespace {

std::string rate_of(const Measurement& m) { return format_value(*m.value, m.unit); }

std::optional<double> burst_of(const CurveView& curve, const std::string& format) {
  return curve.ceiling("tensor." + format, Basis::kBurst);
}

void summarize_operand_data(const std::string& format, const CurveView& curve, Sentence& sentence) {
  const Measurement* normal = nullptr;
  const Measurement* fastest = nullptr;
  for (const Measurement* m : curve.points) {
    const auto data = text_param(m->params, "data");
    if (!data) continue;
    sentence.value(fmt::format("{}_{}_flops_per_s", format, *data), *m->value);
    if (m->conditions.power_w)
      sentence.value(fmt::format("{}_{}_power_w", format, *data), *m->conditions.power_w);
    if (data == "normal") {
      normal = m;
    } else if (fastest == nullptr || *m->value > *fastest->value) {
      fastest = m;
    }
  }
  if (normal == nullptr || fastest == nullptr) return;
  const auto figures = [](const Measurement& m) {
    const auto& power = m.conditions.power_w;
    return power ? fmt::format("{} and {:.0f} W", rate_of(m), *power) : rate_of(m);
  };
  std::string data = *text_param(fastest->params, "data");
  std::ranges::replace(data, '_', ' ');
  if (data == "constant") data += " data";
  sentence.add(fmt::format("{} on {} runs at {}, on normal data at {}", upper(format), data,
                           figures(*fastest), figures(*normal)));
}

void summarize_soak(const CurveView& curve, Sentence& sentence) {
  const Measurement* m = single(curve, {{"load", std::string("soak")}});
  if (m == nullptr) return;
  std::string text = rate_of(*m);
  sentence.value("flops_per_s", *m->value);
  if (m->conditions.sm_clock_hz) text += " at " + format_clock(*m->conditions.sm_clock_hz);
  if (m->conditions.power_w) {
    text += fmt::format("{}{:.0f} W", m->conditions.sm_clock_hz ? " and " : " at ",
                        *m->conditions.power_w);
    sentence.value("power_w", *m->conditions.power_w);
  }
  if (const auto seconds = int_param(m->launch, "seconds")) {
    text += fmt::format(" in {} s without a break", *seconds);
    sentence.value("seconds", static_cast<double>(*seconds));
  }
  if (const auto equilibrium_s = int_param(m->launch, "equilibrium_s")) {
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
}

// The size of a side at which the rate per clock is lowest, against the longest: the power of two
// that the others are shorter than.
struct WorstSize {
  double size = 0, share = 0;
};

std::optional<WorstSize> worst_size(const std::vector<CurvePoint>& points) {
  if (points.size() < 2) return std::nullopt;
  const CurvePoint& aligned = points.back();
  std::optional<WorstSize> worst;
  for (const CurvePoint& point : points) {
    const auto share = share_per_clock(*point.m, *aligned.m);
    if (point.x == aligned.x || !share || (worst && *share >= worst->share)) continue;
    worst = {point.x, *share};
  }
  return worst;
}

void summarize_product_sides(const std::string& format, const CurveView& curve,
                             Sentence& sentence) {
  std::vector<std::string> worsts;
  for (const auto& [dimension, letter] : {std::pair{"M", "m"}, {"N", "n"}, {"K", "k"}}) {
    const auto worst =
        worst_size(sweep_where(curve, "size", "dimension", ParamValue(std::string(dimension))));
    if (!worst) continue;
    worsts.push_back(
        fmt::format("{} at {} = {:.0f}", format_percent(worst->share), dimension, worst->size));
    sentence.value(fmt::format("{}_{}_worst_size", format, letter), worst->size);
    sentence.value(fmt::format("{}_{}_worst_share_per_clock", format, letter), worst->share);
  }
  if (worsts.empty()) return;
  sentence.add(fmt::format("{} at its worst, of the aligned rate per clock: {}", upper(format),
                           fmt::join(worsts, ", ")));
}

void summarize_vocabulary(const std::string& format, const CurveView& curve, Sentence& sentence) {
  const auto points = sweep(curve, "n");
  if (points.size() < 2) return;
  const auto figures = [&](const CurvePoint& p) {
    sentence.value(fmt::format("time_{:.0f}_s", p.x), p.m->summary->median);
    sentence.value(fmt::format("rate_{:.0f}_flops_per_s", p.x), *p.m->value);
    return fmt::format("{} at {}", format_time(p.m->summary->median), rate_of(*p.m));
  };
  const CurvePoint& plain = points.front();
  const CurvePoint& padded = points.back();
  const std::string unpadded = figures(plain);
  std::string text = fmt::format("{} with {:.0f} outputs takes {}, padded to {:.0f} it takes {}",
                                 upper(format), plain.x, unpadded, padded.x, figures(padded));
  if (const auto share = share_per_clock(*plain.m, *padded.m)) {
    text += fmt::format(": {} of the rate per clock", format_percent(*share));
    sentence.value("share_per_clock", *share);
  }
  sentence.add(std::move(text));
}

// A product of the sweep's fixed kernel.
struct WavePoint {
  const Measurement* m = nullptr;
  double waves = 0;  // how many times its tiles, those of whole clusters, fill the SMs
  double work = 0;   // the same of the tiles that have work
  double ideal = 0;  // share of the SMs' time in which they have work, if each tile takes as long
};

std::vector<WavePoint> wave_points(const CurveView& curve) {
  std::vector<WavePoint> points;
  if (curve.device == nullptr || curve.device->sm_count.value_or(0) <= 0) return points;
  const double sms = *curve.device->sm_count;
  for (const CurvePoint& point : sweep_where(curve, "m", "kernel", ParamValue("fixed"))) {
    const auto noted = [&](const char* name) {
      return static_cast<double>(int_param(point.m->launch, name).value_or(0));
    };
    const double waves = noted("tiles") / sms, tile = noted("tile_m") * noted("tile_n");
    if (waves <= 0 || tile <= 0) continue;
    const double work = point.x * noted("n") / tile / sms;
    points.push_back({point.m, waves, work, work / std::ceil(waves)});
  }
  return points;
}

// The sawtooth: the ideal one, and the measured one, which is level with it where it is highest.
void note_sawtooth(const std::vector<WavePoint>& points, Sentence& sentence) {
  const auto fullest = std::ranges::max_element(points, {}, &WavePoint::ideal);
  for (const WavePoint& point : points) {
    const auto m = *int_param(point.m->params, "m");
    sentence.value(fmt::format("ideal_share_m_{}", m), point.ideal);
    if (const auto share = share_per_clock(*point.m, *fullest->m))
      sentence.value(fmt::format("share_m_{}", m), *share * fullest->ideal);
  }
}

void summarize_waves(const CurveView& curve, Sentence& sentence) {
  const std::vector<WavePoint> points = wave_points(curve);
  const WavePoint* edge = nullptr;  // the last point before the deepest fall
  double deepest = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    if (std::ceil(points[i + 1].waves) <= std::ceil(points[i].waves)) continue;
    const auto share = share_per_clock(*points[i + 1].m, *points[i].m);
    if (!share || (edge != nullptr && *share >= deepest)) continue;
    deepest = *share;
    edge = &points[i];
  }
  if (edge == nullptr) return;
  note_sawtooth(points, sentence);
  const WavePoint& beyond = *(edge + 1);
  const double ideal = beyond.ideal / edge->ideal;
  std::string text = fmt::format(
      "from {:.2f} to {:.2f} waves of work the rate per clock of one kernel falls to {}, where "
      "idle SMs alone would make it {}",
      edge->work, beyond.work, format_percent(deepest), format_percent(ideal));
  sentence.value("waves_before", edge->work);
  sentence.value("waves_after", beyond.work);
  sentence.value("share_per_clock", deepest);
  sentence.value("ideal_share_per_clock", ideal);
  const Measurement* best =
      single(curve, {{"m", *int_param(beyond.m->params, "m")}, {"kernel", std::string("best")}});
  const auto best_share =
      best != nullptr ? share_per_clock(*best, *edge->m) : std::optional<double>();
  if (best_share) {
    text += fmt::format("; the best kernel reaches {}", format_percent(*best_share));
    sentence.value("best_share_per_clock", *best_share);
  }
  sentence.add(std::move(text));
}

void summarize_skinny(const std::string& format, const CurveView& curve, Sentence& sentence) {
  // So few rows that reading the weights from memory dominates.
  constexpr double kFewRows = 64;
  const auto points = sweep(curve, "m");
  const auto burst = burst_of(curve, format);
  const auto bandwidth = curve.ceiling("hbm.read", Basis::kMeasured);
  if (points.empty() || !burst) return;
  const auto half =
      std::ranges::find_if(points, [&](const CurvePoint& p) { return *p.m->value >= *burst / 2; });
  std::string text;
  if (half != points.end()) {
    text = fmt::format("half of the burst rate from M = {:.0f} on", half->x);
    sentence.value(format + "_half_burst_m", half->x);
  } else {
    text = fmt::format("below half of the burst rate up to M = {:.0f}", points.back().x);
  }
  std::vector<double> shares;
  for (const CurvePoint& point : points) {
    const Work& work = point.m->work;
    if (point.x > kFewRows || !bandwidth || work.bytes() <= 0) continue;
    shares.push_back(*point.m->value / std::min(*burst, *bandwidth * work.flops / work.bytes()));
  }
  if (!shares.empty()) {
    const double share = median(shares);
    text += fmt::format(", up to M = {:.0f} a median {} of what the roofline says", kFewRows,
                        format_percent(share));
    sentence.value(format + "_share_of_roofline", share);
  }
  sentence.add(fmt::format("{}: {}", upper(format), text));
}

void summarize_model_layer(const std::string& format, const CurveView& curve, Sentence& sentence) {
  const ParamValue layer = std::string("layer");
  const auto sizes = sweep_where(curve, "hidden", "part", layer);
  if (sizes.empty()) return;
  const auto hidden = static_cast<std::int64_t>(sizes.back().x);
  auto points = sweep_where(curve, "tokens", "part", layer);
  std::erase_if(points,
                [&](const CurvePoint& p) { return int_param(p.m->params, "hidden") != hidden; });
  if (points.empty()) return;
  // Not the sustained ceiling: points as short as these run at a clock between the two.
  const auto burst = burst_of(curve, format);
  const auto figures = [&](const CurvePoint& point) {
    std::string text =
        fmt::format("{:.0f} token{}: {}", point.x, point.x == 1 ? "" : "s", rate_of(*point.m));
    if (const auto& clock_hz = point.m->conditions.sm_clock_hz)
      text += fmt::format(" at {:.0f} MHz", *clock_hz / 1e6);
    if (burst) {
      const double share = *point.m->value / *burst;
      text += fmt::format(", {} of burst", format_percent(share));
      sentence.value(fmt::format("{}_{:.0f}_tokens_share_of_burst", format, point.x), share);
    }
    return text;
  };
  std::string text =
      fmt::format("{}, hidden size {}, {}", upper(format), hidden, figures(points.back()));
  if (points.front().x == 1 && points.size() > 1) text += "; " + figures(points.front());
  sentence.add(std::move(text));
}

void summarize_layouts(const std::string& format, const CurveView& curve, Sentence& sentence) {
  // Less is a kernel's or the clock's affair.
  constexpr double kAsFast = 0.9;
  std::vector<std::pair<std::string, const Measurement*>> layouts;
  for (const Measurement* m : curve.points) {
    const auto layout = text_param(m->params, "layout");
    if (layout && m->conditions.sm_clock_hz) layouts.emplace_back(*layout, m);
  }
  if (layouts.size() < 2) return;
  const auto& [best, fastest] = *std::ranges::max_element(layouts, {}, [](const auto& l) {
    return *l.second->value / *l.second->conditions.sm_clock_hz;
  });
  std::vector<std::string> slow;
  for (const auto& [layout, m] : layouts) {
    const auto share = share_per_clock(*m, *fastest);
    if (!share) continue;
    sentence.value(fmt::format("{}_{}_share_per_clock", format, layout), *share);
    if (*share < kAsFast) slow.push_back(fmt::format("{} {}", layout, format_percent(*share)));
  }
  if (!slow.empty())
    sentence.add(fmt::format("{} in {} of the rate per clock in {}", upper(format),
                             fmt::join(slow, ", "), best));
}

void summarize_cleared_cache(const std::string& format, const CurveView& curve,
                             Sentence& sentence) {
  const Measurement* m = single(curve, {{"l2", std::string("cleared")}});
  if (m == nullptr) return;
  std::string text = fmt::format("{} {}", upper(format), rate_of(*m));
  sentence.value(format + "_flops_per_s", *m->value);
  const Measurement* burst = single(curve, {{"load", std::string("burst")}});
  // At whatever clock each ran: what the operands' way from memory costs, and nothing else.
  if (const auto share = burst ? share_per_clock(*m, *burst) : std::nullopt) {
    text += fmt::format(", {} of the burst rate per clock", format_percent(*share));
    sentence.value(format + "_share_per_clock", *share);
  }
  sentence.add(std::move(text));
}

// The rule for one format.
CurveRule rule(std::string topic, std::string format,
               void (*summarize)(const std::string&, const CurveView&, Sentence&)) {
  return {std::move(topic),
          [format = std::move(format), summarize](const CurveView& curve, Sentence& sentence) {
            summarize(format, curve, sentence);
          }};
}

}  // namespace

CurveRule operand_data_curve(std::string format) {
  return rule("operand data", std::move(format), summarize_operand_data);
}
CurveRule layouts_curve(std::string format) {
  return rule("layouts", std::move(format), summarize_layouts);
}
CurveRule cleared_cache_curve(std::string format) {
  return rule("cleared L2", std::move(format), summarize_cleared_cache);
}
CurveRule soak_curve() { return {"soak", summarize_soak}; }
CurveRule product_sides_curve(std::string format) {
  return rule("product sides", std::move(format), summarize_product_sides);
}
CurveRule vocabulary_curve(std::string format) {
  return rule("vocabulary", std::move(format), summarize_vocabulary);
}
CurveRule waves_curve() { return {"waves", summarize_waves}; }
CurveRule skinny_curve(std::string format) {
  return rule("skinny products", std::move(format), summarize_skinny);
}
CurveRule model_layer_curve(std::string format) {
  return rule("model layer", std::move(format), summarize_model_layer);
}

}  // namespace peakline::bench
