#pragma once

// A value of a document and the way to it, which the messages of the reader name.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/profile/json.hpp"
#include "harness/profile/profile.hpp"
#include "harness/values/text.hpp"

namespace peakline::profile_format {

// A value and the way to it, for messages.
struct Node {
  const json& value;
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
    const std::string found =
        value.is_structured() ? value.type_name() : printable(dump(value), kShown);
    fail(fmt::format("expected {}, found {}", what, found));
  }

  Node child(const json& of, std::string_view name) const { return {of, this, name}; }
};

// nullptr where there is none.
inline const json* find(const json& object, std::string_view key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

// The member of an object; nullopt where there is none.
inline std::optional<Node> find_member(const Node& node, std::string_view key) {
  if (!node.value.is_object()) node.expected("an object");
  const json* const found = find(node.value, key);
  if (found == nullptr) return std::nullopt;
  return node.child(*found, key);
}

inline Node member(const Node& node, std::string_view key) {
  const auto found = find_member(node, key);
  if (!found) node.fail(fmt::format("\"{}\" is missing", key));
  return *found;
}

}  // namespace peakline::profile_format
