#include "harness/profile/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <unordered_set>

namespace peakline::profile_format {
namespace {

// Calls with each element of a list that may be left out.
void for_each_row(const Node& node, std::string_view key, const auto& action) {
  const auto rows = find_member(node, key);
  if (!rows) return;
  for (std::size_t i = 0; i < rows->value.size(); ++i) {
    Node row = rows->child(rows->value[i], {});
    row.index = i;
    action(row);
  }
}

std::size_t length_of(const Node& node, std::string_view key) {
  const json* const list = find(node.value, key);
  return list ? list->size() : 0;
}

// The same of values that are equal: JSON does not tell 1 from 1.0, and what is false may be left
// out.
std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value == false) return "";
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::trunc(number) != number || std::abs(number) >= 0x1p63) return dump(value);
  }
  if (value.is_number()) return std::to_string(value.get<std::int64_t>());
  if (!value.is_structured()) return dump(value);
  std::string text;
  for (const auto& [key, element] : value.items())
    text += fmt::format("/{}:{}", key, text_of(element));
  return text;
}

}  // namespace

void check(const Node& node, const Ascending& rule) {
  std::vector<double> numbers;
  for (const std::string_view key : rule.keys)
    if (const json* const value = find(node.value, key)) numbers.push_back(value->get<double>());
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
  if (!lists || lists->value.empty()) return;
  const std::size_t length = length_of(node, rule.of);
  std::size_t counted = 0;
  bool gap = false;
  for (const json& list : lists->value) {
    gap = gap || list.empty();
    // One too many is as wrong as any number, and cannot overflow the sum.
    for (const json& count : list)
      counted +=
          static_cast<std::size_t>(std::min(count.get<double>(), static_cast<double>(length) + 1));
  }
  if (gap || counted != length)
    lists->fail(
        fmt::format("expected as many in all as {} has, {}, and some in each", rule.of, length));
}

void check(const Node& node, const Needs& rule) {
  const json& value = *find(node.value, rule.key);
  for (const std::string_view key : value == rule.is ? rule.then : rule.otherwise) {
    const json* const needed = find(node.value, key);
    if (needed == nullptr || *needed == "")
      node.fail(fmt::format("\"{}\" is missing: {} is {}", key, rule.key, dump(value)));
  }
}

void check(const Node& node, const Names& rule) {
  std::unordered_set<std::string> names;
  for (const std::string_view name : rule.besides) names.emplace(name);
  for_each_row(node, rule.rows, [&](const Node& row) {
    const Node name = member(row, rule.key);
    if (!names.insert(name.value.get<std::string>()).second) name.expected("one of its own");
  });
  const std::string known =
      fmt::format("{}, or {} of one of {}", fmt::join(rule.besides, ", "), rule.key, rule.rows);
  const auto refer = [&](const Node& row) {
    const Node name = member(row, rule.reference);
    if (!names.contains(name.value.get<std::string>())) name.expected(known);
  };
  for (const std::string_view rows : rule.in) for_each_row(node, rows, refer);
  names.emplace();
  for (const std::string_view rows : rule.empty_in) for_each_row(node, rows, refer);
}

void check(const Node& node, const Unique& rule) {
  std::set<std::vector<std::string>> seen;
  for_each_row(node, rule.rows, [&](const Node& row) {
    std::vector<std::string> texts;
    for (const std::string_view key : rule.keys) {
      const json* const value = find(row.value, key);
      texts.push_back(value ? text_of(*value) : "");
    }
    if (!seen.insert(std::move(texts)).second)
      row.fail(fmt::format("its {} are there twice", fmt::join(rule.keys, ", ")));
  });
}

}  // namespace peakline::profile_format
