#pragma once

// Curve rules of matrix products. `format` is "bf16", as in ids.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/conclude/benchmark.hpp"

namespace peakline::bench {

// "fp8_e5m2" is "FP8 E5M2", "fp8_accurate" is "FP8 accurate".
std::string format_label(std::string_view format);

// Share of the format's burst rate per clock; nullopt if either clock was not read.
std::optional<double> share_of_burst(const Measurement& m, const CurveView& curve,
                                     std::string_view format);
std::string rate_unit(std::string_view format);
// The burst ceiling of the format.
std::optional<double> burst_of(const CurveView& curve, const std::string& format);

// The rule for one format.
CurveRule rule_of_format(const char* topic, const std::string& format,
                         std::vector<FigureKind> kinds,
                         void (*summarize)(const std::string&, const CurveView&, Figures&));

}  // namespace peakline::bench
