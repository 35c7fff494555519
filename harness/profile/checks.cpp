#include "harness/profile/checks.hpp"

#include <fmt/ranges.h>
#include <re2/re2.h>

#include <functional>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "harness/profile/json.hpp"

namespace peakline::profile_format {
namespace {

// nullptr without such a member.
const Value* find(const Value& object, std::string_view key) {
  for (const auto& [name, value] : *object.get<Object>())
    if (name == key) return &value;
  return nullptr;
}

std::string_view text(const Value& object, std::string_view key) {
  const Value* const found = find(object, key);
  return found == nullptr ? "" : *found->get<std::string_view>();
}

std::size_t length(const Value& object, std::string_view key) {
  const Value* const found = find(object, key);
  return found == nullptr ? 0 : found->get<List>()->size();
}

// Calls `use` with each row of a list.
void for_each_row(const Node& node, std::string_view key,
                  const std::function<void(const Node&)>& use) {
  const Value* const found = find(node.value, key);
  if (found == nullptr) return;
  const Node list = node.child(*found, key);
  for (std::size_t i = 0; const Value& row : *found->get<List>()) {
    Node at = list.child(row, {});
    at.index = i++;
    use(at);
  }
}

// Equal values have equal text: 1 and 1.0, false and a missing value.
std::string identity(const Value* value) {
  if (value == nullptr) return {};
  if (const auto* flag = value->get<bool>(); flag && !*flag) return {};
  if (const auto* text = value->get<std::string_view>()) return std::string(*text);
  const auto* const object = value->get<Object>();
  if (object == nullptr) return shown(*value);
  std::string all;
  for (const auto& [key, inner] : *object) all += fmt::format("/{}:{}", key, identity(&inner));
  return all;
}

}  // namespace

bool matches(const std::string& text, std::string_view pattern) {
  thread_local std::map<std::string_view, const re2::RE2> known;
  const auto found = known.try_emplace(pattern, std::string(pattern)).first;
  return re2::RE2::FullMatch(text, found->second);
}

void check(const Node& node, const Ascending& rule) {
  std::vector<double> numbers;
  for (const std::string_view key : rule.keys)
    if (const Value* const found = find(node.value, key)) numbers.push_back(*number(*found));
  if (!std::ranges::is_sorted(numbers))
    node.fail(fmt::format("expected {}", fmt::join(rule.keys, " <= ")));
}

void check(const Node& node, const OneLength& rule) {
  const std::size_t first = length(node.value, rule.keys.front());
  for (const std::string_view key : rule.keys) {
    const std::size_t found = length(node.value, key);
    if (found != first)
      Place{.parent = &node, .key = key}.fail(
          fmt::format("expected {} values, as in {}, found {}", first, rule.keys.front(), found));
  }
}

void check(const Node& node, const Counts& rule) {
  const Value* const lists = find(node.value, rule.key);
  if (lists == nullptr || lists->get<List>()->empty()) return;
  const std::size_t expected = length(node.value, rule.of);
  double counted = 0;
  bool gap = false;
  for (const Value& list : *lists->get<List>()) {
    gap = gap || list.get<List>()->empty();
    for (const Value& count : *list.get<List>()) counted += *number(count);
  }
  if (gap || counted != static_cast<double>(expected))
    Place{.parent = &node, .key = rule.key}.fail(
        fmt::format("expected as many in all as {} has, {}, and some in each", rule.of, expected));
}

void check(const Node& node, const Needs& rule) {
  const std::string_view found = text(node.value, rule.key);
  for (const std::string_view key : found == rule.is ? rule.then : rule.otherwise) {
    const Value* const needed = find(node.value, key);
    const auto* const words = needed ? needed->get<std::string_view>() : nullptr;
    if (needed == nullptr || (words && words->empty()))
      node.fail(fmt::format("\"{}\" is missing: {} is \"{}\"", key, rule.key, found));
  }
}

void check(const Node& node, const Names& rule) {
  std::unordered_set<std::string_view> names(rule.besides.begin(), rule.besides.end());
  const auto expected = [](const Node& row, std::string_view key, std::string_view what) {
    row.child(*find(row.value, key), key).expected(what);
  };
  for_each_row(node, rule.rows, [&](const Node& row) {
    if (!names.insert(text(row.value, rule.key)).second) expected(row, rule.key, "one of its own");
  });
  const std::string known =
      fmt::format("{}, or {} of one of {}", fmt::join(rule.besides, ", "), rule.key, rule.rows);
  const auto refer = [&](const Node& row) {
    if (!names.contains(text(row.value, rule.reference))) expected(row, rule.reference, known);
  };
  for (const std::string_view rows : rule.in) for_each_row(node, rows, refer);
  names.emplace();
  for (const std::string_view rows : rule.empty_in) for_each_row(node, rows, refer);
}

void check(const Node& node, const Unique& rule) {
  std::unordered_set<std::string> seen;
  for_each_row(node, rule.rows, [&](const Node& row) {
    std::string all;
    for (const std::string_view key : rule.keys) {
      const std::string shown = identity(find(row.value, key));
      all += fmt::format("{}:{}", shown.size(), shown);
    }
    if (!seen.insert(std::move(all)).second)
      row.fail(fmt::format("its {} are there twice", fmt::join(rule.keys, ", ")));
  });
}

}  // namespace peakline::profile_format
