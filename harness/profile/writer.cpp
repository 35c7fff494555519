#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/profile/checks.hpp"
#include "harness/profile/fields.hpp"
#include "harness/profile/json.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"
#include "harness/profile/rows.hpp"

namespace peakline {
namespace profile_format {
namespace {

// Where lines break, for diffs.
enum class Breaks {
  kNone,
  kRows,         // around the rows of a list
  kKeysAndRows,  // and before each key
};

std::string encode(double value, const FieldRule& rule) {
  if (std::isfinite(value)) return json(value);
  if (!rule.gaps) throw ProfileError("a number is infinite or undefined");
  return "null";
}
std::string encode(std::integral auto value, const FieldRule&) { return json(value); }
std::string encode(const std::string& value, const FieldRule&) { return json(value); }
std::string encode(Enumeration auto value, const FieldRule&) { return json(to_string(value)); }
std::string encode(const ParamValue& value, const FieldRule&) {
  return std::visit([](const auto& v) { return json(v); }, value);
}
std::string encode(const Flags& flags, const FieldRule&) {
  std::vector<std::string> names;
  flag_names(flags, [&](const char* name, bool set) {
    if (set) names.push_back(json(name));
  });
  return fmt::format("[{}]", fmt::join(names, ","));
}
template <class T>
std::string encode(const std::vector<T>& values, const FieldRule& rule, Breaks breaks = {});
template <class T>
std::string encode(const std::vector<std::pair<std::string, T>>& named, const FieldRule& rule);
template <Structure T>
std::string encode(const T& structure, const FieldRule& = {}, Breaks breaks = {});

struct Writer {
  Breaks breaks = Breaks::kNone;
  std::string text = "{";

  template <class T>
  void operator()(const char* key, const T& value, const FieldRule& rule = {}) {
    try {
      if constexpr (requires { fields(*this, value.front()); })
        add(key, encode(value, rule, breaks), breaks != Breaks::kNone && !value.empty());
      else
        add(key, encode(value, rule));
    } catch (const ProfileError& error) {
      throw ProfileError(fmt::format("{}: {}", key, error.what()));
    }
  }
  // A value that readers would refuse is written as unknown.
  template <class T>
  void operator()(const char* key, const std::optional<T>& value, const FieldRule& rule = {}) {
    if (!value) return;
    bool valid = true;
    if constexpr (std::same_as<T, double>) valid = std::isfinite(*value);
    if constexpr (std::is_arithmetic_v<T>)
      check(*value, rule, [&](std::string_view) { valid = false; });
    if (valid) (*this)(key, *value, rule);
  }
  template <class T>
  void maybe(const char* key, const T& value, const FieldRule& rule = {},
             const std::type_identity_t<T>& otherwise = {}) {
    if (value != otherwise) (*this)(key, value, rule);
  }
  void rule(const auto&) {}

  void add(std::string_view key, std::string_view value, bool rows = false) {
    const bool lines = breaks == Breaks::kKeysAndRows;
    if (text.size() > 1) text += ',';
    text += fmt::format("{}{}:{}{}",
                        lines  ? "\n"
                        : rows ? " "
                               : "",
                        json(key), lines || rows ? " " : "", value);
  }
};

template <class T>
std::string encode(const std::vector<T>& values, const FieldRule& rule, Breaks breaks) {
  const std::string_view line = breaks == Breaks::kNone || values.empty() ? "" : "\n";
  std::string all = "[";
  for (const T& value : values) {
    if (all.size() > 1) all += ',';
    all += line;
    all += encode(value, rule);
  }
  return fmt::format("{}{}]", all, line);
}
template <class T>
std::string encode(const std::vector<std::pair<std::string, T>>& named, const FieldRule& rule) {
  Writer writer;
  for (auto at = named.begin(); at != named.end(); ++at) {
    if constexpr (std::same_as<T, double>)
      if (!std::isfinite(at->second)) continue;  // unknown
    // The last of several equal names counts.
    if (std::none_of(at + 1, named.end(), [&](const auto& v) { return v.first == at->first; }))
      writer.add(at->first, encode(at->second, rule));
  }
  return writer.text + '}';
}
template <Structure T>
std::string encode(const T& structure, const FieldRule&, Breaks breaks) {
  Writer writer{breaks};
  fields(writer, structure);
  return writer.text + '}';
}

}  // namespace

template <class T>
std::string to_line(const T& row) {
  return encode(row);
}
template std::string to_line(const Ceiling&);
template std::string to_line(const Curve&);
template std::string to_line(const HostFacts&);
template std::string to_line(const MemoryLevel&);
template std::string to_line(const Roofline&);
template std::string to_line(const SoftwareFacts&);

}  // namespace profile_format

using namespace profile_format;

std::string to_json(const Profile& profile) {
  Writer writer{Breaks::kKeysAndRows};
  writer.add("schema", json(kProfileSchema));
  writer.add("schema_version", json(kProfileSchemaVersion));
  fields(writer, profile);
  return writer.text + "\n}\n";
}

std::string to_json(std::span<const Population> populations) {
  std::vector<std::string> all;
  for (const Population& population : populations)
    all.push_back(encode(population, {}, Breaks::kRows));
  Writer writer{Breaks::kKeysAndRows};
  writer.add("schema", json(kPopulationSchema));
  writer.add("schema_version", json(kPopulationSchemaVersion));
  writer.add("populations", fmt::format("[\n{}\n]", fmt::join(all, ",\n")));
  return writer.text + "\n}\n";
}

std::string to_json_line(const Measurement& measurement) { return encode(measurement); }

std::string to_json_line(const DeviceFacts& facts) { return encode(facts); }

}  // namespace peakline
