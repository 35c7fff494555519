#include "harness/values/measurement.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "harness/values/text.hpp"

namespace peakline {
namespace {

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
  return name_of({"s", "B/s", "FLOP/s", "OP/s"}, quantity);
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

std::string_view to_string(Status status) { return name_of({"ok", "skipped", "error"}, status); }
std::string_view to_string(Estimate estimate) {
  return name_of({"median", "trimmed_mean", "fastest_tenth", "mean"}, estimate);
}
std::string_view to_string(VariesWith varies) {
  return name_of({"device", "search", "collectives", "launches", "cpu"}, varies);
}
std::string_view to_string(ClockSource source) {
  return name_of({"kernel", "probe", "nvml"}, source);
}
std::string_view to_string(Basis basis) {
  return name_of({"theoretical", "datasheet", "instruction", "measured", "burst", "sustained",
                  "model_burst", "model_shaped"},
                 basis);
}
std::string to_string(const FigureKey& key) {
  return key.resource + '/' + std::string(to_string(key.basis)) +
         (key.beside_siblings ? "/siblings" : "");
}

std::string_view to_string(Absence absence) {
  return name_of(
      {"unknown", "skipped", "failed", "implausible", "wrong_result", "few_samples", "unreadable"},
      absence);
}

std::string_view to_string(Severity severity) {
  return name_of({"info", "warning", "error"}, severity);
}

bool sound(const Measurement& m) {
  return m.status == Status::kOk && m.value && *m.value > 0 && m.summary && m.summary->median > 0 &&
         !m.flags.implausible && m.verified != false;
}

bool lacks_verification(const Measurement& m) {
  const bool has_result = m.unit != unit_of(Quantity::kTime) || m.work != Work{};
  return m.status == Status::kOk && !m.verified && has_result;
}

const Ceiling* find_ceiling(std::span<const Ceiling> ceilings, std::string_view device,
                            std::string_view resource, Basis basis) {
  const auto row = std::ranges::find_if(ceilings, [&](const Ceiling& c) {
    return c.basis == basis && c.resource == resource && c.device == device;
  });
  return row == ceilings.end() ? nullptr : &*row;
}

}  // namespace peakline
