#pragma once

// JSON from outside, with the path to each value for messages.

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/profile/place.hpp"

namespace peakline::profile_format {

// Bounds on memory and time for hostile input. Profiles have at most 1 MiB per device, five levels
// and about forty keys per object.
inline constexpr std::size_t kMaxBytes = 32u << 20;
inline constexpr std::size_t kMaxDepth = 32;
inline constexpr std::size_t kMaxKeys = 4096;

// Refers to its document.
using Value = simdjson::dom::element;

struct Document {
  simdjson::dom::parser parser;
  Value root;
};

// Parses one JSON value in UTF-8. Throws ProfileError, beginning with `name`, for anything else,
// repeated keys, or a value beyond the limits above.
void parse(std::string_view text, std::string_view name, Document& document);

// The caller has checked the type.
inline simdjson::dom::object members(const Value& object) { return object.get_object().value(); }
inline simdjson::dom::array elements(const Value& array) { return array.get_array().value(); }
inline std::string_view text(const Value& value) { return value.get_string().value(); }
inline double number(const Value& value) { return value.get_double().value(); }

// A scalar as written in the file; the type of anything else.
std::string shown(const Value& value);

// A value with its path.
struct Node : Place {
  Value value = {};

  [[noreturn]] void expected(std::string_view what) const { Place::expected(what, shown(value)); }
  // expected() as an argument for check().
  auto expecting() const {
    return [this](std::string_view what) { expected(what); };
  }
  void require(std::string_view text) const {
    std::string_view found;
    if (value.get(found) != simdjson::SUCCESS || found != text)
      expected(fmt::format("\"{}\"", text));
  }
  Node child(const Value& of, std::string_view name) const { return {{this, name}, of}; }
};

// An object's members. Refers to its node.
class Members {
 public:
  explicit Members(const Node& node) : node_(node) {
    simdjson::dom::object object;
    if (node.value.get(object) != simdjson::SUCCESS) node.expected("an object");
    all_.reserve(object.size());
    for (const auto& [key, value] : object) all_.emplace_back(key, value);
  }

  // Fast if called in the file's order.
  std::optional<Node> find(std::string_view key) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto& [name, value] = all_[next_];
      if (++next_ == all_.size()) next_ = 0;
      if (name == key) return node_.child(value, key);
    }
    return std::nullopt;
  }
  Node get(std::string_view key) {
    const auto found = find(key);
    if (!found) node_.fail(fmt::format("\"{}\" is missing", key));
    return *found;
  }

 private:
  const Node& node_;
  std::vector<std::pair<std::string_view, Value>> all_;
  std::size_t next_ = 0;  // after the last one found
};

}  // namespace peakline::profile_format
