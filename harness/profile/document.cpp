#include "harness/profile/document.hpp"

#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "harness/profile/json.hpp"

namespace peakline::profile_format {
namespace {

// Builds values from the library's events, in the text's memory.
class Builder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Builder> {
 public:
  Builder(const Place& root, Value& value) : root_(root), value_(value) {}

  bool Null() { return add(nullptr), true; }
  bool Bool(bool value) { return add(value), true; }
  // The library's own conversion overflows for hostile exponents (CVE-2024-38517).
  bool RawNumber(const char* begin, rapidjson::SizeType size, bool) {
    const char* const end = begin + size;
    std::int64_t integer = 0;
    double number = 0;  // stays if it is too small for a double
    const auto [last, error] = std::from_chars(begin, end, integer);
    if (error == std::errc() && last == end) return add(integer), true;
    std::from_chars(begin, end, number);
    return add(number), true;
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return add(checked({text, size})), true;
  }
  bool StartArray() { return open(List()); }
  bool EndArray(rapidjson::SizeType) { return open_.pop_back(), true; }
  bool StartObject() { return open(Object()); }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    Object& object = std::get<Object>(open_.back()->of);
    if (object.size() == kMaxKeys)
      root_.fail(fmt::format("more than {} keys in one object: not a profile", kMaxKeys));
    object.emplace_back(checked({text, size}), Value());
    return true;
  }
  bool EndObject(rapidjson::SizeType) {
    keys_.clear();
    for (const auto& [key, value] : std::get<Object>(open_.back()->of)) keys_.push_back(key);
    std::ranges::sort(keys_);
    if (const auto twice = std::ranges::adjacent_find(keys_); twice != keys_.end())
      root_.fail(
          fmt::format("the key \"{}\" occurs twice in one object", printable(*twice, kShown)));
    return open_.pop_back(), true;
  }

 private:
  Value& add(auto value) {
    Value* place = &value_;
    if (!open_.empty()) {
      auto* const list = std::get_if<List>(&open_.back()->of);
      place = list ? &list->emplace_back() : &std::get<Object>(open_.back()->of).back().second;
    }
    place->of = std::move(value);
    return *place;
  }
  bool open(auto value) {
    if (open_.size() == kMaxDepth)
      root_.fail(fmt::format("nested deeper than {} levels: not a profile", kMaxDepth));
    open_.push_back(&add(std::move(value)));
    return true;
  }
  // The library takes half of a surrogate pair.
  std::string_view checked(std::string_view text) const {
    if (well_formed(text) != text.size()) root_.fail("not valid JSON: text that is not UTF-8");
    return text;
  }

  const Place& root_;
  Value& value_;
  std::vector<Value*> open_;  // each the last element of the one before
  std::vector<std::string_view> keys_;
};

}  // namespace

void parse(std::string_view text, std::string_view name, Document& document) {
  constexpr unsigned kParsing = rapidjson::kParseInsituFlag | rapidjson::kParseNumbersAsStringsFlag;
  const Place root{.key = name};
  if (text.find('\0') != text.npos) root.fail("not valid JSON: a NUL byte");
  document.text = text;
  Builder builder(root, document.root);
  rapidjson::InsituStringStream stream(document.text.data());
  const rapidjson::ParseResult result = rapidjson::Reader().Parse<kParsing>(stream, builder);
  if (!result) {
    const std::string_view before = text.substr(0, result.Offset());
    root.fail(fmt::format(
        "not valid JSON: line {}, column {}: {}", std::ranges::count(before, '\n') + 1,
        before.size() - (before.rfind('\n') + 1) + 1, rapidjson::GetParseError_En(result.Code())));
  }
}

std::optional<double> number(const Value& value) {
  if (const auto* integer = value.get<std::int64_t>()) return static_cast<double>(*integer);
  if (const auto* number = value.get<double>()) return *number;
  return std::nullopt;
}

std::string shown(const Value& value) {
  return std::visit(
      []<class T>(const T& found) -> std::string {
        if constexpr (std::same_as<T, std::nullptr_t>)
          return "null";
        else if constexpr (std::same_as<T, List>)
          return "array";
        else if constexpr (std::same_as<T, Object>)
          return "object";
        else
          return json(found);
      },
      value.of);
}

}  // namespace peakline::profile_format
