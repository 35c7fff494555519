#include "bench/gemm/curves.hpp"
#include "bench/question.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/profile.hpp"

namespace peakline::bench {

std::string format_label(std::string_view format) {
  const std::size_t end = std::min(format.find('_'), format.size());
  std::string label = upper(format.substr(0, end));
  if (end < format.size()) {
    const std::string_view other = format.substr(end + 1);
    label += " " + (other.starts_with("e5") ? upper(other) : std::string(other));
  }
  return label;
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
  const Figure& least = view.least({.name = "share_of_burst"});
  const std::string variant = *text_param(least.by, "variant");
  return fmt::format("{} {} GEMMs keep {} of their burst rate per clock",
                     variant == "cold L2" ? "With a cold L2 cache" : "In layout " + variant,
                     format_label(*text_param(least.by, "format")), format_percent(least.value));
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
  if (const Figure* rest = view.find({.name = "equilibrium_after"}))
    text += fmt::format("; the temperature settles after {:.0f} s", rest->value);
  return text;
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

std::string waves_title(const TitleView& view) {
  return fmt::format("Just past a full wave one kernel runs at {} of its rate, the best one at {}",
                     format_percent(view.value({.name = "share_past_edge"})),
                     format_percent(view.value({.name = "best_share_past_edge"})));
}

std::string skinny_title(const TitleView& view) {
  const Figure* half = view.find({.name = "half_burst_m", .by = {{"format", "bf16"}}});
  if (half == nullptr) half = &view.figure({.name = "half_burst_m"});
  return fmt::format("{} needs {:.0f} rows for half of its burst rate",
                     format_label(*text_param(half->by, "format")), half->value);
}

std::string model_layer_title(const TitleView& view) {
  // Figures of BF16 if it was measured, at the most tokens: one per hidden size.
  std::vector<const Figure*> layers;
  const auto rank = [](const Figure& f) {
    return std::pair(text_param(f.by, "format") == "bf16", *int_param(f.by, "tokens"));
  };
  for (const Figure* share : view.all({.name = "share_per_clock", .by = {{"part", "layer"}}})) {
    if (!layers.empty() && rank(*share) > rank(*layers[0])) layers.clear();
    if (layers.empty() || rank(*share) == rank(*layers[0])) layers.push_back(share);
  }
  std::ranges::sort(layers, {}, [](const Figure* f) { return *int_param(f->by, "hidden"); });
  std::vector<std::string> shares;
  for (const Figure* share : layers)
    shares.push_back(fmt::format("{} (hidden size {})", format_percent(share->value),
                                 *int_param(share->by, "hidden")));
  return fmt::format("At {} tokens {} layers keep {} of the burst rate per clock",
                     *int_param(layers[0]->by, "tokens"),
                     format_label(*text_param(layers[0]->by, "format")),
                     fmt::join(shares, " and "));
}

}  // namespace peakline::bench
