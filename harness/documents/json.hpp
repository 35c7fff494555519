#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/judge/rules.hpp"
#include "harness/show/table.hpp"
#include "harness/values/measurement.hpp"

namespace peakline {

using json = nlohmann::ordered_json;

template <class T>
json optional(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

inline json text_or_null(const std::string& text) {
  return text.empty() ? json(nullptr) : json(text);
}

template <class T, class Encode>
json array_of(const std::vector<T>& values, Encode encode) {
  json array = json::array();
  for (const T& value : values) array.push_back(encode(value));
  return array;
}

inline json object(const Params& params) {
  json named = json::object();
  for (const auto& [name, value] : params)
    std::visit([&, &key = name](const auto& v) { named[key] = v; }, value);
  return named;
}

// With the judgement's fields only for judged figures.
json document_of(const Judged& rule);

// Cells by the keys of their columns; blank ones are left out. Texts are without style.
json document_of(const Table& table);

// ASCII, which cannot control a terminal; invalid UTF-8 is replaced.
inline std::string document_text(const json& document) {
  return document.dump(2, ' ', true, json::error_handler_t::replace) + '\n';
}

// A document of many rows, one a line.
template <class Rows, class Encode>
std::string rows_document(std::string_view schema, int version, std::string_view name,
                          const Rows& rows, Encode encode) {
  std::string lines;
  for (const auto& row : rows) lines += (lines.empty() ? "\n" : ",\n") + encode(row).dump();
  return "{\n\"schema\": \"" + std::string(schema) +
         "\",\n\"schema_version\": " + std::to_string(version) + ",\n\"" + std::string(name) +
         "\": [" + lines + "\n]\n}\n";
}

}  // namespace peakline
