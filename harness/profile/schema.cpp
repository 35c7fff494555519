#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/profile/fields.hpp"
#include "harness/profile/json.hpp"
#include "harness/profile/profile.hpp"

namespace peakline {
namespace profile_format {
namespace {

constexpr std::array kRanges = {
    std::pair{Range::kNotNegative, "not_negative"}, std::pair{Range::kPositive, "positive"},
    std::pair{Range::kShare, "share"}, std::pair{Range::kSigned, "signed"}};

// One for each range of numbers.
json number_definitions() {
  const auto between = [](double least, double most) -> json {
    return {{"minimum", least}, {"maximum", most}};
  };
  const json positive = between(kLeastMagnitude, kMostMagnitude);
  const json negative = between(-kMostMagnitude, -kLeastMagnitude);
  const json share = between(kLeastMagnitude, 1.0);
  const auto number = [](const json& any_of) -> json {
    return {{"type", "number"}, {"anyOf", any_of}};
  };
  const json zero = {{"const", 0}};
  return {{"not_negative", number(json::array({zero, positive}))},
          {"positive", number(json::array({positive}))},
          {"share", number(json::array({zero, share}))},
          {"signed", number(json::array({zero, positive, negative}))}};
}

template <class T>
struct Type {};  // which schema is asked for

json schema_of(Type<bool>, const Rule&) { return {{"type", "boolean"}}; }
json schema_of(Type<double>, const Rule& rule) {
  const auto* const named =
      std::ranges::find(kRanges, rule.range, &decltype(kRanges)::value_type::first);
  return {{"$ref", fmt::format("#/definitions/{}", named->second)}};
}
template <Integer T>
json schema_of(Type<T>, const Rule& rule) {
  const T least = rule.range == Range::kPositive      ? 1
                  : rule.range == Range::kNotNegative ? 0
                                                      : std::numeric_limits<T>::min();
  return {{"type", "integer"}, {"minimum", least}, {"maximum", std::numeric_limits<T>::max()}};
}
json schema_of(Type<std::string>, const Rule& rule) {
  json schema = {{"type", "string"}};
  if (!rule.one_of.empty()) schema["enum"] = rule.one_of;
  if (rule.min_length > 0) schema["minLength"] = rule.min_length;
  if (rule.max_length != kUnlimited) schema["maxLength"] = rule.max_length;
  if (!rule.pattern.empty()) schema["pattern"] = rule.pattern;
  return schema;
}
template <Enumeration T>
json schema_of(Type<T>, const Rule&) {
  return {{"enum", names_of<T>()}};
}
json schema_of(Type<ParamValue>, const Rule&) {
  json schema = schema_of(Type<std::int64_t>(), {.range = Range::kSigned});
  schema["type"] = {"integer", "string"};
  return schema;
}
json schema_of(Type<Flags>, const Rule&) {
  json names = json::array();
  const Flags flags;
  flag_names(flags, [&](const char* name, bool) { names.push_back(name); });
  return {{"type", "array"}, {"items", {{"enum", names}}}, {"uniqueItems", true}};
}
template <class T>
json schema_of(Type<std::optional<T>>, const Rule& rule) {
  return schema_of(Type<T>(), rule);
}
template <class T>
json schema_of(Type<std::vector<T>>, const Rule& rule);
template <class T>
json schema_of(Type<std::vector<std::pair<std::string, T>>>, const Rule& rule);
template <Structure T>
json schema_of(Type<T>, const Rule&);

// Allows null by its type where it has one, so that what is wrong deeper inside is named.
json or_null(json schema) {
  const auto type = schema.find("type");
  if (type == schema.end()) return {{"anyOf", {schema, {{"type", "null"}}}}};
  *type = {*type, "null"};
  return schema;
}

struct SchemaWriter {
  // A measurement of its own, what several have in common, what all have.
  enum class Place { kPlain, kRecord, kGroup, kDefaults };

  Place place = Place::kPlain;
  json properties = json::object();
  json required = json::array();
  json definitions = number_definitions();

  template <class T>
  void operator()(const char* key, const T& value, const Rule& rule = {}) {
    add(key, value, rule);
    // It may stand with what several have in common instead.
    if (!rule.shared || place == Place::kPlain) required.push_back(key);
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value, const Rule& rule = {}) {
    maybe(key, value, rule);
  }
  template <class T>
  void maybe(const char* key, const T& value, const Rule& rule = {}, const auto&...) {
    add(key, value, rule);
    if (rule.shared && (place == Place::kRecord || place == Place::kGroup)) {
      properties[key] = described(rule, or_null(schema_of(Type<T>(), rule)));
    }
  }
  void records(const char* key, const std::vector<Measurement>&);

  template <class T>
  void add(const char* key, const T& value, const Rule& rule) {
    if constexpr (std::same_as<T, Conditions>) {
      SchemaWriter writer{place};
      fields(writer, value);
      properties[key] = described(rule, writer.object());
    } else if (only_shared() <= rule.shared) {
      properties[key] = described(rule, schema_of(Type<T>(), rule));
    }
  }
  bool only_shared() const { return place == Place::kGroup || place == Place::kDefaults; }
  static json described(const Rule& rule, const json& schema) {
    json result = json::object();
    if (!rule.what.empty()) result["description"] = rule.what;
    result.update(schema);
    return result;
  }
  json object() const {
    json schema = {{"type", "object"}};
    if (!required.empty() && !only_shared()) schema["required"] = required;
    schema["properties"] = properties;
    if (only_shared()) schema["additionalProperties"] = false;
    return schema;
  }
};

template <class T>
json schema_of(Type<std::vector<T>>, const Rule& rule) {
  json items = schema_of(Type<T>(), rule);
  json schema = {{"type", "array"}, {"items", rule.gaps ? or_null(items) : items}};
  if (rule.max_items != kUnlimited) schema["maxItems"] = rule.max_items;
  return schema;
}
template <class T>
json schema_of(Type<std::vector<std::pair<std::string, T>>>, const Rule& rule) {
  return {{"type", "object"}, {"additionalProperties", schema_of(Type<T>(), rule)}};
}
template <Structure T>
json schema_of(Type<T>, const Rule&) {
  const T structure;
  SchemaWriter writer;
  fields(writer, structure);
  return writer.object();
}

void SchemaWriter::records(const char* key, const std::vector<Measurement>&) {
  const auto object_at = [](Place where) {
    const Measurement structure;
    SchemaWriter writer{where};
    fields(writer, structure);
    return writer.object();
  };
  properties[kDefaults] = described(
      {.what = "What most measurements have in common: the value of each of these members where a "
               "measurement leaves it out. null in a measurement: not known there."},
      object_at(Place::kDefaults));
  json group = object_at(Place::kGroup);
  group["description"] = "Several of a benchmark, below what they have in common.";
  group["properties"][kPoints] = {{"type", "array"}, {"items", {{"$ref", "#/definitions/record"}}}};
  properties[key] = {{"type", "array"},
                     {"items",
                      {{"if", {{"required", {kPoints}}}},
                       {"then", std::move(group)},
                       {"else", {{"$ref", "#/definitions/record"}}}}}};
  definitions["record"] = object_at(Place::kRecord);
  required.push_back(key);
}

// What fits on a line stands on one. `taken`: columns before the value on its line.
std::string pretty(const json& value, std::size_t indent, std::size_t taken) {
  constexpr std::size_t kWidth = 100;
  const std::string line = dump(value);
  if (!value.is_structured() || taken + line.size() < kWidth) return line;
  std::string text;
  for (const auto& [key, element] : value.items()) {
    text += fmt::format("{}\n{:{}}", text.empty() ? "" : ",", "", indent + 2);
    const std::string name = value.is_object() ? dump(key) + ": " : "";
    text += name + pretty(element, indent + 2, indent + 2 + name.size());
  }
  const auto [open, close] = value.is_object() ? std::pair{'{', '}'} : std::pair{'[', ']'};
  return fmt::format("{}{}\n{:{}}{}", open, text, "", indent, close);
}

}  // namespace
}  // namespace profile_format

using namespace profile_format;

std::string profile_schema() {
  const Profile structure;
  SchemaWriter profile;
  fields(profile, structure);
  json properties = {{"schema", {{"const", kProfileSchema}}},
                     {"schema_version", {{"const", kProfileSchemaVersion}}}};
  properties.update(profile.properties);
  json required = {"schema", "schema_version"};
  for (const json& key : profile.required) required.push_back(key);
  return pretty({{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "peakline profile"},
                 {"description",
                  "One run of peakline on one machine. Base SI units: s, B/s, FLOP/s, OP/s, Hz, W. "
                  "What is not known or empty is left out. Readers ignore keys that they do not "
                  "know."},
                 {"type", "object"},
                 {"required", required},
                 {"properties", properties},
                 {"definitions", profile.definitions}},
                0, 0) +
         "\n";
}

}  // namespace peakline
