// What keeps a matrix product from its ceiling? Unaligned dimensions, and too few rows.

#include "bench/gemm/shapes.hpp"

#include "bench/gemm/curves.hpp"
#include "bench/gemm/formats.hpp"
#include "bench/question.hpp"
#include "harness/statistics/statistics.hpp"

namespace peakline::bench {

// side: of the aligned product.
void gemm_alignment(CudaBench& bench, std::string_view format, std::int64_t side);
void gemm_vocabulary(CudaBench& bench, std::string_view format);
void gemm_skinny(CudaBench& bench, std::string_view format);

namespace {

constexpr const char *kProductSides = "product sides", *kSkinny = "skinny products",
                     *kVocabulary = "vocabulary";

// One side slightly shorter than a power of two, the others unchanged.

constexpr std::int64_t kAlignedSide = 8192;
// Powers of two, so that each of them is the largest that divides one of the sizes.
constexpr std::array<std::int64_t, 9> kShorterBy = {0, 1, 2, 4, 8, 16, 32, 64, 128};
// One-byte formats accept only multiples of 16.
constexpr std::array<std::int64_t, 5> kShorterBy16 = {0, 16, 32, 64, 128};

std::vector<Point> alignment_points(std::span<const std::int64_t> shorter_by) {
  std::vector<ParamValue> sizes;
  for (const std::int64_t by : shorter_by) sizes.emplace_back(kAlignedSide - by);
  return points_over({{"dimension", {"M", "N", "K"}}, {"size", std::move(sizes)}}, kWarm);
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

void summarize_product_sides(const std::string& format, const CurveView& curve, Figures& figures) {
  for (const char* dimension : {"M", "N", "K"}) {
    const auto worst =
        worst_size(sweep_where(curve, "size", "dimension", ParamValue(std::string(dimension))));
    if (!worst) continue;
    const Params by = {{"format", format}, {"dimension", dimension}};
    figures.add("worst_size", worst->size, by);
    figures.add("worst_share_per_clock", worst->share, by);
  }
}

CurveRule product_sides(const std::string& format) {
  return rule_of_format(kProductSides, format,
                        {{"worst_size", unit::kCount, {"format", "dimension"}},
                         {"worst_share_per_clock", unit::kShare, {"format", "dimension"}}},
                        summarize_product_sides);
}

std::string product_sides_title(const TitleView& view) {
  const Figure& worst = view.least({.name = "worst_share_per_clock"});
  const auto size =
      std::llround(view.value({.id = worst.id, .name = "worst_size", .by = worst.by}));
  const std::string side = *text_param(worst.by, "dimension");
  return fmt::format("{} costs {} GEMMs {:.1f} x",
                     size % 2 != 0 ? fmt::format("An odd {} ({})", side, size)
                                   : fmt::format("{} = {}", side, size),
                     format_label(*text_param(worst.by, "format")), 1 / worst.value);
}

void summarize_vocabulary(const CurveView& curve, Figures& figures) {
  const auto points = sweep(curve, "n");
  if (points.size() < 2) return;
  const CurvePoint &plain = points.front(), &padded = points.back();
  for (const CurvePoint* p : {&plain, &padded}) {
    const Params by = {{"n", std::llround(p->x)}};
    figures.add("time", p->m->summary->median, by);
    figures.add("rate", *p->m->value, by);
  }
  if (const auto share = share_per_clock(*plain.m, *padded.m))
    figures.add("share_per_clock", *share);
}

std::string vocabulary_title(const TitleView& view) {
  const auto times = view.all({.name = "time"});
  const auto outputs = [](const Figure& f) { return to_string(*find_param(f.by, "n")); };
  return fmt::format("A layer of {} outputs takes {:.1f} x as long as one of {}",
                     outputs(*times.front()), times.front()->value / times.back()->value,
                     outputs(*times.back()));
}

// The M from which arithmetic binds instead of memory. FLOPs and bytes are linear in M, so that
// interpolation is exact.
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

void summarize_skinny(const std::string& format, const CurveView& curve, Figures& figures) {
  // Up to this M, reading the weights from memory dominates.
  constexpr double kFewRows = 64;
  const auto points = sweep(curve, "m");
  const auto burst = burst_of(curve, format);
  const auto bandwidth = curve.ceiling("hbm.read", Basis::kMeasured);
  if (points.empty() || !burst) return;
  const auto half =
      std::ranges::find_if(points, [&](const CurvePoint& p) { return *p.m->value >= *burst / 2; });
  if (half != points.end()) figures.add("half_burst_m", half->x, {{"format", format}});
  if (const auto ridge = bandwidth ? ridge_of(points, *burst, *bandwidth) : std::nullopt)
    figures.add("ridge_m", *ridge, {{"format", format}});
  std::vector<double> shares;
  for (const CurvePoint& point : points) {
    const Work& work = point.m->work;
    if (!bandwidth || work.bytes() <= 0) continue;
    const double roof = std::min(*burst, *bandwidth * work.flops / work.bytes());
    figures.add("roofline", roof, {{"m", std::llround(point.x)}});
    if (point.x <= kFewRows) shares.push_back(*point.m->value / roof);
  }
  if (!shares.empty()) figures.add("share_of_roofline", median(shares));
}

CurveRule skinny_products(const std::string& format) {
  return rule_of_format(kSkinny, format,
                        {{"half_burst_m", unit::kCount, {"format"}},
                         {"ridge_m", unit::kCount, {"format"}},
                         {"share_of_roofline", unit::kShare},
                         {"roofline", rate_unit(format), {"m"}}},
                        summarize_skinny);
}

std::string skinny_title(const TitleView& view) {
  if (view.find({.name = "half_burst_m"}) == nullptr)
    return fmt::format("Up to {} rows GEMMs stay below half of their burst rate",
                       to_string(*find_param(view.all({.name = "roofline"}).back()->by, "m")));
  const Figure* half = view.find({.name = "half_burst_m", .by = {{"format", "bf16"}}});
  if (half == nullptr) half = &view.figure({.name = "half_burst_m"});
  return fmt::format("{} needs {:.0f} rows for half of its burst rate",
                     format_label(*text_param(half->by, "format")), half->value);
}

Picture skinny_picture() {
  constexpr const char *kBf16 = "gemm.skinny.bf16", *kFp8 = "gemm.skinny.fp8";
  const auto ridge = [](const char* label, const char* id) -> Mark {
    return {.label = label, .upright = true, .figure = Numbers{id, "ridge_m"}};
  };
  return {.key = "skinny",
          .subject = "Few rows: from memory-bound to compute-bound",
          .how =
              "Products of M × 8192 × 8192. The roofline is the intensity times the rate at which "
              "memory is read, up to the burst ceiling; below it, the library loses time. Up to "
              "its bend another row is free, since the weights come from memory anyway: that is "
              "where a language model decodes.",
          .panels = {{.over = "m",
                      .x = count_axis("M, rows"),
                      .y = {.label = "TFLOP/s", .per = 1e12, .scale = Scale::kLog10},
                      .series = {{"BF16", {kBf16}},
                                 {"FP8", {kFp8}},
                                 {"BF16 roofline", {kBf16, "roofline"}},
                                 {"FP8 roofline", {kFp8, "roofline"}}},
                      .marks = {ridge("BF16 ridge", kBf16), ridge("FP8 ridge", kFp8)},
                      .naming = Naming::kEndsWithValue}}};
}

}  // namespace

void add_sweep(Registry& registry, GemmSweep sweep) {
  const ProductFormat& format = product_format(sweep.format);
  registry.add({.id = std::string("gemm.") + sweep.area + "." + sweep.format,
                .what = sweep.what,
                .work = "2 x M x N x K FLOP per product",
                .quantity = quantity_of(format),
                .method_version = sweep.method_version,
                .loads = Loads::kCores,
                .varies_with = VariesWith::kSearch,
                .limit = limit_of(format),
                .ceilings = std::move(sweep.ceilings),
                .curves = std::move(sweep.curves),
                .topics = std::move(sweep.topics),
                .runs_on = devices_of(format),
                .never_run = format.made_for == MadeFor::kBlackwell,
                .points = std::move(sweep.points)},
               std::move(sweep.run));
}

void register_gemm_shapes(Registry& registry) {
  constexpr const char* kAlignment =
      "Throughput of 8192^3 products with one side slightly shorter: the cost of odd sizes";
  const auto alignment = [](const char* format) {
    return on_gpu([format](auto& bench) { gemm_alignment(bench, format, kAlignedSide); });
  };
  add_sweep(registry, {"alignment",
                       "bf16",
                       kAlignment,
                       alignment("bf16"),
                       alignment_points(kShorterBy),
                       {product_sides("bf16")},
                       {},
                       {{kProductSides, product_sides_title}}});
  for (const char* format : {"fp8", "int8"})
    add_sweep(registry, {"alignment",
                         format,
                         kAlignment,
                         alignment(format),
                         alignment_points(kShorterBy16),
                         {product_sides(format)}});

  // GPT-2's vocabulary, as it is and padded to a multiple of 128.
  const auto vocabularies = points_over("n", {50257, 50304}, kWarm);
  add_sweep(
      registry,
      {"vocabulary",
       "bf16",
       "Throughput of the output layer of a language model, 4096 x N x 4096: the cost of N = 50257",
       on_gpu([](auto& bench) { gemm_vocabulary(bench, "bf16"); }),
       vocabularies,
       {{kVocabulary,
         {{"time", "s", {"n"}},
          {"rate", rate_unit("bf16"), {"n"}},
          {"share_per_clock", unit::kShare}},
         summarize_vocabulary}},
       {},
       {{kVocabulary, vocabulary_title}}});

  const auto skinny = [&](const char* format, std::vector<Topic> topics = {}) {
    add_sweep(registry, {"skinny",
                         format,
                         "Throughput of M x 8192 x 8192 products, weights from device memory: "
                         "where decoding turns from memory to compute",
                         on_gpu([format](auto& bench) { gemm_skinny(bench, format); }),
                         points_over("m", multiples(1, 4096), kWarm),
                         {skinny_products(format)},
                         {},
                         std::move(topics)});
  };
  skinny("bf16", {{kSkinny, skinny_title, skinny_picture()}});
  skinny("fp8");
}

}  // namespace peakline::bench
