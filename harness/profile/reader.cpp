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
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"
#include "harness/profile/rows.hpp"
#include "harness/profile/versions.hpp"

namespace peakline {
namespace profile_format {
namespace {

void decode(const Node& node, double& value, const FieldRule& rule) {
  const std::optional<double> found = number(node.value);
  const bool gap = rule.gaps && node.value.get<std::nullptr_t>() != nullptr;
  if (!found && !gap) node.expected("a number");
  value = found.value_or(std::numeric_limits<double>::quiet_NaN());
  check(value, rule, node.expecting());
}
void decode(const Node& node, bool& value, const FieldRule&) {
  value = node.get<bool>("true or false");
}
// JSON does not distinguish 1 from 1.0.
template <Integer T>
void decode(const Node& node, T& value, const FieldRule& rule) {
  const double found = number(node.value).value_or(0.5);
  if (std::trunc(found) != found) node.expected("a whole number");
  const auto* const exact = node.value.get<std::int64_t>();
  std::optional<T> whole;  // if it fits
  if (exact != nullptr || (found >= -0x1p63 && found < 0x1p63)) {
    const std::int64_t n = exact != nullptr ? *exact : static_cast<std::int64_t>(found);
    if (std::in_range<T>(n)) whole = static_cast<T>(n);
  }
  check(whole, rule, node.expecting());
  value = *whole;
}
void decode(const Node& node, std::string& value, const FieldRule& rule) {
  value = node.get<std::string_view>("text");
  check(value, rule, node.expecting());
}
template <Enumeration T>
void decode(const Node& node, T& value, const FieldRule&) {
  static const std::vector<std::string_view> kNames = names_of<T>();
  const auto* const name = node.value.get<std::string_view>();
  const auto found = name == nullptr ? kNames.end() : std::ranges::find(kNames, *name);
  if (found == kNames.end()) node.expected("one of " + quoted<std::string_view>(kNames));
  value = static_cast<T>(found - kNames.begin());
}
void decode(const Node& node, ParamValue& value, const FieldRule&) {
  if (const auto* const text = node.value.get<std::string_view>()) {
    value = std::string(*text);
  } else {
    const double found = number(node.value).value_or(0.5);
    if (std::trunc(found) != found) node.expected("a whole number or text");
    decode(node, value.emplace<std::int64_t>(), {.range = Range::kSigned});
  }
}
void decode(const Node& node, Flags& flags, const FieldRule&);
template <class T>
void decode(const Node& node, std::vector<T>& values, const FieldRule& rule);
template <class T>
void decode(const Node& node, std::vector<std::pair<std::string, T>>& named, const FieldRule& rule);
template <Structure T>
void decode(const Node& node, T& structure, const FieldRule& rule);
template <class T>
void decode(const Node& node, std::optional<T>& value, const FieldRule& rule) {
  decode(node, value.emplace(), rule);
}

struct Reader {
  const Node& node;
  Members members{node};

  template <class F>
  void operator()(const char* key, F& value, const FieldRule& rule = {}) {
    decode(members.get(key), value, rule);
  }
  template <class F>
  void operator()(const char* key, std::optional<F>& value, const FieldRule& rule = {}) {
    maybe(key, value, rule);
  }
  template <class F>
  void maybe(const char* key, F& value, const FieldRule& rule = {},
             const std::type_identity_t<F>& otherwise = {}) {
    if (const auto found = members.find(key)) {
      decode(*found, value, rule);
    } else {
      value = otherwise;
    }
  }
  void rule(const auto& rule) { check(node, rule); }
};

template <class T>
void decode(const Node& node, std::vector<T>& values, const FieldRule& rule) {
  const List& list = node.get<List>("an array");
  check_length(node, list.size(), rule);
  values.clear();
  values.reserve(list.size());
  for (const Value& element : list) {
    Node child = node.child(element, {});
    child.index = values.size();
    decode(child, values.emplace_back(), rule);
  }
}
template <class T>
void decode(const Node& node, std::vector<std::pair<std::string, T>>& named,
            const FieldRule& rule) {
  named.clear();
  for (const auto& [name, element] : node.get<Object>("an object"))
    decode(node.child(element, name), named.emplace_back(name, T{}).second, rule);
}
void decode(const Node& node, Flags& flags, const FieldRule&) {
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
void decode(const Node& node, T& structure, const FieldRule&) {
  Reader reader{node};
  fields(reader, structure);
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

// Converts a file of this schema to the newest version. why_old: advice on files that are too old.
void update(Document& document, std::string_view name, std::string_view schema,
            const Versions& versions, std::string_view why_old) {
  const Node root{{.key = name}, document.root};
  Members members(root);
  members.get("schema").require(schema);
  const Node node = members.get("schema_version");
  int version = 0;
  decode(node, version, {.range = Range::kPositive});
  const int oldest =
      versions.conversions.empty() ? versions.newest : versions.conversions.front().from;
  if (version < oldest)
    node.fail(fmt::format("{} is older than the {} that this peakline reads{}", version, oldest,
                          why_old));
  if (version > versions.newest)
    node.fail(fmt::format("{} is newer than the {} that this peakline reads: use a newer one",
                          version, versions.newest));
  for (const Conversion& conversion : versions.conversions)
    if (conversion.from >= version) conversion.convert(std::get<Object>(document.root.of));
}

}  // namespace

template <class T>
T from_line(std::string_view line, std::string_view name) {
  Document document;
  parse(line, name, document);
  T row;
  decode(Node{{.key = name}, document.root}, row, {});
  return row;
}
template Ceiling from_line(std::string_view, std::string_view);
template Curve from_line(std::string_view, std::string_view);
template DeviceFacts from_line(std::string_view, std::string_view);
template HostFacts from_line(std::string_view, std::string_view);
template MemoryLevel from_line(std::string_view, std::string_view);
template Roofline from_line(std::string_view, std::string_view);
template SoftwareFacts from_line(std::string_view, std::string_view);

}  // namespace profile_format

using namespace profile_format;

Profile profile_format::profile_from_json(std::string_view text, std::string_view name,
                                          const Versions& versions) {
  Document document;
  parse(text, name, document);
  const Node root{{.key = name}, document.root};
  if (!root.value.get<Object>() || !Members(root).find("schema"))
    root.fail("not a peakline profile");
  update(document, name, kProfileSchema, versions,
         fmt::format(": revision {} reads it", kReadsEarlierVersions));
  Profile profile;
  decode(root, profile, {});
  derive_from_words(profile);
  if (!Members(root).find("asked")) profile.asked = asked_of(profile.command);
  return profile;
}

std::vector<Population> profile_format::populations_from_json(std::string_view text,
                                                              std::string_view name,
                                                              const Versions& versions) {
  Document document;
  parse(text, name, document);
  update(document, name, kPopulationSchema, versions, "");
  PopulationFile file;
  decode(Node{{.key = name}, document.root}, file, {});
  return std::move(file.populations);
}

Profile profile_from_json(std::string_view text, std::string_view name) {
  return profile_format::profile_from_json(text, name, kProfileVersions);
}

std::vector<Population> populations_from_json(std::string_view text, std::string_view name) {
  return profile_format::populations_from_json(text, name, kPopulationVersions);
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
  return from_line<Measurement>(line, "measurement record");
}

DeviceFacts device_facts_from_json_line(std::string_view line) {
  return from_line<DeviceFacts>(line, "device record");
}

}  // namespace peakline
