// What do matrix products reach: from rest, under load, with cold caches, by layout and data?

#include "bench/gemm/curves.hpp"
#include "bench/gemm/formats.hpp"
#include "bench/question.hpp"
#include "harness/benchmark/load_points.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/profile.hpp"

namespace peakline::bench {

void gemm_products(CudaBench& bench, std::string_view format);

namespace {

constexpr const char *kOperandDataTopic = "operand data", *kVariants = "product variants",
                     *kScales = "FP8 variants", *kSoak = "soak";

// The differences between data are far larger than a swing of the power control.
constexpr double kDataLoadSeconds = 0.3;

struct Parts {
  bool variant = false;   // of another format: only burst, timed briefly
  bool ceilings = true;   // of a variant: its rates are peaks of their own
  bool sustained = true;  // of a variant
  bool quick = false;
  double load_s = kShortLoadSeconds;
  bool layouts = true;
  bool cleared = false;
  std::vector<std::string_view> data = {};  // of kOperandData, in its order
  double soak_s = 0;
};

std::vector<Point> gemm_points(const Parts& parts) {
  std::vector<Point> points;
  const auto add = [&](const char* name, std::string_view value, Phase phase, Timing timing,
                       double seconds) {
    points.push_back({.params = {{name, std::string(value)}},
                      .phase = phase,
                      .timing = timing,
                      .seconds = seconds});
  };
  if (parts.variant) {
    add("load", "burst", Phase::kBurst, Timing::kBrief, 1.2);
    if (!parts.sustained) return points;
    add("load", "sustained", Phase::kSustained, Timing::kSustained, parts.load_s + 0.2);
    points.back().load_s = parts.load_s;
    return points;
  }
  for (Point& point : load_points(parts.load_s)) {
    point.quick = point.quick && parts.quick;
    // A share of the search, and filling the operands.
    point.seconds += point.timing == Timing::kBurst ? 0.9 : 0.2;
    points.push_back(std::move(point));
  }
  if (parts.layouts)
    for (const char* layout : {"NN", "NT", "TN", "TT"})
      add("layout", layout, Phase::kWarm, Timing::kCurve, 0.1);
  if (parts.cleared) add("l2", "cleared", Phase::kWarm, Timing::kBrief, 1.2);
  for (const std::string_view data : parts.data) {
    add("data", data, Phase::kSustained, Timing::kSustained, 0.8);
    points.back().load_s = kDataLoadSeconds;
  }
  if (parts.soak_s > 0) {
    add("load", "soak", Phase::kSoak, Timing::kSoak, parts.soak_s + 1);
    points.back().load_s = parts.soak_s;
    points.back().quick = true;
  }
  return points;
}

void summarize_operand_data(const std::string& format, const CurveView& curve, Figures& figures) {
  const Measurement* normal = single(curve, {{"data", "normal"}});
  std::size_t kinds = 0;
  for (const Measurement* m : curve.points) {
    const auto data = text_param(m->params, "data");
    if (!data) continue;
    ++kinds;
    const Params by = {{"format", format}, {"data", *data}};
    figures.add("rate", *m->value, by);
    if (m->conditions.power_w) figures.add("power", *m->conditions.power_w, by);
    if (normal != nullptr) figures.add("share_of_normal", *m->value / *normal->value, by);
  }
  if (normal != nullptr && kinds > 1 && curve.device != nullptr && curve.device->power_limit_w)
    figures.add("power_limit", *curve.device->power_limit_w);
}

CurveRule operand_data(const std::string& format) {
  return rule_of_format(kOperandDataTopic, format,
                        {{"rate", rate_unit(format), {"format", "data"}},
                         {"power", "W", {"format", "data"}},
                         {"share_of_normal", unit::kShare, {"format", "data"}},
                         {"power_limit", "W"}},
                        summarize_operand_data);
}

// Layouts, and products with a cold cache, per clock.
void summarize_variants(const std::string& format, const CurveView& curve, Figures& figures) {
  const auto keeps = [&](const std::string& variant, const Measurement& m) {
    if (const auto share = share_of_burst(m, curve, format))
      figures.add("share_per_clock", *share, {{"format", format}, {"variant", variant}});
  };
  for (const Measurement* m : curve.points)
    if (const auto layout = text_param(m->params, "layout")) keeps(*layout, *m);
  if (const Measurement* cold = single(curve, {{"l2", "cleared"}})) {
    figures.add("cold_rate", *cold->value, {{"format", format}});
    keeps("cold L2", *cold);
  }
}

CurveRule variants(const std::string& format) {
  return rule_of_format(kVariants, format,
                        {{"share_per_clock", unit::kShare, {"format", "variant"}},
                         {"cold_rate", rate_unit(format), {"format"}}},
                        summarize_variants);
}

// Other encodings, scales and accumulations of a format, compared with its own burst.
CurveRule scales(const std::string& format) {
  return rule_of_format(kScales, format,
                        {{"rate", "FLOP/s", {"format"}},
                         {"clock", "Hz", {"format"}},
                         {"share_per_clock", unit::kShare, {"format"}}},
                        [](const std::string& of, const CurveView& curve, Figures& figures) {
                          const Measurement* burst = single(curve, {{"load", "burst"}});
                          if (burst == nullptr) return;
                          figures.add("rate", *burst->value, {{"format", of}});
                          if (const auto& clock_hz = burst->conditions.sm_clock_hz)
                            figures.add("clock", *clock_hz, {{"format", of}});
                          if (const auto share = share_of_burst(*burst, curve, of))
                            figures.add("share_per_clock", *share, {{"format", of}});
                        });
}

void summarize_soak(const CurveView& curve, Figures& figures) {
  const Measurement* m = single(curve, {{"load", "soak"}});
  if (m == nullptr) return;
  const auto noted = [&](const char* name, const char* note) {
    if (const auto value = int_param(m->launch, note))
      figures.add(name, static_cast<double>(*value));
  };
  figures.add("rate", *m->value);
  if (m->conditions.sm_clock_hz) figures.add("clock", *m->conditions.sm_clock_hz);
  if (m->conditions.power_w) figures.add("power", *m->conditions.power_w);
  noted("duration", "seconds");
  noted("equilibrium_after", "equilibrium_s");
  noted("equilibrium_temperature", "equilibrium_temperature_c");
}

std::string operand_data_title(const TitleView& view) {
  const Figure* most = nullptr;  // of BF16 if it was measured
  const auto rank = [](const Figure& share) {
    return std::pair(text_param(share.by, "format") == "bf16", share.value);
  };
  for (const Figure* share : view.all({.name = "share_of_normal"}))
    if (text_param(share->by, "data") != "normal" &&
        (most == nullptr || rank(*share) > rank(*most)))
      most = share;
  if (most == nullptr || most->value <= 1) throw Missing();
  std::string data = spaced(*text_param(most->by, "data"));
  if (data != "zeros") data += " data";
  return fmt::format("{} runs {:.0f} % faster on {} than on normal data",
                     format_label(*text_param(most->by, "format")), (most->value - 1) * 100, data);
}

std::string variants_title(const TitleView& view) {
  const Figure& least = view.least({.name = "share_per_clock"});
  const std::string variant = *text_param(least.by, "variant");
  return fmt::format("{} {} GEMMs keep {} of their burst rate at equal clock",
                     variant == "cold L2" ? "With a cold L2 cache" : "In layout " + variant,
                     format_label(*text_param(least.by, "format")), format_percent(least.value));
}

std::string scales_title(const TitleView& view) {
  constexpr std::size_t kMostTold = 2;  // more than two lines are not read
  const double whole = view.ceiling("tensor.fp8", Basis::kBurst).value;
  std::vector<std::string> variants;
  for (const auto& [id, name] : {std::pair("gemm.fp8_block", "with scales of blocks"),
                                 {"gemm.fp8_row", "with scales of rows"},
                                 {"gemm.fp8_accurate", "without fast accumulation"}}) {
    const Figure *share = view.find({.id = id, .name = "share_per_clock"}),
                 *rate = view.find({.id = id, .name = "rate"});
    if (share != nullptr && rate != nullptr && variants.size() < kMostTold)
      variants.push_back(fmt::format(
          "{} {} ({}, at equal clock {})", name, format_rate(rate->value, rate->unit),
          format_signed_percent(rate->value / whole - 1), format_signed_percent(share->value - 1)));
  }
  if (variants.empty()) throw Missing();
  return fmt::format("FP8 GEMMs reach {} from rest, {}", format_rate(whole, "FLOP/s"),
                     joined(variants));
}

std::string sustained_title(const TitleView& view) {
  // BF16 if it has a sustained rate, else the format with the highest one.
  const Ceiling* held = nullptr;
  for (const Ceiling& row : view.profile.ceilings) {
    if (row.device != view.device || row.basis != Basis::kSustained) continue;
    const auto rank = [](const Ceiling& c) {
      return std::pair(c.resource == "tensor.bf16", c.value);
    };
    if (held == nullptr || rank(row) > rank(*held)) held = &row;
  }
  if (held == nullptr) throw Missing();
  const double burst = view.ceiling(held->resource, Basis::kBurst).value;
  std::string text =
      fmt::format("{} hold {} of their burst", ResourceLabels(view.profile)(held->resource),
                  format_percent(held->value / burst));
  if (held->conditions.sm_clock_hz && view.facts != nullptr && view.facts->sm_clock_max_hz)
    text += fmt::format(", at {:.0f} of {}", *held->conditions.sm_clock_hz / 1e6,
                        format_clock(*view.facts->sm_clock_max_hz));
  return text;
}

std::string soak_title(const TitleView& view) {
  std::string text =
      fmt::format("{} over {:.0f} s of load", format_rate(view.value({.name = "rate"}), "FLOP/s"),
                  view.value({.name = "duration"}));
  const Figure* rest = view.find({.name = "equilibrium_after"});
  return text + (rest == nullptr
                     ? "; the temperature does not settle"
                     : fmt::format("; the temperature settles after {:.0f} s", rest->value));
}

// In catalogue order.
constexpr std::array kFormats = {"bf16",           "fp16",         "tf32",    "fp8",
                                 "fp8_e5m2",       "fp8_accurate", "fp8_row", "fp8_block",
                                 "fp8_block_both", "int8",         "fp64",    "fp32"};

// "fp8_row", of FP8.
bool is_variant(std::string_view format) { return format.find('_') != format.npos; }

std::vector<std::pair<std::string, std::string>> format_names() {
  std::vector<std::pair<std::string, std::string>> names;
  for (const char* format : kFormats) names.emplace_back(format, format_label(format));
  return names;
}

Picture operand_data_picture() {
  const auto panel = [](const char* figure, const char* label, double per, Mark mark) -> Panel {
    Panel dots{.kind = PanelKind::kDots,
               .over = "data",
               .x = {.label = label, .per = per},
               .series = {},
               .marks = {std::move(mark)},
               .names = format_names()};
    for (const char* id : {"gemm.bf16", "gemm.fp8"})
      dots.series.push_back({"{}", {.id = id, .figure = figure}, "format"});
    return dots;
  };
  return {.key = "data",
          .subject = "Operand data: what the values themselves cost",
          .how =
              "Switching bits costs power, and a card at its power limit lowers its clock for it: "
              "data that toggle fewer bits run faster. Rates are those under sustained load, "
              "against normally distributed data. The power control keeps to the limit on average "
              "over swings of about a second, and a point here is as short as one of them, so that "
              "its power may lie above the limit.",
          .panels = {panel("share_of_normal", "rate, % of normal data", 0.01,
                           {.label = "normal data", .value = 1.0}),
                     panel("power", "power, W", 1,
                           {.label = "the limit", .figure = Numbers{"gemm.bf16", "power_limit"}})}};
}

Picture variants_picture() {
  Panel panel{.kind = PanelKind::kDots,
              .over = "format",
              .x = {.label = "% of the format's burst at equal clock", .per = 0.01},
              .series = {},
              .marks = {{.label = "the format's burst", .value = 1.0}},
              .names = format_names()};
  for (const char* variant : {"TN", "NN", "NT", "TT", "cold L2"})
    for (const char* format : kFormats) {
      if (is_variant(format)) continue;
      panel.series.push_back({variant,
                              {.id = std::string("gemm.") + format,
                               .figure = "share_per_clock",
                               .where = {{"variant", variant}}}});
    }
  return {
      .key = "variants",
      .subject = "Layouts: matrix products by layout, and with a cold cache",
      .how =
          "100 % is the format's burst, the best of its shapes and layouts. Layouts are named "
          "as cuBLASLt does, column-major; with a cold L2 the operands come from device memory.",
      .panels = {std::move(panel)}};
}

Picture scales_picture() {
  Panel panel{.kind = PanelKind::kDots,
              .over = "format",
              .x = {.label = "% of FP8's burst at equal clock", .per = 0.01},
              .series = {},
              .marks = {{.label = "FP8's burst", .value = 1.0}},
              .names = format_names()};
  for (const char* format : kFormats)
    if (is_variant(format))
      panel.series.push_back(
          {"burst", {.id = std::string("gemm.") + format, .figure = "share_per_clock"}});
  return {
      .key = "scales",
      .subject = "FP8 variants: encodings, sums and scales",
      .how =
          "FP8 itself is E4M3 with one scale for each operand and fast accumulation; FP8 accurate "
          "does without the latter. FP8 row has an FP32 scale for each row of A and column of "
          "B; FP8 block one for 128 values along K in A and for 128 x 128 in B, as DeepSeek's "
          "checkpoints do; FP8 block both has one for 128 values along K in A and in B.",
      .panels = {std::move(panel)}};
}

}  // namespace

void register_gemm(Registry& registry, double soak_s) {
  const auto add = [&](const char* name, const Parts& parts, std::vector<Topic> topics = {}) {
    const ProductFormat& format = product_format(name);
    std::vector<CurveRule> curves = {sustained_load_curve(format_label(name)),
                                     operand_data(name),
                                     {kSoak,
                                      {{"rate", "FLOP/s"},
                                       {"clock", "Hz"},
                                       {"power", "W"},
                                       {"duration", "s"},
                                       {"equilibrium_after", "s"},
                                       {"equilibrium_temperature", "°C"}},
                                      summarize_soak}};
    if (!parts.variant) curves.push_back(variants(name));
    if (parts.variant || name == std::string_view("fp8")) curves.push_back(scales(name));
    registry.add(
        {.id = std::string("gemm.") + name,
         .what = format.what,
         .work = format.whole_numbers ? "2 x M x N x K operations per product"
                                      : "2 x M x N x K FLOP per product",
         .quantity = quantity_of(format),
         .method_version = 3,
         .loads = Loads::kCores,
         .varies_with = VariesWith::kSearch,
         .limit = limit_of(format),
         .ceilings = parts.ceilings ? load_ceilings_of(format) : std::vector<CeilingRule>(),
         .curves = std::move(curves),
         .topics = std::move(topics),
         .runs_on = devices_of(format),
         .never_run = format.made_for == MadeFor::kBlackwell,
         .points = gemm_points(parts)},
        on_gpu([name](auto& bench) { gemm_products(bench, name); }));
  };
  add("bf16",
      {.quick = true,
       .load_s = kWholeLoadSeconds,
       .cleared = true,
       .data = {kOperandData.begin(), kOperandData.end()},
       .soak_s = soak_s},
      {{kSustainedLoad, sustained_title},
       {kOperandDataTopic, operand_data_title, operand_data_picture()},
       {kVariants, variants_title, variants_picture()},
       {kSoak, soak_title}});
  add("fp16", {.quick = true});
  add("tf32", {.quick = true});
  // Normal data and zeros are the extremes; FP8 needs no others.
  add("fp8",
      {.quick = true, .load_s = kWholeLoadSeconds, .cleared = true, .data = {"normal", "zeros"}},
      {{kScales, scales_title, scales_picture()}});
  add("fp8_e5m2", {.variant = true, .ceilings = false, .sustained = false});
  add("fp8_accurate", {.variant = true, .ceilings = false, .sustained = false});
  add("fp8_row", {.variant = true, .sustained = false});
  add("fp8_block", {.variant = true});
  add("fp8_block_both", {.variant = true, .sustained = false});
  add("int8", {});
  // Blocks run along k, which must be contiguous: only TN works.
  add("mxfp8", {.layouts = false});
  add("mxfp8_e5m2", {.variant = true, .ceilings = false, .sustained = false});
  add("nvfp4", {.layouts = false});
  add("fp64", {});
  add("fp32", {});
}

}  // namespace peakline::bench
