#include "harness/profile/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>

namespace peakline::profile_format {
namespace {

// Calls with each element of a list that may be left out.
void for_each_row(const Node& node, std::string_view key, const auto& action) {
  const auto rows = find_member(node, key);
  if (!rows) return;
  std::size_t index = 0;
  for (const Value& value : elements(rows->value)) {
    Node row = rows->child(value, {});
    row.index = index++;
    action(row);
  }
}

std::size_t length_of(const Node& node, std::string_view key) {
  const std::optional<Value> list = find(node.value, key);
  return list ? elements(*list).size() : 0;
}

// Text that is equal for equal values: JSON does not tell 1 from 1.0, and false may be left out.
std::string text_of(const Value& value) {
  if (value.is_string()) return std::string(text(value));
  if (value.is_bool() && !value.get_bool().value()) return "";
  if (value.is_int64()) return std::to_string(value.get_int64().value());
  if (value.is_number()) {
    const double n = number(value);
    if (std::trunc(n) != n || std::abs(n) >= 0x1p63) return dump(value);
    return std::to_string(static_cast<std::int64_t>(n));
  }
  if (!value.is_object()) return dump(value);
  std::string all;
  for (const auto& [key, member] : members(value))
    all += fmt::format("/{}:{}", key, text_of(member));
  return all;
}

}  // namespace

void check(const Node& node, const Ascending& rule) {
  std::vector<double> numbers;
  for (const std::string_view key : rule.keys)
    if (const auto value = find(node.value, key)) numbers.push_back(number(*value));
  if (!std::ranges::is_sorted(numbers))
    node.fail(fmt::format("expected {}", fmt::join(rule.keys, " <= ")));
}

void check(const Node& node, const OneLength& rule) {
  const std::size_t length = length_of(node, rule.keys.front());
  for (const std::string_view key : rule.keys) {
    const std::size_t found = length_of(node, key);
    if (found != length)
      member(node, key).fail(
          fmt::format("expected {} values, as in {}, found {}", length, rule.keys.front(), found));
  }
}

void check(const Node& node, const Counts& rule) {
  const auto lists = find_member(node, rule.key);
  if (!lists || elements(lists->value).size() == 0) return;
  const std::size_t length = length_of(node, rule.of);
  std::size_t counted = 0;
  bool gap = false;
  for (const Value& list : elements(lists->value)) {
    gap = gap || elements(list).size() == 0;
    // One too many is as wrong as any number, and cannot overflow the sum.
    for (const Value& count : elements(list))
      counted += static_cast<std::size_t>(std::min(number(count), static_cast<double>(length) + 1));
  }
  if (gap || counted != length)
    lists->fail(
        fmt::format("expected as many in all as {} has, {}, and some in each", rule.of, length));
}

void check(const Node& node, const Needs& rule) {
  const Value value = *find(node.value, rule.key);
  for (const std::string_view key : is_text(value, rule.is) ? rule.then : rule.otherwise) {
    const std::optional<Value> needed = find(node.value, key);
    if (!needed || is_text(*needed, ""))
      node.fail(fmt::format("\"{}\" is missing: {} is {}", key, rule.key, dump(value)));
  }
}

void check(const Node& node, const Names& rule) {
  std::unordered_set<std::string_view> names;
  for (const std::string_view name : rule.besides) names.emplace(name);
  for_each_row(node, rule.rows, [&](const Node& row) {
    const Node name = member(row, rule.key);
    if (!names.insert(text(name.value)).second) name.expected("one of its own");
  });
  const std::string known =
      fmt::format("{}, or {} of one of {}", fmt::join(rule.besides, ", "), rule.key, rule.rows);
  const auto refer = [&](const Node& row) {
    const Node name = member(row, rule.reference);
    if (!names.contains(text(name.value))) name.expected(known);
  };
  for (const std::string_view rows : rule.in) for_each_row(node, rows, refer);
  names.emplace();
  for (const std::string_view rows : rule.empty_in) for_each_row(node, rows, refer);
}

void check(const Node& node, const Unique& rule) {
  std::unordered_set<std::string> seen;
  for_each_row(node, rule.rows, [&](const Node& row) {
    std::string identity;
    for (const std::string_view key : rule.keys) {
      const std::optional<Value> value = find(row.value, key);
      const std::string shown = value ? text_of(*value) : "";
      identity += fmt::format("{}:{}", shown.size(), shown);
    }
    if (!seen.insert(std::move(identity)).second)
      row.fail(fmt::format("its {} are there twice", fmt::join(rule.keys, ", ")));
  });
}

}  // namespace peakline::profile_format
