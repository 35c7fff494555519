// Reads what fields.hpp describes.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "harness/profile/checks.hpp"
#include "harness/profile/command.hpp"
#include "harness/profile/document.hpp"
#include "harness/profile/fields.hpp"
#include "harness/profile/population.hpp"
#include "harness/profile/profile.hpp"

namespace peakline {
namespace profile_format {
namespace {

void decode(const Node& node, double& value, const Rule& rule) {
  if (rule.gaps && node.value.is_null()) {
    value = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  if (node.value.get(value) != simdjson::SUCCESS) node.expected("a number");
  check(value, rule, node.expecting());
}
void decode(const Node& node, bool& value, const Rule&) {
  if (node.value.get(value) != simdjson::SUCCESS) node.expected("true or false");
}
// JSON does not distinguish 1 from 1.0.
bool is_whole(const Value& value) {
  return value.is_int64() || (value.is_number() && std::trunc(number(value)) == number(value));
}
// An integer; nullopt if it does not fit the type.
template <Integer T>
std::optional<T> whole(const Value& value) {
  const auto fitting = [](auto n) {
    return std::in_range<T>(n) ? std::optional(static_cast<T>(n)) : std::nullopt;
  };
  if (value.is_int64()) return fitting(value.get_int64().value());
  if (value.is_uint64()) return fitting(value.get_uint64().value());
  const double n = number(value);
  if (n < -0x1p63 || n >= 0x1p63) return std::nullopt;
  return fitting(static_cast<std::int64_t>(n));
}
template <Integer T>
void decode(const Node& node, T& value, const Rule& rule) {
  if (!is_whole(node.value)) node.expected("a whole number");
  const std::optional<T> found = whole<T>(node.value);
  check(found, rule, node.expecting());
  value = *found;
}
void decode(const Node& node, std::string& value, const Rule& rule) {
  if (!node.value.is_string()) node.expected("text");
  value = text(node.value);
  check(value, rule, node.expecting());
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

template <Structure T>
struct Reader {
  const Node& node;
  T& structure;
  Members members{node};

  template <class F>
  void operator()(const char* key, F& value, const Rule& rule = {}) {
    decode(members.get(key), value, rule);
  }
  template <class F>
  void operator()(const char* key, std::optional<F>& value, const Rule& rule = {}) {
    maybe(key, value, rule);
  }
  template <class F>
  void maybe(const char* key, F& value, const Rule& rule = {},
             const std::type_identity_t<F>& otherwise = {}) {
    if (const auto found = members.find(key)) {
      decode(*found, value, rule);
    } else {
      value = otherwise;
    }
  }
  void rule(const auto& rule) { check(node, fields_of(structure), rule); }
};

template <class T>
void decode(const Node& node, std::vector<T>& values, const Rule& rule) {
  if (!node.value.is_array()) node.expected("an array");
  const auto array = elements(node.value);
  check_length(node, array.size(), rule);
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
  Reader<T> reader{node, structure};
  fields(reader, structure);
}

template <class T>
T decoded(std::string_view text, std::string_view name) {
  Document document;
  parse(text, name, document);
  T structure;
  decode(Node{{.key = name}, document.root}, structure, {});
  return structure;
}

// Profiles of versions before `why` and `never_run` say both only in words.
void derive_from_words(Profile& profile) {
  static constexpr std::array<std::pair<std::string_view, Absence>, 6> kBeginnings = {
      {{"skipped", Absence::kSkipped},
       {"failed", Absence::kFailed},
       {"implausible", Absence::kImplausible},
       {"wrong result", Absence::kWrongResult},
       {"too few samples", Absence::kFewSamples},
       {"left out", Absence::kUnreadable}}};
  for (MissingCeiling& row : profile.missing_ceilings)
    for (const auto& [beginning, why] : kBeginnings)
      if (row.why == Absence::kUnknown && row.reason.starts_with(beginning)) row.why = why;
  for (Measurement& m : profile.measurements)
    if (m.status == Status::kSkipped && m.reason.starts_with(kFailedWhereNeverRun))
      m.never_run = true;
}

void check_version(const Node& node) {
  int version = 0;
  decode(node, version, {.range = Range::kPositive});
  if (version < kProfileSchemaVersion)
    node.fail(fmt::format("{} is older than the {} that this peakline reads: revision {} reads it",
                          version, kProfileSchemaVersion, kReadsEarlierVersions));
  if (version > kProfileSchemaVersion)
    node.fail(fmt::format("{} is newer than the {} that this peakline reads: use a newer one",
                          version, kProfileSchemaVersion));
}

}  // namespace
}  // namespace profile_format

using namespace profile_format;

Profile profile_from_json(std::string_view text, std::string_view name) {
  Document document;
  parse(text, name, document);
  const Node root{{.key = name}, document.root};
  if (!root.value.is_object()) root.fail("not a peakline profile");
  Members members(root);
  const auto schema = members.find("schema");
  if (!schema) root.fail("not a peakline profile");
  schema->require(kProfileSchema);
  check_version(members.get("schema_version"));
  Profile profile;
  decode(root, profile, {});
  derive_from_words(profile);
  if (!members.find("asked")) profile.asked = asked_of(profile.command);
  return profile;
}

std::vector<Population> populations_from_json(std::string_view text, std::string_view name) {
  Document document;
  parse(text, name, document);
  const Node root{{.key = name}, document.root};
  Members members(root);
  members.get("schema").require(kPopulationSchema);
  const Node version = members.get("schema_version");
  if (!version.value.is_number() || number(version.value) != kPopulationSchemaVersion)
    version.expected(std::to_string(kPopulationSchemaVersion));
  PopulationFile file;
  decode(root, file, {});
  return std::move(file.populations);
}

bool is_population(std::string_view text) {
  // The schema is the first key, as it is written.
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::string schema = fmt::format("{{\"schema\":\"{}\"", kPopulationSchema);
  std::size_t at = 0;
  for (const char c : schema) {
    at = text.find_first_not_of(kBlanks, at);
    if (at == text.npos || text[at++] != c) return false;
  }
  return true;
}

Measurement measurement_from_json_line(std::string_view line) {
  return decoded<Measurement>(line, "measurement record");
}

DeviceFacts device_facts_from_json_line(std::string_view line) {
  return decoded<DeviceFacts>(line, "device record");
}

}  // namespace peakline
