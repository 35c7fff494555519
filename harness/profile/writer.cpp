#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "harness/core/statistics.hpp"
#include "harness/profile/fields.hpp"
#include "harness/profile/json.hpp"
#include "harness/profile/profile.hpp"

namespace peakline {
namespace profile_format {
namespace {

// Clocks and counters that time a sample are good to five digits or so: seven lose nothing and
// keep a profile small.
constexpr int kSignificantDigits = 7;
// Of one of many short intervals, and of what was sampled in it.
constexpr int kSeriesDigits = 5;

void round_digits(double& value, int digits = kSignificantDigits) {
  if (!std::isfinite(value)) return;
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::scientific, digits - 1)
                       .ptr;
  std::from_chars(text.data(), end, value);
}
void round_digits(std::optional<double>& value) {
  if (value) round_digits(*value);
}
void round_digits(std::vector<double>& values, int digits = kSignificantDigits) {
  for (double& value : values) round_digits(value, digits);
}

json encode(double value) {
  if (!std::isfinite(value)) throw ProfileError("a number is infinite or undefined");
  // Whole numbers (bytes, Hz) without the ".0" that says nothing: a fifth of a profile.
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (std::trunc(value) == value && std::abs(value) < kExactIntegers) {
    return static_cast<std::int64_t>(value);
  }
  return value;
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
  void records(const char* key, const std::vector<Measurement>& measurements);
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
      if (!std::isfinite(value)) continue;  // not known
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

// The keys of a structure's fields that measurement_defaults may have.
struct SharedKeys {
  std::vector<const char*> keys = {};
  void operator()(const char* key, const auto&, const Rule& rule = {}) {
    if (rule.shared) keys.push_back(key);
  }
  void maybe(const char*, const auto&, const Rule& = {}, const auto&...) {}
};
std::vector<const char*> shared_keys(const auto& structure) {
  SharedKeys shared;
  fields(shared, structure);
  return shared.keys;
}

// Moves what more than half of the objects have as `key` into `shared`. Those that have none get a
// null, so that they are not taken to have the shared value.
void share(const std::vector<json*>& objects, const char* key, json& shared) {
  std::map<json, std::size_t> counts;
  for (const json* object : objects)
    if (const auto found = object->find(key); found != object->end()) ++counts[*found];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& c) { return c.second; });
  if (most == counts.end() || 2 * most->second <= objects.size()) return;
  shared[key] = most->first;
  for (json* object : objects) {
    const auto found = object->find(key);
    if (found == object->end()) {
      (*object)[key] = nullptr;
    } else if (*found == most->first) {
      object->erase(found);
    }
  }
}

// What was taken out of the records.
json take_shared(json& records) {
  json shared = json::object();
  std::vector<json*> objects, conditions;
  for (json& record : records) {
    objects.push_back(&record);
    conditions.push_back(&record.emplace("conditions", json::object()).first.value());
  }
  json shared_conditions = json::object();
  for (const char* key : shared_keys(Conditions())) share(conditions, key, shared_conditions);
  for (json& record : records)
    if (record["conditions"].empty()) record.erase("conditions");
  for (const char* key : shared_keys(Measurement())) share(objects, key, shared);
  if (!shared_conditions.empty()) shared["conditions"] = std::move(shared_conditions);
  return shared;
}

// What most measurements have in common stands once, in front of them: a fifth of a profile.
void Writer::records(const char* key, const std::vector<Measurement>& measurements) {
  json records;
  Writer{records}(key, measurements);
  object[kDefaults] = take_shared(records[key]);
  object[key] = std::move(records[key]);
}

// One top-level key and one element of the long arrays a line, so that profiles can be diffed.
std::string document(const json& object) {
  std::string text = "{\n";
  for (const auto& [key, value] : object.items()) {
    if (text.size() > 2) text += ",\n";
    text += dump(key) + ": ";
    if (value.is_array() && !value.empty() && value.front().is_object()) {
      text += "[\n";
      for (const json& element : value) {
        if (&element != &value.front()) text += ",\n";
        text += dump(element);
      }
      text += "\n]";
    } else {
      text += dump(value);
    }
  }
  return text + "\n}\n";
}

}  // namespace

std::optional<Summary> summary_of(const std::vector<double>& samples_s) {
  if (samples_s.empty()) return std::nullopt;
  Summary summary = summarize(samples_s);
  round_digits(summary.median);  // of an even number: a mean of two
  return summary;
}

}  // namespace profile_format

using namespace profile_format;

std::string to_json(const Profile& profile) {
  json object = {{"schema", kProfileSchema}, {"schema_version", kProfileSchemaVersion}};
  Writer writer{object};
  fields(writer, profile);
  return document(object);
}

Measurement rounded(Measurement m) {
  const bool follows = !m.samples_s.empty() && m.summary == summarize(m.samples_s);
  round_digits(m.samples_s);
  if (follows) {
    m.summary = summary_of(m.samples_s);
  } else if (m.summary) {
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
