#include "harness/profile/document.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <unordered_set>

#include "harness/profile/json.hpp"

namespace peakline::profile_format {
namespace {

constexpr std::size_t kShownOfMessage = 160;  // characters

// The first repeated key.
std::optional<std::string_view> repeated_key(const simdjson::dom::object& object) {
  // Up to this number of keys a linear search is faster.
  constexpr std::size_t kFewKeys = 32;
  if (object.size() > kFewKeys) {
    std::unordered_set<std::string_view> keys;
    for (const auto& [key, value] : object)
      if (!keys.insert(key).second) return key;
    return std::nullopt;
  }
  std::array<std::string_view, kFewKeys> keys;
  std::size_t known = 0;
  std::uint64_t traits = 0;  // filter: equal keys share a bit
  for (const auto& [key, value] : object) {
    const auto trait = key.empty() ? 0 : 7 * key.size() + key.front() + 5 * key.back();
    const std::uint64_t bit = std::uint64_t{1} << (trait % 64);
    const auto end = keys.begin() + known;
    if ((traits & bit) != 0 && std::find(keys.begin(), end, key) != end) return key;
    traits |= bit;
    keys[known++] = key;
  }
  return std::nullopt;
}

[[noreturn]] void fail_by_depth(const Place& root) {
  root.fail(fmt::format("nested deeper than {} levels: not a profile", kMaxDepth));
}

// depth: number of enclosing values.
void check_limits(const Place& root, const Value& value, std::size_t depth) {
  if (!value.is_object() && !value.is_array()) return;
  if (depth == kMaxDepth) fail_by_depth(root);
  if (value.is_array()) {
    for (const Value& element : elements(value)) check_limits(root, element, depth + 1);
    return;
  }
  const simdjson::dom::object object = members(value);
  if (object.size() > kMaxKeys)
    root.fail(fmt::format("more than {} keys in one object: not a profile", kMaxKeys));
  if (const auto key = repeated_key(object))
    root.fail(fmt::format("the key \"{}\" occurs twice in one object", printable(*key, kShown)));
  for (const auto& [key, member] : object) check_limits(root, member, depth + 1);
}

[[noreturn]] void invalid(const Place& root, std::string_view why) {
  root.fail(fmt::format("not valid JSON: {}", printable(why, kShownOfMessage)));
}

// Throws a precise message, which the reading library's error codes lack.
void explain(const Place& root, std::string_view text) {
  // Returning false discards all parsed values.
  using Event = json::parse_event_t;
  const auto look = [&](int depth, Event event, json&) {
    if ((event == Event::object_start || event == Event::array_start) &&
        static_cast<std::size_t>(depth) == kMaxDepth)
      fail_by_depth(root);
    return false;
  };
  try {
    const json nothing = json::parse(text, look);
  } catch (const json::exception& error) {
    // Drops the prefix of "[json.exception.parse_error.101] parse error at line 3, column 7: ...".
    const std::string_view message = error.what();
    const auto prefix = message.find("] ");
    invalid(root, prefix == message.npos ? message : message.substr(prefix + 2));
  }
}

// Adds exponents to integers beyond 64 bits, which the library refuses otherwise. text: valid JSON.
std::string with_exponents(std::string_view text) {
  constexpr std::size_t kShort = 18;  // digits that always fit
  std::string all;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    end = at + 1;
    if (text[at] == '"') {
      while (text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      ++end;
    } else if (text[at] == '-' || (text[at] >= '0' && text[at] <= '9')) {
      end = std::min(text.find_first_not_of("0123456789+-.eE", end), text.size());
    }
    const std::string_view part = text.substr(at, end - at);
    all += part;
    if (part.front() != '"' && part.size() > kShort && part.find_first_of(".eE") == part.npos)
      all += "e0";
  }
  return all;
}

simdjson::error_code parse_quickly(std::string_view text, Document& document) {
  // The library's limit counts scalars too.
  auto error = document.parser.allocate(text.size(), kMaxDepth + 2);
  if (error == simdjson::SUCCESS)
    error = document.parser.parse(text.data(), text.size()).get(document.root);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  return error;
}

}  // namespace

void parse(std::string_view text, std::string_view name, Document& document) {
  const Place root{.key = name};
  if (text.find_first_not_of(" \t\r\n") == text.npos) root.fail("empty: not a profile");
  // One parser skips a byte order mark, the other takes NUL for the end.
  if (text.starts_with("\xEF\xBB\xBF")) invalid(root, "it begins with a byte order mark");
  if (text.find('\0') != text.npos) invalid(root, "a NUL byte");
  auto error = parse_quickly(text, document);
  if (error != simdjson::SUCCESS) {
    explain(root, text);
    error = parse_quickly(with_exponents(text), document);
  }
  if (error != simdjson::SUCCESS) invalid(root, "the library refuses it");
  check_limits(root, document.root, 0);
}

std::string shown(const Value& value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return dump(text(value));
  if (value.type() == simdjson::dom::element_type::DOUBLE) return dump(number(value));
  return simdjson::to_string(value);
}

}  // namespace peakline::profile_format
