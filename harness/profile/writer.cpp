#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/profile/fields.hpp"
#include "harness/profile/json.hpp"
#include "harness/profile/profile.hpp"
#include "harness/profile/row.hpp"
#include "harness/statistics/statistics.hpp"

namespace peakline {
namespace profile_format {
namespace {

// One of many short intervals, and what was sampled in it, gets this many digits.
constexpr int kSeriesDigits = 5;

// Measurements share at most this much, so that a reader may bound what each of them takes over.
constexpr std::size_t kMostSharedBytes = 512;

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

// A field that may stand once for several records.
struct SharedKey {
  const char* key;
  bool always;  // each record has it
};

struct SharedKeys {
  std::vector<SharedKey> keys = {};

  template <class T>
  void operator()(const char* key, const T&, const Rule& rule = {}) {
    if (rule.shared) keys.push_back({key, true});
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value, const Rule& rule = {}) {
    maybe(key, value, rule);
  }
  void maybe(const char* key, const auto&, const Rule& rule = {}, const auto&...) {
    if (rule.shared) keys.push_back({key, false});
  }
};

// Moves what more than half of the objects have in common into `shared`. Those that have none get a
// null, so that they are not taken to have the shared value.
void share(const std::vector<json*>& objects, const auto& structure, json& shared) {
  SharedKeys of;
  fields(of, structure);
  for (const auto& [key, always] : of.keys) {
    std::map<json, std::size_t> counts;
    for (const json* object : objects)
      if (const auto found = object->find(key); found != object->end()) ++counts[*found];
    const auto most = std::ranges::max_element(counts, {}, [](const auto& c) { return c.second; });
    if (most == counts.end() || 2 * most->second <= objects.size()) continue;
    if (most->first.is_null() || dump(most->first).size() > kMostSharedBytes) continue;
    shared[key] = most->first;
    for (json* object : objects) {
      const auto found = object->find(key);
      if (found == object->end()) {
        if (!always) (*object)[key] = nullptr;
      } else if (*found == most->first) {
        object->erase(found);
      }
    }
  }
}

// Returns what was taken out of the records.
json take_shared(const std::vector<json*>& records) {
  json shared = json::object(), shared_conditions = json::object();
  std::vector<json*> conditions;
  for (json* record : records) {
    conditions.push_back(&record->emplace(kConditions, json::object()).first.value());
  }
  share(conditions, Conditions(), shared_conditions);
  for (json* record : records)
    if (record->at(kConditions).empty()) record->erase(kConditions);
  share(records, Measurement(), shared);
  if (!shared_conditions.empty()) shared[kConditions] = std::move(shared_conditions);
  return shared;
}
std::vector<json*> pointers(json& array) {
  std::vector<json*> elements;
  for (json& element : array) elements.push_back(&element);
  return elements;
}

// Neighbours of one benchmark and device stand together, below what they have in common.
json grouped(json& records) {
  const auto same = [](const json& a, const json& b) {
    return a["id"] == b["id"] && a["device"] == b["device"];
  };
  json groups = json::array();
  for (auto begin = records.begin(); begin != records.end();) {
    const auto end =
        std::find_if_not(begin, records.end(), [&](const json& r) { return same(*begin, r); });
    if (end - begin == 1) {
      groups.push_back(std::move(*begin));
    } else {
      json points = json::array();
      std::move(begin, end, std::back_inserter(points));
      json group = take_shared(pointers(points));
      group[kPoints] = std::move(points);
      groups.push_back(std::move(group));
    }
    begin = end;
  }
  return groups;
}

// What most groups have in common stands once more, in front of all.
void Writer::records(const char* key, const std::vector<Measurement>& measurements) {
  json records;
  Writer{records}(key, measurements);
  json groups = grouped(records[key]);
  object[kDefaults] = take_shared(pointers(groups));
  object[key] = std::move(groups);
}

// One element a line, so that profiles can be diffed.
std::string lines(const json& array, const auto& line_of) {
  std::string text;
  for (const json& element : array) text += (text.empty() ? "[\n" : ",\n") + line_of(element);
  return text.empty() ? "[]" : text + "\n]";
}

std::string line_of(const json& element) {
  if (!element.contains(kPoints)) return dump(element);
  std::string text;
  for (const auto& [key, value] : element.items()) {
    text += (text.empty() ? "{" : ",") + dump(key) + ":";
    text += key == kPoints ? lines(value, dump) : dump(value);
  }
  return text + "}";
}

// One top-level key and one element of the long arrays a line.
std::string document(const json& object) {
  std::string text = "{\n";
  for (const auto& [key, value] : object.items()) {
    if (text.size() > 2) text += ",\n";
    const bool long_array = value.is_array() && !value.empty() && value.front().is_object();
    text += dump(key) + ": " + (long_array ? lines(value, line_of) : dump(value));
  }
  return text + "\n}\n";
}

// Whether it is the same but for rounding.
bool follows(const std::optional<double>& value, const std::optional<double>& otherwise) {
  constexpr double kRounding = 1e-6;
  return value && otherwise && std::abs(*value - *otherwise) <= kRounding * *otherwise;
}

}  // namespace

std::optional<Summary> summary_of(const std::vector<double>& samples_s) {
  if (samples_s.empty()) return std::nullopt;
  Summary summary = summarize(samples_s);
  round_digits(summary.median);  // of an even number: a mean of two
  return summary;
}

std::optional<double> value_of(const Measurement& m) {
  if (!m.summary) return std::nullopt;
  auto value = value_in(m.unit, m.work, m.summary->median);
  round_digits(value);
  return value;
}

template <class T>
json encoded(const T& structure) {
  return encode(structure);
}
template json encoded(const Measurement&);
template json encoded(const HostFacts&);
template json encoded(const SoftwareFacts&);
template json encoded(const DeviceFacts&);
template json encoded(const Ceiling&);
template json encoded(const Roofline&);
template json encoded(const Curve&);
template json encoded(const MemoryLevel&);

}  // namespace profile_format

using namespace profile_format;

std::string to_json(const Profile& profile) {
  json object = {{"schema", kProfileSchema}, {"schema_version", kProfileSchemaVersion}};
  Writer writer{object};
  fields(writer, profile);
  return document(object);
}

Measurement rounded(Measurement m) {
  const bool summary_follows = !m.samples_s.empty() && m.summary == summarize(m.samples_s);
  const bool value_follows = profile_format::follows(m.value, profile_format::value_of(m));
  round_digits(m.samples_s);
  if (summary_follows) {
    m.summary = summary_of(m.samples_s);
  } else if (m.summary) {
    for (double* v : {&m.summary->median, &m.summary->ci_low, &m.summary->ci_high, &m.summary->min,
                      &m.summary->max}) {
      round_digits(*v);
    }
  }
  round_digits(m.value);
  if (value_follows) m.value = profile_format::value_of(m);
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
