// How large must a square product be to reach the format's burst rate?

#include "bench/gemm/curves.hpp"
#include "bench/gemm/shapes.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void gemm_size(CudaBench& bench, std::string_view format);

namespace {

constexpr const char* kSizes = "GEMM sizes";
constexpr const char* kSizeAtShare = "full_rate_n";
constexpr const char* kRate = "rate_at_burst_clock";
constexpr std::array<std::int64_t, 13> kSides = {256,  512,  1024, 1536, 2048,  2560, 3072,
                                                 4096, 5120, 6144, 8192, 12288, 16384};

// Figures share_per_clock, of burst, and the rate at the burst's clock, by n; full_rate_n.
CurveRule size_curve(const std::string& format) {
  return {kSizes,
          {{"share_per_clock", unit::kShare, {"format", "n"}, role::kShareOfSide},
           {kRate, "FLOP/s", {"format", "n"}},
           {kSizeAtShare, unit::kCount, {"format"}}},
          [format](const CurveView& curve, Figures& figures) {
            std::vector<std::pair<std::int64_t, double>> shares;
            for (const CurvePoint& point : sweep(curve, "n")) {
              const auto share = share_of_burst(*point.m, curve, format);
              if (!share) continue;
              shares.emplace_back(std::llround(point.x), *share);
              const Params by = {{"format", format}, {"n", shares.back().first}};
              figures.add("share_per_clock", *share, by);
              if (const auto burst = burst_of(curve, format))
                figures.add(kRate, *share * *burst, by);
            }
            if (const auto n = shares.empty() ? std::nullopt : size_at_share(shares))
              figures.add(kSizeAtShare, *n, {{"format", format}});
          }};
}

std::string size_title(const TitleView& view) {
  if (view.find({.name = kSizeAtShare}) == nullptr)
    return fmt::format("N x N x N GEMMs stay below {} of burst per clock up to N = {}",
                       format_percent(kFullShare),
                       to_string(*find_param(view.all({}).back()->by, "n")));
  std::vector<std::string> sizes;
  for (const Figure* n : view.all({.name = kSizeAtShare})) {
    const std::string format = *text_param(n->by, "format");
    const double rate = kFullShare * view.ceiling("tensor." + format, Basis::kBurst).value;
    sizes.push_back(fmt::format("N = {:.0f} in {} ({})", n->value, format_label(format),
                                format_rate(rate, "FLOP/s")));
  }
  return fmt::format("N x N x N GEMMs reach {:.0f} % of burst, at its clock, from about {}",
                     100 * kFullShare, fmt::join(sizes, ", "));
}

Picture size_picture() {
  Panel panel{.over = "n",
              .x = count_axis("N, rows and columns"),
              .y = percent_axis("% of burst per clock", 105),
              .series = {},
              .marks = {{.label = format_percent(kFullShare), .value = kFullShare}}};
  for (const char* format : {"bf16", "fp8"})
    panel.series.push_back(
        {format_label(format),
         {.id = std::string("gemm.size.") + format, .figure = "share_per_clock"}});
  return {.key = "sizes",
          .subject = "Square products: how large for the full rate",
          .how =
              "Small products leave SMs idle, and loading the first tiles and storing the last "
              "ones is not hidden. 100 % is the format's burst, the best of all shapes: a share of "
              "it is "
              "the same share of its TFLOP/s. Products "
              "follow one another, so that small operands come from the L2.",
          .panels = {std::move(panel)}};
}

}  // namespace

void register_gemm_size(Registry& registry) {
  const auto add = [&](const char* format, std::vector<Topic> topics = {}) {
    add_sweep(registry, {"size",
                         format,
                         "Throughput of N x N x N products: the size that fills the GPU",
                         on_gpu([format](auto& bench) { gemm_size(bench, format); }),
                         points_over("n", values_of(kSides), kWarm),
                         {size_curve(format)},
                         {},
                         std::move(topics)});
  };
  add("bf16", {{kSizes, size_title, size_picture()}});
  add("fp8");
}

}  // namespace peakline::bench
