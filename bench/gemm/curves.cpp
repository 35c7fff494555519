#include "bench/gemm/curves.hpp"

#include "bench/question.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/profile.hpp"

namespace peakline::bench {
namespace {

std::string rate_of(const Measurement& m) { return format_value(*m.value, m.unit); }

std::string rate_unit(std::string_view format) { return format == "int8" ? "OP/s" : "FLOP/s"; }

std::optional<double> burst_of(const CurveView& curve, const std::string& format) {
  return curve.ceiling("tensor." + format, Basis::kBurst);
}

void summarize_operand_data(const std::string& format, const CurveView& curve, Sentence& sentence) {
  const Measurement* normal = single(curve, {{"data", "normal"}});
  const Measurement* fastest = nullptr;
  for (const Measurement* m : curve.points) {
    const auto data = text_param(m->params, "data");
    if (!data) continue;
    sentence.figure("rate", *m->value, {{"format", format}, {"data", *data}});
    if (m->conditions.power_w)
      sentence.figure("power", *m->conditions.power_w, {{"format", format}, {"data", *data}});
    if (normal != nullptr)
      sentence.figure("share_of_normal", *m->value / *normal->value,
                      {{"format", format}, {"data", *data}});
    if (data != "normal" && (fastest == nullptr || *m->value > *fastest->value)) fastest = m;
  }
  if (normal == nullptr || fastest == nullptr) return;
  if (curve.device != nullptr && curve.device->power_limit_w)
    sentence.figure("power_limit", *curve.device->power_limit_w);
  const auto figures = [](const Measurement& m) {
    const auto& power = m.conditions.power_w;
    return power ? fmt::format("{} and {:.0f} W", rate_of(m), *power) : rate_of(m);
  };
  std::string data = spaced(*text_param(fastest->params, "data"));
  if (data == "constant") data += " data";
  sentence.add(fmt::format("{} on {} runs at {}, on normal data at {}", format_label(format), data,
                           figures(*fastest), figures(*normal)));
}

void summarize_soak(const CurveView& curve, Sentence& sentence) {
  const Measurement* m = single(curve, {{"load", "soak"}});
  if (m == nullptr) return;
  std::string text = rate_of(*m);
  sentence.figure("rate", *m->value);
  if (m->conditions.sm_clock_hz) text += " at " + format_clock(*m->conditions.sm_clock_hz);
  if (m->conditions.power_w) {
    text += fmt::format("{}{:.0f} W", m->conditions.sm_clock_hz ? " and " : " at ",
                        *m->conditions.power_w);
    sentence.figure("power", *m->conditions.power_w);
  }
  if (const auto seconds = int_param(m->launch, "seconds")) {
    text += fmt::format(" in {} s without a break", *seconds);
    sentence.figure("duration", static_cast<double>(*seconds));
  }
  if (const auto equilibrium_s = int_param(m->launch, "equilibrium_s")) {
    text += fmt::format("; thermal equilibrium after {} s", *equilibrium_s);
    sentence.figure("equilibrium_after", static_cast<double>(*equilibrium_s));
    if (const auto degrees = int_param(m->launch, "equilibrium_temperature_c")) {
      text += fmt::format(" at {} °C", *degrees);
      sentence.figure("equilibrium_temperature", static_cast<double>(*degrees));
    }
  } else {
    text += "; no thermal equilibrium";
  }
  sentence.add(std::move(text));
}

// The size with the lowest rate per clock, compared with the longest size, a power of two.
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
  for (const char* dimension : {"M", "N", "K"}) {
    const auto worst =
        worst_size(sweep_where(curve, "size", "dimension", ParamValue(std::string(dimension))));
    if (!worst) continue;
    worsts.push_back(
        fmt::format("{} at {} = {:.0f}", format_percent(worst->share), dimension, worst->size));
    const Params by = {{"format", format}, {"dimension", dimension}};
    sentence.figure("worst_size", worst->size, by);
    sentence.figure("worst_share_per_clock", worst->share, by);
  }
  if (worsts.empty()) return;
  sentence.add(fmt::format("{} at its worst, of the aligned rate per clock: {}",
                           format_label(format), fmt::join(worsts, ", ")));
}

void summarize_vocabulary(const std::string& format, const CurveView& curve, Sentence& sentence) {
  const auto points = sweep(curve, "n");
  if (points.size() < 2) return;
  const auto figures = [&](const CurvePoint& p) {
    const Params by = {{"n", std::llround(p.x)}};
    sentence.figure("time", p.m->summary->median, by);
    sentence.figure("rate", *p.m->value, by);
    return fmt::format("{} at {}", format_time(p.m->summary->median), rate_of(*p.m));
  };
  const CurvePoint& plain = points.front();
  const CurvePoint& padded = points.back();
  const std::string unpadded = figures(plain);
  std::string text =
      fmt::format("{} with {:.0f} outputs takes {}, padded to {:.0f} it takes {}",
                  format_label(format), plain.x, unpadded, padded.x, figures(padded));
  if (const auto share = share_per_clock(*plain.m, *padded.m)) {
    text += fmt::format(": {} of the rate per clock", format_percent(*share));
    sentence.figure("share_per_clock", *share);
  }
  sentence.add(std::move(text));
}

// A product of the sweep's fixed kernel.
struct WavePoint {
  const Measurement* m = nullptr;
  double waves = 0;  // how many times its tiles, in whole clusters, fill the SMs
  double work = 0;   // likewise, only tiles that have work
  double ideal = 0;  // share of SM time spent on tiles with work, if all tiles take equally long
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

// The ideal sawtooth, and the measured one scaled to meet it where it is highest.
void note_sawtooth(const std::vector<WavePoint>& points, Sentence& sentence) {
  const auto fullest = std::ranges::max_element(points, {}, &WavePoint::ideal);
  for (const WavePoint& point : points) {
    const auto m = *int_param(point.m->params, "m");
    sentence.figure("ideal_share", point.ideal, {{"m", m}});
    if (const auto share = share_per_clock(*point.m, *fullest->m))
      sentence.figure("share", *share * fullest->ideal, {{"m", m}});
  }
}

void summarize_waves(const CurveView& curve, Sentence& sentence) {
  const std::vector<WavePoint> points = wave_points(curve);
  const WavePoint* edge = nullptr;  // last point before the deepest fall
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
  sentence.figure("waves_before", edge->work);
  sentence.figure("waves_after", beyond.work);
  sentence.figure("share_past_edge", deepest);
  sentence.figure("ideal_share_past_edge", ideal);
  const Measurement* best =
      single(curve, {{"m", *int_param(beyond.m->params, "m")}, {"kernel", "best"}});
  const auto best_share =
      best != nullptr ? share_per_clock(*best, *edge->m) : std::optional<double>();
  if (best_share) {
    text += fmt::format("; the best kernel reaches {}", format_percent(*best_share));
    sentence.figure("best_share_past_edge", *best_share);
  }
  sentence.add(std::move(text));
}

// The M from which arithmetic binds, not memory: exact, as FLOPs and bytes are linear in M.
std::optional<double> ridge_of(const std::vector<CurvePoint>& points, double burst,
                               double bandwidth) {
  const auto excess = [&](const CurvePoint& p) {
    return p.m->work.flops * bandwidth - p.m->work.bytes() * burst;
  };
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double below = excess(points[i - 1]), above = excess(points[i]);
    if (below < 0 && above >= 0)
      return points[i - 1].x + (points[i].x - points[i - 1].x) * below / (below - above);
  }
  return std::nullopt;
}

void summarize_skinny(const std::string& format, const CurveView& curve, Sentence& sentence) {
  // Up to this M, reading the weights from memory dominates.
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
    sentence.figure("half_burst_m", half->x, {{"format", format}});
  } else {
    text = fmt::format("below half of the burst rate up to M = {:.0f}", points.back().x);
  }
  if (const auto ridge = bandwidth ? ridge_of(points, *burst, *bandwidth) : std::nullopt)
    sentence.figure("ridge_m", *ridge, {{"format", format}});
  std::vector<double> shares;
  for (const CurvePoint& point : points) {
    const Work& work = point.m->work;
    if (!bandwidth || work.bytes() <= 0) continue;
    const double roof = std::min(*burst, *bandwidth * work.flops / work.bytes());
    sentence.figure("roofline", roof, {{"m", std::llround(point.x)}});
    if (point.x <= kFewRows) shares.push_back(*point.m->value / roof);
  }
  if (!shares.empty()) {
    const double share = median(shares);
    text += fmt::format(", up to M = {:.0f} a median {} of what the roofline says", kFewRows,
                        format_percent(share));
    sentence.figure("share_of_roofline", share);
  }
  sentence.add(fmt::format("{}: {}", format_label(format), text));
}

void summarize_model_layer(const std::string& format, const CurveView& curve, Sentence& sentence) {
  const auto burst = burst_of(curve, format);
  std::map<std::int64_t, std::map<std::int64_t, double>>
      layers;  // shares by hidden size and tokens
  for (const Measurement* m : curve.points) {
    const auto part = text_param(m->params, "part");
    const auto hidden = int_param(m->params, "hidden"), tokens = int_param(m->params, "tokens");
    const auto share = share_of_burst(*m, curve, format);
    if (!share || !part || !hidden || !tokens) continue;
    sentence.figure(
        "share_per_clock", *share,
        {{"format", format}, {"part", *part}, {"hidden", *hidden}, {"tokens", *tokens}});
    if (*part == "layer") layers[*hidden].emplace(*tokens, *share);
  }
  for (const auto& [hidden, shares] : layers)
    if (const auto tokens = first_at_share({shares.begin(), shares.end()}))
      sentence.figure("full_rate_tokens", static_cast<double>(*tokens),
                      {{"format", format}, {"hidden", hidden}});
  const ParamValue layer = "layer";
  const auto sizes = sweep_where(curve, "hidden", "part", layer);
  if (sizes.empty()) return;
  const auto hidden = static_cast<std::int64_t>(sizes.back().x);
  auto points = sweep_where(curve, "tokens", "part", layer);
  std::erase_if(points,
                [&](const CurvePoint& p) { return int_param(p.m->params, "hidden") != hidden; });
  if (points.empty()) return;
  // Points this short run at a clock between burst and sustained; burst is the higher.
  const auto figures = [&](const CurvePoint& point) {
    std::string text =
        fmt::format("{:.0f} token{}: {}", point.x, point.x == 1 ? "" : "s", rate_of(*point.m));
    if (const auto& clock_hz = point.m->conditions.sm_clock_hz)
      text += fmt::format(" at {:.0f} MHz", *clock_hz / 1e6);
    if (burst) {
      const double share = *point.m->value / *burst;
      text += fmt::format(", {} of burst", format_percent(share));
      sentence.figure("share_of_burst", share,
                      {{"format", format}, {"tokens", std::llround(point.x)}});
    }
    return text;
  };
  std::string text =
      fmt::format("{}, hidden size {}, {}", format_label(format), hidden, figures(points.back()));
  if (points.front().x == 1 && points.size() > 1) text += "; " + figures(points.front());
  sentence.add(std::move(text));
}

void summarize_variants(const std::string& format, const CurveView& curve, Sentence& sentence) {
  // A layout above this share counts as fast: the kernel or the clock explains smaller losses.
  constexpr double kAsFast = 0.9;
  const auto keeps = [&](const char* name, const std::string& variant, const Measurement& m) {
    if (const auto share = share_of_burst(m, curve, format))
      sentence.figure(name, *share, {{"format", format}, {"variant", variant}});
  };
  std::vector<std::pair<std::string, const Measurement*>> layouts;
  for (const Measurement* m : curve.points) {
    const auto layout = text_param(m->params, "layout");
    if (!layout || !m->conditions.sm_clock_hz) continue;
    layouts.emplace_back(*layout, m);
    keeps("share_of_burst", *layout, *m);
  }
  if (layouts.size() >= 2) {
    const auto& [best, fastest] = *std::ranges::max_element(layouts, {}, [](const auto& l) {
      return *l.second->value / *l.second->conditions.sm_clock_hz;
    });
    std::vector<std::string> slow;
    for (const auto& [layout, m] : layouts)
      if (const auto share = share_per_clock(*m, *fastest); share && *share < kAsFast)
        slow.push_back(fmt::format("{} {}", layout, format_percent(*share)));
    if (!slow.empty())
      sentence.add(fmt::format("{} in {} of the rate per clock in {}", format_label(format),
                               fmt::join(slow, ", "), best));
  }
  if (const Measurement* cold = single(curve, {{"l2", "cleared"}})) {
    std::string text = fmt::format("{} with a cold L2 {}", format_label(format), rate_of(*cold));
    sentence.figure("cold_rate", *cold->value, {{"format", format}});
    // The share per clock is the cost of reading operands from memory alone.
    if (const auto share = share_of_burst(*cold, curve, format))
      text += fmt::format(", {} of the burst rate per clock", format_percent(*share));
    keeps("share_of_burst", "cold L2", *cold);
    sentence.add(std::move(text));
  }
  // Other encodings and accumulations of a format are compared with its own burst.
  if (const Measurement* burst = single(curve, {{"load", "burst"}});
      burst != nullptr && format.find('_') != format.npos)
    keeps("burst_share", "burst", *burst);
}

CurveRule rule(const char* topic, const std::string& format, std::vector<FigureKind> figures,
               void (*summarize)(const std::string&, const CurveView&, Sentence&)) {
  return {topic, std::move(figures),
          [=](const CurveView& curve, Sentence& sentence) { summarize(format, curve, sentence); }};
}

}  // namespace

std::optional<double> share_of_burst(const Measurement& m, const CurveView& curve,
                                     std::string_view format) {
  const Measurement* burst =
      curve.measurement(fmt::format("gemm.{}/load:burst", format.substr(0, format.find('_'))));
  return burst ? share_per_clock(m, *burst) : std::nullopt;
}

std::optional<std::int64_t> first_at_share(
    const std::vector<std::pair<std::int64_t, double>>& shares) {
  std::optional<std::int64_t> first;
  for (auto size = shares.rbegin(); size != shares.rend() && size->second >= kFullShare; ++size)
    first = size->first;
  return first;
}

CurveRule operand_data_curve(const std::string& format) {
  return rule(kOperandDataTopic, format,
              {{"rate", rate_unit(format), {"format", "data"}},
               {"power", "W", {"format", "data"}},
               {"share_of_normal", "1", {"format", "data"}},
               {"power_limit", "W"}},
              summarize_operand_data);
}
CurveRule variants_curve(const std::string& format) {
  return rule(kVariants, format,
              {{"share_of_burst", "1", {"format", "variant"}},
               {"burst_share", "1", {"format", "variant"}},
               {"cold_rate", rate_unit(format), {"format"}}},
              summarize_variants);
}
CurveRule soak_curve() {
  return {kSoak,
          {{"rate", "FLOP/s"},
           {"power", "W"},
           {"duration", "s"},
           {"equilibrium_after", "s"},
           {"equilibrium_temperature", "°C"}},
          summarize_soak};
}
CurveRule product_sides_curve(const std::string& format) {
  return rule(kProductSides, format,
              {{"worst_size", "1", {"format", "dimension"}},
               {"worst_share_per_clock", "1", {"format", "dimension"}}},
              summarize_product_sides);
}
CurveRule vocabulary_curve(const std::string& format) {
  return rule("vocabulary", format,
              {{"time", "s", {"n"}}, {"rate", rate_unit(format), {"n"}}, {"share_per_clock", "1"}},
              summarize_vocabulary);
}
CurveRule waves_curve() {
  return {kWaves,
          {{"ideal_share", "1", {"m"}},
           {"share", "1", {"m"}},
           {"waves_before", "1"},
           {"waves_after", "1"},
           {"share_past_edge", "1"},
           {"ideal_share_past_edge", "1"},
           {"best_share_past_edge", "1"}},
          summarize_waves};
}
CurveRule skinny_curve(const std::string& format) {
  return rule(kSkinny, format,
              {{"half_burst_m", "1", {"format"}},
               {"ridge_m", "1", {"format"}},
               {"share_of_roofline", "1"},
               {"roofline", rate_unit(format), {"m"}}},
              summarize_skinny);
}
CurveRule model_layer_curve(const std::string& format) {
  return rule(kModelLayer, format,
              {{"share_of_burst", "1", {"format", "tokens"}},
               {"share_per_clock", "1", {"format", "part", "hidden", "tokens"}},
               {"full_rate_tokens", "1", {"format", "hidden"}, role::kFullRateTokens}},
              summarize_model_layer);
}

}  // namespace peakline::bench
