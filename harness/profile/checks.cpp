#include "harness/profile/checks.hpp"

#include <fmt/ranges.h>
#include <re2/re2.h>

#include <map>
#include <unordered_set>
#include <utility>

#include "harness/profile/json.hpp"

namespace peakline::profile_format {
namespace {

const Field& field_of(const Fields& fields, std::string_view key) {
  static const Field kNone;
  const auto found = std::ranges::find(fields, key, &Field::key);
  return found == fields.end() ? kNone : *found;
}

// Calls `use` with the place and the fields of each row of a list.
void for_each_row(const Place& place, const Fields& fields, std::string_view key,
                  const std::function<void(const Place&, const Fields&)>& use) {
  const Field& rows = field_of(fields, key);
  if (rows.for_each_row == nullptr) return;
  const Place list{.parent = &place, .key = key};
  rows.for_each_row(rows.value, [&](std::size_t index, const Fields& row) {
    use(Place{.parent = &list, .index = index}, row);
  });
}

}  // namespace

bool matches(const std::string& text, std::string_view pattern) {
  thread_local std::map<std::string_view, const re2::RE2> known;
  const auto found = known.try_emplace(pattern, std::string(pattern)).first;
  return re2::RE2::FullMatch(text, found->second);
}

void check(const Place& place, const Fields& fields, const Ascending& rule) {
  std::vector<double> numbers;
  for (const std::string_view key : rule.keys)
    if (const auto number = field_of(fields, key).number) numbers.push_back(*number);
  if (!std::ranges::is_sorted(numbers))
    place.fail(fmt::format("expected {}", fmt::join(rule.keys, " <= ")));
}

void check(const Place& place, const Fields& fields, const OneLength& rule) {
  const std::size_t length = field_of(fields, rule.keys.front()).length;
  for (const std::string_view key : rule.keys) {
    const std::size_t found = field_of(fields, key).length;
    if (found != length)
      Place{.parent = &place, .key = key}.fail(
          fmt::format("expected {} values, as in {}, found {}", length, rule.keys.front(), found));
  }
}

void check(const Place& place, const Fields& fields, const Counts& rule) {
  const std::size_t length = field_of(fields, rule.of).length;
  const auto* lists = field_of(fields, rule.key).counts;
  if (lists == nullptr || lists->empty()) return;
  std::size_t counted = 0;
  bool gap = false;
  for (const std::vector<std::int64_t>& list : *lists) {
    gap = gap || list.empty();
    // Clamping keeps the sum from overflowing; one too many already fails.
    for (const std::int64_t count : list)
      counted += std::min(static_cast<std::size_t>(count), length + 1);
  }
  if (gap || counted != length)
    Place{.parent = &place, .key = rule.key}.fail(
        fmt::format("expected as many in all as {} has, {}, and some in each", rule.of, length));
}

void check(const Place& place, const Fields& fields, const Needs& rule) {
  const std::string_view found = field_of(fields, rule.key).text;
  for (const std::string_view key : found == rule.is ? rule.then : rule.otherwise)
    if (field_of(fields, key).missing)
      place.fail(fmt::format("\"{}\" is missing: {} is \"{}\"", key, rule.key, found));
}

void check(const Place& place, const Fields& fields, const Names& rule) {
  std::unordered_set<std::string_view> names(rule.besides.begin(), rule.besides.end());
  const auto expected = [](const Place& row, std::string_view key, std::string_view name,
                           std::string_view what) {
    Place{.parent = &row, .key = key}.expected(what, dump(name));
  };
  for_each_row(place, fields, rule.rows, [&](const Place& at, const Fields& row) {
    const std::string_view name = field_of(row, rule.key).text;
    if (!names.insert(name).second) expected(at, rule.key, name, "one of its own");
  });
  const std::string known =
      fmt::format("{}, or {} of one of {}", fmt::join(rule.besides, ", "), rule.key, rule.rows);
  const auto refer = [&](const Place& at, const Fields& row) {
    const std::string_view name = field_of(row, rule.reference).text;
    if (!names.contains(name)) expected(at, rule.reference, name, known);
  };
  for (const std::string_view rows : rule.in) for_each_row(place, fields, rows, refer);
  names.emplace();
  for (const std::string_view rows : rule.empty_in) for_each_row(place, fields, rows, refer);
}

void check(const Place& place, const Fields& fields, const Unique& rule) {
  std::unordered_set<std::string> seen;
  for_each_row(place, fields, rule.rows, [&](const Place& at, const Fields& row) {
    std::string identity;
    for (const Field& field : row) {
      if (std::ranges::find(rule.keys, field.key) == rule.keys.end()) continue;
      const std::string shown = field.identity(field.value);
      identity += fmt::format("{}:{}", shown.size(), shown);
    }
    if (!seen.insert(std::move(identity)).second)
      at.fail(fmt::format("its {} are there twice", fmt::join(rule.keys, ", ")));
  });
}

}  // namespace peakline::profile_format
