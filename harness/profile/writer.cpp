#include <fmt/format.h>

#include <cmath>

#include "harness/profile/fields.hpp"
#include "harness/profile/json.hpp"
#include "harness/profile/population.hpp"
#include "harness/profile/profile.hpp"

namespace peakline {
namespace profile_format {
namespace {

// Digits of a time series: short intervals are imprecise.
constexpr int kSeriesDigits = 5;

json encode(double value) {
  if (!std::isfinite(value)) throw ProfileError("a number is infinite or undefined");
  return as_written(value);
}
json encode(bool value) { return value; }
json encode(Integer auto value) { return value; }
json encode(const std::string& value) { return value; }
json encode(Enumeration auto value) { return std::string(to_string(value)); }
json encode(const ParamValue& value) {
  return std::visit([](const auto& v) { return json(v); }, value);
}
json encode(const Flags& flags) {
  json names = json::array();
  flag_names(flags, [&](const char* name, bool set) {
    if (set) names.push_back(name);
  });
  return names;
}
template <class T>
json encode(const std::vector<T>& values);
template <class T>
json encode(const std::vector<std::pair<std::string, T>>& named);
template <Structure T>
json encode(const T& structure);

json encode_with_gaps(const std::vector<double>& values) {
  json array = json::array();
  for (const double v : values) array.push_back(std::isfinite(v) ? encode(v) : json(nullptr));
  return array;
}

struct Writer {
  json& object;

  template <class T>
  void operator()(const char* key, const T& value, const Rule& rule = {}) {
    try {
      if constexpr (std::same_as<T, std::vector<double>>) {
        object[key] = rule.gaps ? encode_with_gaps(value) : encode(value);
      } else {
        object[key] = encode(value);
      }
    } catch (const ProfileError& error) {
      throw ProfileError(fmt::format("{}: {}", key, error.what()));
    }
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value, const Rule& rule = {}) {
    if (!value) return;
    if constexpr (std::same_as<T, double>) {
      if (!std::isfinite(*value)) return;
    }
    (*this)(key, *value, rule);
  }
  template <class T>
  void maybe(const char* key, const T& value, const Rule& rule = {},
             const std::type_identity_t<T>& otherwise = {}) {
    if (value != otherwise) (*this)(key, value, rule);
  }
  void rule(const auto&) {}
};

template <class T>
json encode(const std::vector<T>& values) {
  json array = json::array();
  for (const T& value : values) array.push_back(encode(value));
  return array;
}
template <class T>
json encode(const std::vector<std::pair<std::string, T>>& named) {
  json object = json::object();
  for (const auto& [name, value] : named) {
    if constexpr (std::same_as<T, double>) {
      if (!std::isfinite(value)) continue;  // unknown
    }
    object[name] = encode(value);
  }
  return object;
}
template <Structure T>
json encode(const T& structure) {
  json object = json::object();
  Writer writer{object};
  fields(writer, structure);
  return object;
}

// One element per line, for diffs.
std::string lines(const json& array) {
  std::string text;
  for (const json& element : array) text += (text.empty() ? "[\n" : ",\n") + dump(element);
  return text.empty() ? "[]" : text + "\n]";
}

// One top-level key, or one element of a long list, per line.
std::string document(const json& object) {
  std::string text = "{\n";
  for (const auto& [key, value] : object.items()) {
    if (text.size() > 2) text += ",\n";
    const bool long_array = value.is_array() && !value.empty() && value.front().is_object();
    text += dump(key) + ": " + (long_array ? lines(value) : dump(value));
  }
  return text + "\n}\n";
}

// One figure per line, for diffs.
std::string text_of(const Population& population) {
  json object = encode(population);
  const std::string figures = lines(object["figures"]);
  object.erase("figures");
  std::string text = dump(object);
  text.pop_back();
  return fmt::format("{}, \"figures\": {}}}", text, figures);
}

}  // namespace
}  // namespace profile_format

using namespace profile_format;

std::string to_json(const Profile& profile) {
  json object = {{"schema", kProfileSchema}, {"schema_version", kProfileSchemaVersion}};
  Writer writer{object};
  fields(writer, profile);
  return document(object);
}

std::string to_json(std::span<const Population> populations) {
  std::string all;
  for (const Population& population : populations)
    all += fmt::format("{}\n{}", all.empty() ? "" : ",", text_of(population));
  return fmt::format(
      "{{\n\"schema\": \"{}\",\n\"schema_version\": {},\n\"populations\": [{}\n]\n}}\n",
      kPopulationSchema, kPopulationSchemaVersion, all);
}

Measurement rounded(Measurement m) {
  round_digits(m.samples_s);
  if (m.summary) {
    for (double* v : {&m.summary->median, &m.summary->ci_low, &m.summary->ci_high, &m.summary->min,
                      &m.summary->max}) {
      round_digits(*v);
    }
  }
  round_digits(m.value);
  m.duration_s = std::round(m.duration_s * 1e3) / 1e3;
  Conditions& conditions = m.conditions;
  for (auto* v :
       {&conditions.sm_clock_hz, &conditions.memory_clock_hz, &conditions.power_w,
        &conditions.temperature_c, &conditions.utilization, &conditions.power_cap_share}) {
    round_digits(*v);
  }
  Series& series = m.series;
  for (auto* column : {&series.time_s, &series.rate, &series.sm_clock_hz, &series.power_w,
                       &series.temperature_c}) {
    round_digits(*column, kSeriesDigits);
  }
  return m;
}

std::string to_json_line(const Measurement& measurement) {
  return dump(encode(rounded(measurement)));
}

std::string to_json_line(const DeviceFacts& facts) { return dump(encode(facts)); }

}  // namespace peakline
