// Reads what fields.hpp describes. A profile is also one JSON value in UTF-8, without a byte order
// mark and with nothing behind it, without a key twice in an object, and within the limits of
// document.hpp.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <utility>

#include "harness/profile/checks.hpp"
#include "harness/profile/document.hpp"
#include "harness/profile/fields.hpp"
#include "harness/profile/json.hpp"
#include "harness/profile/profile.hpp"
#include "harness/profile/row.hpp"

namespace peakline {
namespace profile_format {
namespace {

bool matches(const std::string& text, std::string_view pattern) {
  struct Compiled {
    std::regex regex;
    std::optional<std::string> matched = {};  // rows in a row often have the same text
  };
  thread_local std::map<std::string_view, Compiled> known;
  auto found = known.find(pattern);
  if (found == known.end()) {
    std::regex regex(pattern.begin(), pattern.end(), std::regex::optimize);
    found = known.try_emplace(pattern, Compiled{std::move(regex)}).first;
  }
  auto& [regex, matched] = found->second;
  if (text == matched) return true;
  if (!std::regex_match(text, regex)) return false;
  matched = text;
  return true;
}

template <class T>
std::string quoted(std::span<const T> texts) {
  std::string list;
  for (const T& text : texts) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", text);
  return list;
}

void decode(const Node& node, double& value, const Rule& rule) {
  if (rule.gaps && node.value.is_null()) {
    value = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  if (!node.value.is_number()) node.expected("a number");
  value = number(node.value);
  if (value == 0 && rule.range != Range::kPositive) return;
  if (value <= 0 && rule.range == Range::kPositive) node.expected("a number above 0");
  if (value < 0 && rule.range != Range::kSigned) node.expected("a number that is not negative");
  if (value > 1 && rule.range == Range::kShare) node.expected("a number from 0 to 1");
  if (std::abs(value) < kLeastMagnitude || std::abs(value) > kMostMagnitude) {
    node.expected(fmt::format("a magnitude from {} to {}", kLeastMagnitude, kMostMagnitude));
  }
}
void decode(const Node& node, bool& value, const Rule&) {
  if (!node.value.is_bool()) node.expected("true or false");
  value = node.value.get_bool().value();
}
// JSON does not tell 1 from 1.0.
bool is_whole(const Value& value) {
  return value.is_int64() || value.is_uint64() ||
         (value.is_double() && std::trunc(number(value)) == number(value));
}
// A whole number as that type; nullopt where it does not fit.
template <Integer T>
std::optional<T> whole(const Value& value) {
  if (value.type() == ValueType::DOUBLE) {
    if (number(value) < -0x1p63 || number(value) >= 0x1p63) return std::nullopt;
    const auto integer = static_cast<std::int64_t>(number(value));
    return std::in_range<T>(integer) ? std::optional(static_cast<T>(integer)) : std::nullopt;
  }
  T integer = 0;
  const auto take = [&](auto known) {
    integer = static_cast<T>(known);
    return std::in_range<T>(known);
  };
  const bool fits = value.type() == ValueType::UINT64 ? take(value.get_uint64().value())
                                                      : take(value.get_int64().value());
  return fits ? std::optional(integer) : std::nullopt;
}
template <Integer T>
void decode(const Node& node, T& value, const Rule& rule) {
  const T least = rule.range == Range::kPositive      ? 1
                  : rule.range == Range::kNotNegative ? 0
                                                      : std::numeric_limits<T>::min();
  if (!is_whole(node.value)) node.expected("a whole number");
  const std::optional<T> found = whole<T>(node.value);
  if (!found || *found < least) {
    node.expected(
        fmt::format("a whole number from {} to {}", least, std::numeric_limits<T>::max()));
  }
  value = *found;
}
void decode(const Node& node, std::string& value, const Rule& rule) {
  if (!node.value.is_string()) node.expected("text");
  value = text(node.value);
  if (!rule.one_of.empty() && std::ranges::find(rule.one_of, value) == rule.one_of.end()) {
    node.expected("one of " + quoted(rule.one_of));
  }
  if (value.size() < rule.min_length) node.expected("text that is not empty");
  if (value.size() > rule.max_length) {
    node.expected(fmt::format("text of up to {} characters", rule.max_length));
  }
  if (!rule.pattern.empty() && !matches(value, rule.pattern)) {
    node.expected(fmt::format("text that matches {}", rule.pattern));
  }
}
template <Enumeration T>
void decode(const Node& node, T& value, const Rule&) {
  static const std::vector<std::string_view> kNames = names_of<T>();
  const auto found =
      node.value.is_string() ? std::ranges::find(kNames, text(node.value)) : kNames.end();
  if (found == kNames.end()) node.expected("one of " + quoted<std::string_view>(kNames));
  value = static_cast<T>(found - kNames.begin());
}
void decode(const Node& node, ParamValue& value, const Rule&) {
  if (node.value.is_string()) {
    value = std::string(text(node.value));
  } else {
    if (!is_whole(node.value)) node.expected("a whole number or text");
    std::int64_t integer = 0;
    decode(node, integer, {.range = Range::kSigned});
    value = integer;
  }
}
void decode(const Node& node, Flags& flags, const Rule&);
template <class T>
void decode(const Node& node, std::vector<T>& values, const Rule& rule);
template <class T>
void decode(const Node& node, std::vector<std::pair<std::string, T>>& named, const Rule& rule);
template <Structure T>
void decode(const Node& node, T& structure, const Rule& rule);
template <class T>
void decode(const Node& node, std::optional<T>& value, const Rule& rule) {
  decode(node, value.emplace(), rule);
}

struct Reader {
  const Node& node;

  template <class T>
  void operator()(const char* key, T& value, const Rule& rule = {}) {
    decode(member(node, key), value, rule);
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& value, const Rule& rule = {}) {
    maybe(key, value, rule);
  }
  template <class T>
  void maybe(const char* key, T& value, const Rule& rule = {},
             const std::type_identity_t<T>& otherwise = {}) {
    if (const auto found = find_member(node, key)) {
      decode(*found, value, rule);
    } else {
      value = otherwise;
    }
  }
  void rule(const auto& rule) { check(node, rule); }
};

template <class T>
void decode(const Node& node, std::vector<T>& values, const Rule& rule) {
  if (!node.value.is_array()) node.expected("an array");
  const auto array = elements(node.value);
  if (array.size() < rule.min_items)
    node.fail(fmt::format("expected at least {} elements, found {}", rule.min_items, array.size()));
  if (array.size() > rule.max_items)
    node.fail(fmt::format("expected up to {} elements, found {}", rule.max_items, array.size()));
  values.clear();
  values.reserve(array.size());
  for (const Value& element : array) {
    Node child = node.child(element, {});
    child.index = values.size();
    decode(child, values.emplace_back(), rule);
  }
}
template <class T>
void decode(const Node& node, std::vector<std::pair<std::string, T>>& named, const Rule& rule) {
  if (!node.value.is_object()) node.expected("an object");
  named.clear();
  for (const auto& [name, element] : members(node.value)) {
    decode(node.child(element, name), named.emplace_back(name, T{}).second, rule);
  }
}
void decode(const Node& node, Flags& flags, const Rule&) {
  std::vector<std::string> names;
  decode(node, names, {});
  flags = {};
  std::size_t known = 0;
  flag_names(flags, [&](const char* name, bool& set) {
    set = std::ranges::find(names, name) != names.end();
    known += set;
  });
  if (known != names.size()) {
    node.fail("expected \"implausible\", \"unstable\" and \"throttled\", each at most once");
  }
}

template <Structure T>
void decode(const Node& node, T& structure, const Rule&) {
  if (!node.value.is_object()) node.expected("an object");
  Reader reader{node};
  fields(reader, structure);
}

}  // namespace

template <class T>
T decoded(const Value& object, std::string_view name) {
  T structure;
  decode(Node{.value = object, .key = name}, structure, {});
  return structure;
}
template PopulationFile decoded(const Value&, std::string_view);

template <class T>
T decoded(std::string_view text, std::string_view name) {
  Document document;
  parse(text, name, document);
  return decoded<T>(document.root, name);
}
template Measurement decoded(std::string_view, std::string_view);
template HostFacts decoded(std::string_view, std::string_view);
template SoftwareFacts decoded(std::string_view, std::string_view);
template DeviceFacts decoded(std::string_view, std::string_view);
template Ceiling decoded(std::string_view, std::string_view);
template Roofline decoded(std::string_view, std::string_view);
template Curve decoded(std::string_view, std::string_view);
template MemoryLevel decoded(std::string_view, std::string_view);

}  // namespace profile_format

using namespace profile_format;

Profile profile_from_json(std::string_view text, std::string_view name) {
  Document document;
  parse(text, name, document);
  const Node root{.value = document.root, .key = name};
  if (!document.root.is_object() || !find(document.root, "schema"))
    root.fail("not a peakline profile");
  const Node schema = member(root, "schema");
  if (!is_text(schema.value, kProfileSchema))
    schema.expected(fmt::format("\"{}\"", kProfileSchema));
  const Node version_node = member(root, "schema_version");
  int version = 0;
  decode(version_node, version, {.range = Range::kPositive});
  if (version < kProfileSchemaVersion) {
    version_node.fail(
        fmt::format("{} is older than the {} that this peakline reads: revision {} reads it",
                    version, kProfileSchemaVersion, kReadsEarlierVersions));
  }
  if (version > kProfileSchemaVersion) {
    version_node.fail(
        fmt::format("{} is newer than the {} that this peakline reads: use a newer one", version,
                    kProfileSchemaVersion));
  }
  Profile profile;
  decode(root, profile, {});
  return profile;
}

Measurement measurement_from_json_line(std::string_view line) {
  return decoded<Measurement>(line, "measurement record");
}

DeviceFacts device_facts_from_json_line(std::string_view line) {
  return decoded<DeviceFacts>(line, "device record");
}

}  // namespace peakline
