#include "bench/gemm/curves.hpp"

#include "bench/question.hpp"

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

std::string rate_of(const Measurement& m) { return format_value(*m.value, m.unit); }

std::string rate_unit(std::string_view format) { return format == "int8" ? "OP/s" : "FLOP/s"; }

std::optional<double> burst_of(const CurveView& curve, const std::string& format) {
  return curve.ceiling("tensor." + format, Basis::kBurst);
}

CurveRule rule_of_format(const char* topic, const std::string& format,
                         std::vector<FigureKind> figures,
                         void (*summarize)(const std::string&, const CurveView&, Sentence&)) {
  return {topic, std::move(figures),
          [=](const CurveView& curve, Sentence& sentence) { summarize(format, curve, sentence); }};
}

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

}  // namespace peakline::bench
