#pragma once

// Text from outside as JSON values, and the way to each, which the messages of the reader name.

#include <fmt/format.h>
#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/profile/profile.hpp"
#include "harness/values/text.hpp"

namespace peakline::profile_format {

// A text beyond these is not a profile: they bound memory and time on hostile input. A profile has
// at most 1 MiB a device, five levels and some forty keys an object.
inline constexpr std::size_t kMaxBytes = 32u << 20;
inline constexpr std::size_t kMaxDepth = 32;
inline constexpr std::size_t kMaxKeys = 4096;

inline constexpr std::size_t kShown = 40;  // characters of a key or a value in a message

// It refers to its document.
using Value = simdjson::dom::element;
using ValueType = simdjson::dom::element_type;

struct Document {
  simdjson::dom::parser parser;
  Value root;
};

// Throws ProfileError, beginning with `name`, for what is not one JSON value in UTF-8, nested no
// deeper than kMaxDepth levels, with no more than kMaxKeys different keys in an object.
void parse(std::string_view text, std::string_view name, Document& document);

// Values of another type have been refused before.
inline simdjson::dom::object members(const Value& object) { return object.get_object().value(); }
inline simdjson::dom::array elements(const Value& array) { return array.get_array().value(); }
inline std::string_view text(const Value& value) { return value.get_string().value(); }
inline double number(const Value& value) { return value.get_double().value(); }

inline bool is_text(const Value& value, std::string_view wanted) {
  return value.is_string() && text(value) == wanted;
}
inline bool is_structured(const Value& value) { return value.is_object() || value.is_array(); }

// The text of a value that is not structured, as it stands in a file.
std::string dump(const Value& value);

// nullopt where there is none.
inline std::optional<Value> find(const Value& object, std::string_view key) {
  Value found;
  if (members(object).at_key(key).get(found) != simdjson::SUCCESS) return std::nullopt;
  return found;
}

// A value and the way to it, for messages.
struct Node {
  Value value;
  const Node* parent = nullptr;
  std::string_view key = {};  // the document's name at the root
  std::size_t index = 0;      // where key is empty

  std::string path() const {
    if (!parent) return {};
    const std::string above = parent->path();
    if (key.empty()) return fmt::format("{}[{}]", above, index);
    const std::string shown = printable(key, kShown);
    return above.empty() ? shown : fmt::format("{}.{}", above, shown);
  }

  bool in_array() const { return parent && (key.empty() || parent->in_array()); }
  // The keys on the way to this value, up to the first array.
  std::vector<std::string> keys() const {
    if (!parent) return {};
    std::vector<std::string> way = parent->keys();
    if (!in_array()) way.emplace_back(key);
    return way;
  }

  [[noreturn]] void fail(std::string_view message) const {
    const Node* root = this;
    while (root->parent) root = root->parent;
    const std::string where = path();
    throw ProfileError(
        fmt::format("{}: {}{}{}", root->key, where, where.empty() ? "" : ": ", message), keys());
  }

  [[noreturn]] void expected(std::string_view what) const {
    const std::string found = value.is_object()  ? "object"
                              : value.is_array() ? "array"
                                                 : printable(dump(value), kShown);
    fail(fmt::format("expected {}, found {}", what, found));
  }

  Node child(const Value& of, std::string_view name) const { return {of, this, name}; }
};

// The member of an object; nullopt where there is none.
inline std::optional<Node> find_member(const Node& node, std::string_view key) {
  if (!node.value.is_object()) node.expected("an object");
  const std::optional<Value> found = find(node.value, key);
  if (!found) return std::nullopt;
  return node.child(*found, key);
}

inline Node member(const Node& node, std::string_view key) {
  const auto found = find_member(node, key);
  if (!found) node.fail(fmt::format("\"{}\" is missing", key));
  return *found;
}

}  // namespace peakline::profile_format
