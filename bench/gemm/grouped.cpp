// What do products in groups reach, as the experts of a mixture run them?

#include "bench/gemm/curves.hpp"
#include "bench/gemm/formats.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void gemm_grouped(CudaBench& bench, bool skewed);

namespace {

constexpr const char* kTopic = "grouped products";
// From a decoding batch to a prefill: tokens that each expert gets on average.
constexpr std::array<std::int64_t, 4> kTokens = {16, 64, 256, 1024};

// By tokens per expert the rate, its clock, and its share per clock of one large product's.
void summarize(const CurveView& curve, Figures& figures) {
  for (const CurvePoint& point : sweep(curve, "tokens")) {
    const Params by = {{"tokens", std::llround(point.x)}};
    figures.add("rate", point.value(), by);
    if (const auto& clock_hz = point.m->conditions.sm_clock_hz) figures.add("clock", *clock_hz, by);
    if (const auto share = share_of_burst(*point.m, curve, "bf16"))
      figures.add("share_per_clock", *share, by);
  }
}

std::string title(const TitleView& view) {
  std::vector<std::string> rates;
  for (const Figure* rate : view.all({.id = "gemm.grouped.even", .name = "rate"}))
    rates.push_back(fmt::format("{} at {}{}", format_rate(rate->value, "FLOP/s"),
                                *int_param(rate->by, "tokens"),
                                rates.empty() ? " tokens each" : ""));
  if (rates.empty()) throw Missing();
  return fmt::format("BF16 GEMMs of 64 experts reach {}; one large GEMM {}", joined(rates),
                     format_rate(view.ceiling("tensor.bf16", Basis::kBurst).value, "FLOP/s"));
}

Picture picture() {
  const auto by = [](const char* id) { return Numbers{.id = id, .figure = "rate"}; };
  return {.key = "grouped",
          .subject = "Grouped GEMMs: the experts of a mixture",
          .how =
              "64 BF16 GEMMs of K 4096 and N 2048 at once, one of each expert's tokens, by the "
              "faster of cuBLAS's grouped GEMM and cuBLASLt on eight streams: other libraries may "
              "be faster, so no peak is taken from it. Skewed gives the experts tokens by a 1/rank "
              "law. With few tokens, reading the weights sets the time, whatever the clock.",
          .panels = {
              {.over = "tokens",
               .x = count_axis("mean tokens of an expert"),
               .y = {.label = "TFLOP/s", .per = 1e12, .low = 0},
               .series = {{"even", by("gemm.grouped.even")}, {"skewed", by("gemm.grouped.skewed")}},
               .marks = {{.label = "one large GEMM",
                          .resource = "tensor.bf16",
                          .basis = std::string(to_string(Basis::kBurst))}}}}};
}

}  // namespace

void register_gemm_grouped(Registry& registry) {
  const auto add = [&](const char* id, const char* what, bool skewed, std::vector<Topic> topics) {
    registry.add({.id = id,
                  .what = what,
                  .work = "2 x tokens x N x K FLOP, of all experts together",
                  .quantity = Quantity::kFlopRate,
                  .loads = Loads::kCores,
                  .limit = limit_of(product_format("bf16")),
                  .curves = {{kTopic,
                              {{"rate", "FLOP/s", {"tokens"}},
                               {"clock", "Hz", {"tokens"}},
                               {"share_per_clock", unit::kShare, {"tokens"}}},
                              summarize}},
                  .topics = std::move(topics),
                  .points = points_over("tokens", values_of(kTokens),
                                        {.phase = Phase::kWarm, .seconds = 0.2})},
                 on_gpu([skewed](auto& bench) { gemm_grouped(bench, skewed); }));
  };
  add("gemm.grouped.even",
      "BF16 products of 64 experts, all with as many tokens, by tokens per expert", false,
      {{kTopic, title, picture()}});
  add("gemm.grouped.skewed",
      "BF16 products of 64 experts, tokens by a 1/rank law, by mean tokens per expert", true, {});
}

}  // namespace peakline::bench
