#pragma once

// JSON from outside, with the path to each value for messages.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/profile/place.hpp"

namespace peakline::profile_format {

// Bounds on memory and time for hostile input. Profiles have at most 1 MiB per device, five levels
// and about forty keys per object.
inline constexpr std::size_t kMaxBytes = 32u << 20;
inline constexpr std::size_t kMaxDepth = 32;
inline constexpr std::size_t kMaxKeys = 4096;

struct Value;
using List = std::vector<Value>;
using Object = std::vector<std::pair<std::string_view, Value>>;  // in the file's order

// Texts refer to the document's. Integers beyond 64 bits are doubles.
struct Value {
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string_view, List, Object> of = {};

  // nullptr for another type.
  template <class T>
  const T* get() const {
    return std::get_if<T>(&of);
  }
};

struct Document {
  std::string text;  // changed by parsing
  Value root;

  Document() = default;
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
};

// Parses one JSON value in UTF-8. Throws ProfileError, beginning with `name`, for anything else,
// repeated keys, or a value beyond the limits above.
void parse(std::string_view text, std::string_view name, Document& document);

std::optional<double> number(const Value& value);

// A scalar as the writer has it; the type of anything else.
std::string shown(const Value& value);

// A value with its path. Refers to its document.
struct Node : Place {
  const Value& value;

  [[noreturn]] void expected(std::string_view what) const { Place::expected(what, shown(value)); }
  // expected() as an argument for check().
  auto expecting() const {
    return [this](std::string_view what) { expected(what); };
  }
  template <class T>
  const T& get(std::string_view what) const {
    const T* const found = value.get<T>();
    if (found == nullptr) expected(what);
    return *found;
  }
  void require(std::string_view text) const {
    const auto* const found = value.get<std::string_view>();
    if (found == nullptr || *found != text) expected(fmt::format("\"{}\"", text));
  }
  Node child(const Value& of, std::string_view name) const { return {{this, name}, of}; }
};

// An object's members. Refers to its node.
class Members {
 public:
  explicit Members(const Node& node) : node_(node), all_(node.get<Object>("an object")) {}

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
  const Object& all_;
  std::size_t next_ = 0;  // after the last one found
};

}  // namespace peakline::profile_format
