#include "harness/profile/document.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <unordered_set>

#include "harness/profile/json.hpp"

namespace peakline::profile_format {
namespace {

constexpr std::size_t kShownOfMessage = 160;  // characters

// Objects with up to this number of keys are searched faster one by one.
constexpr std::size_t kFewKeys = 32;

bool keys_differ(const simdjson::dom::object& object) {
  std::array<std::string_view, kFewKeys> keys;
  std::size_t known = 0;
  for (const auto& [key, value] : object) {
    const auto end = keys.begin() + known;
    if (std::find(keys.begin(), end, key) != end) return false;
    keys[known++] = key;
  }
  return true;
}

bool many_keys_differ(const simdjson::dom::object& object) {
  std::unordered_set<std::string_view> keys;
  for (const auto& [key, value] : object)
    if (!keys.insert(key).second || keys.size() > kMaxKeys) return false;
  return true;
}

// Whether the value, inside of `depth` others, keeps to the limits, and no object has a key twice.
bool within_limits(const Value& value, std::size_t depth) {
  if (!is_structured(value)) return true;
  if (depth == kMaxDepth) return false;
  if (value.is_array()) {
    return std::ranges::all_of(
        elements(value), [&](const Value& element) { return within_limits(element, depth + 1); });
  }
  const simdjson::dom::object object = members(value);
  return (object.size() <= kFewKeys ? keys_differ(object) : many_keys_differ(object)) &&
         std::ranges::all_of(
             object, [&](const auto& field) { return within_limits(field.value, depth + 1); });
}

// Says of a text what is wrong with it, as the other parser's error codes do not. Where nothing is,
// it has written the text anew, with whole numbers beyond 64 bits, which only that one refuses, as
// numbers with an exponent.
class Examiner : public nlohmann::json_sax<json> {
 public:
  explicit Examiner(std::string_view name) : name_(name) {}

  const std::string& text() const { return text_; }

  bool null() override { return add("null"); }
  bool boolean(bool value) override { return add(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return add(fmt::format("{}", value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(fmt::format("{}", value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(dump(value)); }
  bool string(string_t& value) override { return add(dump(value)); }
  bool binary(binary_t&) override { return false; }  // does not occur in text
  bool start_object(std::size_t) override { return open('{'); }
  bool start_array(std::size_t) override { return open('['); }
  bool end_object() override { return close('}'); }
  bool end_array() override { return close(']'); }

  bool key(string_t& key) override {
    auto& keys = open_.back();
    if (!keys.insert(key).second)
      fail(fmt::format("the key \"{}\" occurs twice in one object", printable(key, kShown)));
    if (keys.size() > kMaxKeys)
      fail(fmt::format("more than {} keys in one object: not a profile", kMaxKeys));
    add(dump(key));
    text_.back() = ':';
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 3, column 7: ...": without its prefix.
    const std::string_view message = error.what();
    const auto prefix = message.find("] ");
    invalid(prefix == message.npos ? message : message.substr(prefix + 2));
  }

  [[noreturn]] void invalid(std::string_view why) const {
    fail(fmt::format("not valid JSON: {}", printable(why, kShownOfMessage)));
  }

 private:
  [[noreturn]] void fail(std::string_view message) const {
    throw ProfileError(fmt::format("{}: {}", name_, message));
  }

  // A comma stands behind every value, until its container ends.
  bool add(std::string_view value) {
    text_ += value;
    text_ += ',';
    return true;
  }
  bool open(char bracket) {
    if (open_.size() == kMaxDepth)
      fail(fmt::format("nested deeper than {} levels: not a profile", kMaxDepth));
    open_.emplace_back();
    text_ += bracket;
    return true;
  }
  bool close(char bracket) {
    open_.pop_back();
    if (text_.back() == ',') text_.pop_back();
    return add({&bracket, 1});
  }

  std::string_view name_;
  std::string text_;
  std::vector<std::unordered_set<std::string>> open_;  // the keys of the containers around
};

// False where the text has to be examined.
bool parse_quickly(std::string_view text, Document& document) {
  // The library's limit counts scalars too.
  auto error = document.parser.allocate(text.size(), kMaxDepth + 2);
  if (error == simdjson::SUCCESS)
    error = document.parser.parse(text.data(), text.size()).get(document.root);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  return error == simdjson::SUCCESS && within_limits(document.root, 0);
}

}  // namespace

void parse(std::string_view text, std::string_view name, Document& document) {
  if (text.find_first_not_of(" \t\r\n") == text.npos)
    throw ProfileError(fmt::format("{}: empty: not a profile", name));
  Examiner examiner(name);
  // One parser or the other skips the one, and takes the other for the end.
  if (text.starts_with("\xEF\xBB\xBF")) examiner.invalid("it begins with a byte order mark");
  if (text.find('\0') != text.npos) examiner.invalid("a NUL byte");
  if (parse_quickly(text, document)) return;
  json::sax_parse(text, &examiner);
  std::string_view anew = examiner.text();
  anew.remove_suffix(1);
  if (!parse_quickly(anew, document)) examiner.invalid("the library refuses it");
}

std::string dump(const Value& value) {
  switch (value.type()) {
    case ValueType::STRING:
      return dump(json(text(value)));
    case ValueType::DOUBLE:
      return dump(json(number(value)));
    default:
      return simdjson::to_string(value);
  }
}

}  // namespace peakline::profile_format
