#include "harness/profile/json.hpp"

#include <fmt/format.h>

#include <unordered_set>
#include <utility>
#include <vector>

#include "harness/profile/profile.hpp"
#include "harness/values/text.hpp"

namespace peakline::profile_format {
namespace {

constexpr std::size_t kShownOfMessage = 160;  // characters

void take_apart(json& value) noexcept {
  if (auto* const array = value.get_ptr<json::array_t*>()) {
    for (json& element : *array) take_apart(element);
    array->clear();
  } else if (auto* const object = value.get_ptr<json::object_t*>()) {
    for (auto& [key, member] : *object) take_apart(member);
    object->clear();
  }
}

// Builds what the library's own parser builds, but with limits on nesting and keys, and without the
// repeated keys of which that one would quietly keep the last.
class Builder : public nlohmann::json_sax<json> {
 public:
  Builder(json& root, std::string_view name) : root_(root), name_(name) {
    open_.reserve(kMaxDepth);  // never copied
  }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder() override {
    for (Container& container : open_) {
      for (auto& [key, value] : container.members) take_apart(value);
    }
  }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // does not occur in text
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    auto& [value, members, keys] = open_.back();
    if (!keys.insert(key).second) {
      fail(fmt::format("the key \"{}\" occurs twice in one object", printable(key, kShown)));
    }
    if (keys.size() > kMaxKeys) {
      fail(fmt::format("more than {} keys in one object: not a profile", kMaxKeys));
    }
    slot_ = &members.emplace_back(std::move(key), nullptr).second;
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
  struct Container {
    json* value;
    // These are an object's. The library's own looks through all keys for each new one, and copies
    // all members where it grows.
    std::vector<std::pair<std::string, json>> members = {};
    std::unordered_set<std::string> keys = {};
  };

  [[noreturn]] void fail(std::string_view message) const {
    throw ProfileError(fmt::format("{}: {}", name_, message));
  }

  json* place(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back().value;
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    *slot_ = std::move(value);
    return slot_;
  }
  bool add(json value) {
    place(std::move(value));
    return true;
  }
  bool open(json value) {
    if (open_.size() == kMaxDepth) {
      fail(fmt::format("nested deeper than {} levels: not a profile", kMaxDepth));
    }
    open_.push_back({.value = place(std::move(value))});
    return true;
  }
  bool close() {
    if (auto& [value, members, keys] = open_.back(); value->is_object()) {
      auto& object = value->get_ref<json::object_t&>();
      object.reserve(members.size());
      for (auto& [key, member] : members) object.emplace_back(std::move(key), std::move(member));
    }
    open_.pop_back();
    return true;
  }

  json& root_;
  std::string_view name_;
  std::vector<Container> open_;  // the containers around the next value
  json* slot_ = nullptr;         // of the key that was read last
};

}  // namespace

Document::~Document() { take_apart(root); }

void parse(std::string_view text, std::string_view name, Document& document) {
  if (text.find_first_not_of(" \t\r\n") == text.npos)
    throw ProfileError(fmt::format("{}: empty: not a profile", name));
  Builder builder(document.root, name);
  // The library skips the one, and takes the other for the end.
  if (text.starts_with("\xEF\xBB\xBF")) builder.invalid("it begins with a byte order mark");
  if (text.find('\0') != text.npos) builder.invalid("a NUL byte");
  json::sax_parse(text, &builder);
}

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace peakline::profile_format
