// How large must a square product be to reach the format's burst rate?

#include "bench/gemm/curves.hpp"
#include "bench/gemm/shapes.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void gemm_size(CudaBench& bench, std::string_view format);

namespace {

constexpr const char* kSizes = "GEMM sizes";
constexpr const char *kShare = "share_per_clock", *kRate = "rate_at_burst_clock";
constexpr std::array<std::int64_t, 13> kSides = {256,  512,  1024, 1536, 2048,  2560, 3072,
                                                 4096, 5120, 6144, 8192, 12288, 16384};

// The share of burst per clock, and the rate at the burst's clock, by n.
CurveRule size_curve(const std::string& format) {
  return {kSizes,
          {{kShare, unit::kShare, {"format", "n"}, role::kShareOfSide},
           {kRate, "FLOP/s", {"format", "n"}}},
          [format](const CurveView& curve, Figures& figures) {
            for (const CurvePoint& point : sweep(curve, "n")) {
              const auto share = share_of_burst(*point.m, curve, format);
              if (!share) continue;
              const Params by = {{"format", format}, {"n", std::llround(point.x)}};
              figures.add(kShare, *share, by);
              if (const auto burst = burst_of(curve, format))
                figures.add(kRate, *share * *burst, by);
            }
          }};
}

std::string size_title(const TitleView& view) {
  std::map<std::string, std::map<std::int64_t, double>> formats;
  for (const Figure* share : view.all({.name = kShare}))
    formats[*text_param(share->by, "format")].emplace(*int_param(share->by, "n"), share->value);
  const std::string full = fmt::format("{:.0f} %", 100 * role::kFullShare);
  constexpr std::int64_t kTold = 2048;
  std::vector<std::string> sizes, rates;
  for (const auto& [format, shares] : formats) {
    const auto between = full_between(shares);
    if (!between) continue;
    sizes.push_back(
        fmt::format("{} and {} in {}", between->first, between->second, format_label(format)));
    const Figure* told = view.find({.name = kRate, .by = {{"format", format}, {"n", kTold}}});
    if (const auto share = shares.find(kTold); told != nullptr && share != shares.end())
      rates.push_back(fmt::format("{} in {} ({})", format_rate(told->value, "FLOP/s"),
                                  format_label(format), format_percent(share->second)));
  }
  if (!sizes.empty())
    return fmt::format(
        "N x N x N GEMMs reach {} of burst at equal clock between N = {}{}", full,
        fmt::join(sizes, ", "),
        rates.empty() ? "" : fmt::format("; at N = {} {}", kTold, fmt::join(rates, ", ")));
  const auto& shares = formats.begin()->second;
  if (shares.rbegin()->second >= role::kFullShare) throw Missing();
  return fmt::format("N x N x N GEMMs stay below {} of burst at equal clock up to N = {}", full,
                     shares.rbegin()->first);
}

Picture size_picture() {
  Panel panel{.over = "n",
              .x = count_axis("N, rows and columns"),
              .y = percent_axis("% of burst at equal clock", 105),
              .series = {},
              .marks = {{.label = format_percent(role::kFullShare), .value = role::kFullShare}}};
  for (const char* format : {"bf16", "fp8"})
    panel.series.push_back(
        {format_label(format),
         {.id = std::string("gemm.size.") + format, .figure = "share_per_clock"}});
  return {.key = "sizes",
          .subject = "Square products: how large for the full rate",
          .how =
              "Small products leave SMs idle, and loading the first tiles and storing the last "
              "ones is not hidden. 100 % is the format's burst, the best of all shapes. Products "
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
