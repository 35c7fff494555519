#pragma once

// Text from outside as JSON values, and the way to each, which the messages of the reader name.

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/profile/place.hpp"

namespace peakline::profile_format {

// A text beyond these is not a profile: they bound memory and time on hostile input. A profile has
// at most 1 MiB a device, five levels and some forty keys an object.
inline constexpr std::size_t kMaxBytes = 32u << 20;
inline constexpr std::size_t kMaxDepth = 32;
inline constexpr std::size_t kMaxKeys = 4096;

// It refers to its document.
using Value = simdjson::dom::element;

struct Document {
  simdjson::dom::parser parser;
  Value root;
};

// Throws ProfileError, beginning with `name`, for what is not one JSON value in UTF-8, nested no
// deeper than kMaxDepth levels, with no more than kMaxKeys keys, all different, in an object.
void parse(std::string_view text, std::string_view name, Document& document);

// Values of another type have been refused before.
inline simdjson::dom::object members(const Value& object) { return object.get_object().value(); }
inline simdjson::dom::array elements(const Value& array) { return array.get_array().value(); }
inline std::string_view text(const Value& value) { return value.get_string().value(); }
inline double number(const Value& value) { return value.get_double().value(); }

// The text of a value as it stands in a file; of one that is structured, its type.
std::string shown(const Value& value);

// A value and the way to it.
struct Node : Place {
  Value value = {};

  [[noreturn]] void expected(std::string_view what) const { Place::expected(what, shown(value)); }
  // expected(), to be called by a check.
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

// The members of an object. It refers to the object's node.
class Members {
 public:
  explicit Members(const Node& node) : node_(node) {
    simdjson::dom::object object;
    if (node.value.get(object) != simdjson::SUCCESS) node.expected("an object");
    all_.reserve(object.size());
    for (const auto& [key, value] : object) all_.emplace_back(key, value);
  }

  // nullopt where there is none. Fast where they are asked for in their order.
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
  std::size_t next_ = 0;  // behind the one that was found last
};

}  // namespace peakline::profile_format
