#include "harness/core/measurement.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace peakline {
namespace {

template <class E, std::size_t N>
using Names = std::array<std::pair<E, std::string_view>, N>;

constexpr Names<Status, 3> kStatusNames{
    {{Status::kOk, "ok"}, {Status::kSkipped, "skipped"}, {Status::kError, "error"}}};
constexpr Names<Estimate, 2> kEstimateNames{
    {{Estimate::kMedian, "median"}, {Estimate::kFastestTenth, "fastest_tenth"}}};
constexpr Names<ClockSource, 3> kClockSourceNames{{{ClockSource::kKernel, "kernel"},
                                                   {ClockSource::kProbe, "probe"},
                                                   {ClockSource::kNvml, "nvml"}}};
constexpr Names<Basis, 8> kBasisNames{{{Basis::kTheoretical, "theoretical"},
                                       {Basis::kDatasheet, "datasheet"},
                                       {Basis::kInstruction, "instruction"},
                                       {Basis::kMeasured, "measured"},
                                       {Basis::kBurst, "burst"},
                                       {Basis::kSustained, "sustained"},
                                       {Basis::kModelBurst, "model_burst"},
                                       {Basis::kModelShaped, "model_shaped"}}};
constexpr Names<Severity, 3> kSeverityNames{
    {{Severity::kInfo, "info"}, {Severity::kWarning, "warning"}, {Severity::kError, "error"}}};

template <class E, std::size_t N>
std::string_view name_of(const Names<E, N>& names, E value) {
  for (const auto& [candidate, name] : names)
    if (candidate == value) return name;
  return "";
}

// That a text begins with.
std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string to_string(const ParamValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  return std::get<std::string>(value);
}

std::string point_name(std::string_view id, const Params& params) {
  std::string name(id);
  for (const auto& [key, value] : params) name += "/" + key + ":" + to_string(value);
  return name;
}

const ParamValue* find_param(const Params& params, std::string_view name) {
  for (const auto& [key, value] : params)
    if (key == name) return &value;
  return nullptr;
}

std::optional<std::int64_t> int_param(const Params& params, std::string_view name) {
  const ParamValue* value = find_param(params, name);
  if (value == nullptr || !std::holds_alternative<std::int64_t>(*value)) return std::nullopt;
  return std::get<std::int64_t>(*value);
}

std::optional<std::string> text_param(const Params& params, std::string_view name) {
  const ParamValue* value = find_param(params, name);
  if (value == nullptr || !std::holds_alternative<std::string>(*value)) return std::nullopt;
  return std::get<std::string>(*value);
}

std::string_view unit_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::kTime:
      return "s";
    case Quantity::kByteRate:
      return "B/s";
    case Quantity::kFlopRate:
      return "FLOP/s";
    case Quantity::kOpRate:
      return "OP/s";
  }
  return "";
}

std::optional<double> value_in(std::string_view unit, const Work& work, double time_s) {
  if (unit == unit_of(Quantity::kTime)) return time_s;
  if (unit == unit_of(Quantity::kByteRate)) return work.bytes() / time_s;
  if (unit == unit_of(Quantity::kFlopRate) || unit == unit_of(Quantity::kOpRate)) {
    return work.flops / time_s;
  }
  return std::nullopt;
}

void round_digits(double& value, int digits) {
  if (!std::isfinite(value)) return;
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::scientific, digits - 1)
                       .ptr;
  std::from_chars(text.data(), end, value);
}
void round_digits(std::optional<double>& value, int digits) {
  if (value) round_digits(*value, digits);
}
void round_digits(std::vector<double>& values, int digits) {
  for (double& value : values) round_digits(value, digits);
}

std::optional<int> first_gpu(const Params& params) {
  if (const auto gpu = int_param(params, "gpu")) return static_cast<int>(*gpu);
  return number(text_param(params, "pair").value_or(""));
}

std::optional<int> second_gpu(const Params& params) {
  const std::string pair = text_param(params, "pair").value_or("");
  const auto dash = pair.find('-');
  return dash == pair.npos ? std::nullopt : number(std::string_view(pair).substr(dash + 1));
}

std::string_view to_string(Status status) { return name_of(kStatusNames, status); }
std::string_view to_string(Estimate estimate) { return name_of(kEstimateNames, estimate); }

std::string_view to_string(ClockSource source) { return name_of(kClockSourceNames, source); }
std::string_view to_string(Basis basis) { return name_of(kBasisNames, basis); }
std::string_view to_string(Severity severity) { return name_of(kSeverityNames, severity); }

}  // namespace peakline
