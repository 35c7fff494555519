#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/profile/document.hpp"
#include "harness/profile/fields.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"
#include "harness/values/resources.hpp"

namespace peakline {
namespace profile_format {
namespace {

// Keeps the order of keys.
using Json = nlohmann::ordered_json;

constexpr std::array kRanges = {
    std::pair{Range::kNotNegative, "not_negative"}, std::pair{Range::kPositive, "positive"},
    std::pair{Range::kShare, "share"}, std::pair{Range::kSigned, "signed"}};

// One per numeric range.
Json number_definitions() {
  const auto between = [](double least, double most) -> Json {
    return {{"minimum", least}, {"maximum", most}};
  };
  const Json positive = between(kLeastMagnitude, kMostMagnitude);
  const Json negative = between(-kMostMagnitude, -kLeastMagnitude);
  const Json share = between(kLeastMagnitude, 1.0);
  const auto number = [](const Json& any_of) -> Json {
    return {{"type", "number"}, {"anyOf", any_of}};
  };
  const Json zero = {{"const", 0}};
  return {{"not_negative", number(Json::array({zero, positive}))},
          {"positive", number(Json::array({positive}))},
          {"share", number(Json::array({zero, share}))},
          {"signed", number(Json::array({zero, positive, negative}))}};
}

template <class T>
struct Type {};  // selects an overload

Json schema_of(Type<bool>, const FieldRule&) { return {{"type", "boolean"}}; }
Json schema_of(Type<double>, const FieldRule& rule) {
  const auto* const named =
      std::ranges::find(kRanges, rule.range, &decltype(kRanges)::value_type::first);
  return {{"$ref", fmt::format("#/definitions/{}", named->second)}};
}
template <Integer T>
Json schema_of(Type<T>, const FieldRule& rule) {
  return {{"type", "integer"},
          {"minimum", least_of<T>(rule)},
          {"maximum", std::numeric_limits<T>::max()}};
}
Json schema_of(Type<std::string>, const FieldRule& rule) {
  Json schema = {{"type", "string"}};
  if (!rule.one_of.empty()) schema["enum"] = rule.one_of;
  if (rule.min_length > 0) schema["minLength"] = rule.min_length;
  if (rule.max_length != kUnlimited) schema["maxLength"] = rule.max_length;
  if (!rule.pattern.empty()) schema["pattern"] = rule.pattern;
  if (!rule.example.empty()) schema["examples"] = {rule.example};
  return schema;
}
template <Enumeration T>
Json schema_of(Type<T>, const FieldRule&) {
  return {{"enum", names_of<T>()}};
}
Json schema_of(Type<ParamValue>, const FieldRule&) {
  Json schema = schema_of(Type<std::int64_t>(), {.range = Range::kSigned});
  schema["type"] = {"integer", "string"};
  return schema;
}
Json schema_of(Type<Flags>, const FieldRule&) {
  Json names = Json::array();
  const Flags flags;
  flag_names(flags, [&](const char* name, bool) { names.push_back(name); });
  return {{"type", "array"}, {"items", {{"enum", names}}}, {"uniqueItems", true}};
}
template <class T>
Json schema_of(Type<std::optional<T>>, const FieldRule& rule) {
  return schema_of(Type<T>(), rule);
}
template <class T>
Json schema_of(Type<std::vector<T>>, const FieldRule& rule);
template <class T>
Json schema_of(Type<std::vector<std::pair<std::string, T>>>, const FieldRule& rule);
template <Structure T>
Json schema_of(Type<T>, const FieldRule&);

Json or_null(Json schema) { return {{"anyOf", {std::move(schema), {{"type", "null"}}}}}; }

struct SchemaWriter {
  Json properties = Json::object();
  Json required = Json::array();
  Json rules = Json::object();

  template <class T>
  void operator()(const char* key, const T& value, const FieldRule& rule = {}) {
    maybe(key, value, rule);
    required.push_back(key);
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value, const FieldRule& rule = {}) {
    maybe(key, value, rule);
  }
  template <class T>
  void maybe(const char* key, const T&, const FieldRule& rule = {}, const auto&...) {
    Json property = Json::object();
    if (!rule.what.empty()) property["description"] = rule.what;
    property.update(schema_of(Type<T>(), rule));
    properties[key] = std::move(property);
  }
  void rule(const Ascending& r) { rules["x-ascending"].push_back(r.keys); }
  void rule(const OneLength& r) { rules["x-one-length"] = r.keys; }
  void rule(const Counts& r) { rules["x-counts"] = {{"key", r.key}, {"of", r.of}}; }
  void rule(const Needs& r) {
    Json texts = Json::object();
    for (const std::string_view key : r.otherwise) texts[key] = {{"minLength", 1}};
    rules["if"] = {{"properties", {{r.key, {{"const", r.is}}}}}};
    rules["then"] = {{"required", r.then}};
    rules["else"] = {{"required", r.otherwise}, {"properties", std::move(texts)}};
  }
  void rule(const Names& r) {
    rules["x-names"] = {{"rows", r.rows},           {"key", r.key}, {"besides", r.besides},
                        {"reference", r.reference}, {"in", r.in},   {"empty_in", r.empty_in}};
  }
  void rule(const Unique& r) { rules["x-unique"].push_back({{"rows", r.rows}, {"keys", r.keys}}); }

  Json object() const {
    Json schema = {{"type", "object"}};
    if (!required.empty()) schema["required"] = required;
    schema["properties"] = properties;
    schema.update(rules);
    return schema;
  }
};

template <class T>
Json schema_of(Type<std::vector<T>>, const FieldRule& rule) {
  Json items = schema_of(Type<T>(), rule);
  Json schema = {{"type", "array"}, {"items", rule.gaps ? or_null(items) : items}};
  if (rule.min_items > 0) schema["minItems"] = rule.min_items;
  if (rule.max_items != kUnlimited) schema["maxItems"] = rule.max_items;
  return schema;
}
template <class T>
Json schema_of(Type<std::vector<std::pair<std::string, T>>>, const FieldRule& rule) {
  return {{"type", "object"}, {"additionalProperties", schema_of(Type<T>(), rule)}};
}
template <Structure T>
Json schema_of(Type<T>, const FieldRule&) {
  const T structure;
  SchemaWriter writer;
  fields(writer, structure);
  return writer.object();
}

// Prints on one line what fits. taken: columns before the value.
std::string pretty(const Json& value, std::size_t indent, std::size_t taken) {
  constexpr std::size_t kWidth = 100;
  const std::string line = value.dump();
  if (!value.is_structured() || taken + line.size() < kWidth) return line;
  std::string text;
  for (const auto& [key, element] : value.items()) {
    text += fmt::format("{}\n{:{}}", text.empty() ? "" : ",", "", indent + 2);
    const std::string name = value.is_object() ? Json(key).dump() + ": " : "";
    text += name + pretty(element, indent + 2, indent + 2 + name.size());
  }
  const auto [open, close] = value.is_object() ? std::pair{'{', '}'} : std::pair{'[', ']'};
  return fmt::format("{}{}\n{:{}}{}", open, text, "", indent, close);
}

// The schema of files that hold a T. what: first sentence of its description.
template <Structure T>
Json file_schema(std::string_view kind, std::string_view name, int version, std::string_view what) {
  const T structure;
  SchemaWriter file;
  fields(file, structure);
  Json properties = {{"schema", {{"const", name}}}, {"schema_version", {{"const", version}}}};
  properties.update(file.properties);
  Json required = {"schema", "schema_version"};
  for (const Json& key : file.required) required.push_back(key);
  const std::string description = fmt::format(
      "{} Base SI units: s, B/s, FLOP/s, OP/s, Hz, W. What is not known or empty is left out. "
      "Readers ignore keys that they do not know. What JSON Schema cannot say: numbers of an "
      "x-ascending list do not decrease; x-one-length lists are as long as the first; x-counts of "
      "key add up to the length of another list; x-names differ, and references name one of them; "
      "no two x-unique rows have all keys in common; x-limits hold for the file.",
      what);
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"$id", fmt::format("urn:peakline:{}:{}", kind, version)},
                 {"title", fmt::format("peakline {}", kind)},
                 {"description", description},
                 {"type", "object"},
                 {"required", required},
                 {"properties", properties},
                 {"definitions", number_definitions()}};
  schema.update(file.rules);
  schema["x-limits"] = {{"bytes", kMaxBytes}, {"depth", kMaxDepth}, {"keys", kMaxKeys}};
  return schema;
}

}  // namespace
}  // namespace profile_format

using namespace profile_format;

std::string profile_schema() {
  Json schema = file_schema<Profile>("profile", kProfileSchema, kProfileSchemaVersion,
                                     "One run of peakline on one machine.");
  schema["x-earlier-versions-read-by"] = kReadsEarlierVersions;
  Json labels = Json::object();
  // HBM is called what the device has instead of it.
  for (const Resource& resource : known_resources())
    if (resource.of != Resource::Of::kDeviceMemory) labels[resource.name] = resource.label;
  schema["x-labels"] = std::move(labels);
  return pretty(schema, 0, 0) + "\n";
}

std::string population_schema() {
  const Json schema =
      file_schema<PopulationFile>("population", kPopulationSchema, kPopulationSchemaVersion,
                                  "What healthy GPUs of a model measure.");
  return pretty(schema, 0, 0) + "\n";
}

}  // namespace peakline
