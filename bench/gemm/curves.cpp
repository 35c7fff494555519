#include "bench/gemm/curves.hpp"

#include "bench/question.hpp"

namespace peakline::bench {

std::string format_label(std::string_view format) {
  const std::size_t end = std::min(format.find('_'), format.size());
  std::string label = upper(format.substr(0, end));
  if (end < format.size()) {
    const std::string_view other = format.substr(end + 1);
    label += " " + (other.starts_with("e5") ? upper(other) : std::string(other));
    std::ranges::replace(label, '_', ' ');
  }
  return label;
}

std::string rate_unit(std::string_view format) { return format == "int8" ? "OP/s" : "FLOP/s"; }

std::optional<double> burst_of(const CurveView& curve, const std::string& format) {
  return curve.ceiling("tensor." + format, Basis::kBurst);
}

CurveRule rule_of_format(const char* topic, const std::string& format,
                         std::vector<FigureKind> kinds,
                         void (*summarize)(const std::string&, const CurveView&, Figures&)) {
  return {topic, std::move(kinds),
          [=](const CurveView& curve, Figures& figures) { summarize(format, curve, figures); }};
}

std::optional<double> share_of_burst(const Measurement& m, const CurveView& curve,
                                     std::string_view format) {
  const Measurement* burst =
      curve.measurement(fmt::format("gemm.{}/load:burst", format.substr(0, format.find('_'))));
  return burst ? share_per_clock(m, *burst) : std::nullopt;
}

}  // namespace peakline::bench
