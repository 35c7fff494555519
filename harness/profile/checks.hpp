#pragma once

// Checks values against the rules of fields.hpp: after reading, and before writing. Throws
// ProfileError for a violation.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "harness/profile/fields.hpp"
#include "harness/profile/json.hpp"
#include "harness/profile/place.hpp"

namespace peakline::profile_format {

// Rules of single values. `expected` takes a description of valid values, and throws.

template <class T>
std::string quoted(std::span<const T> texts) {
  std::string list;
  for (const T& text : texts) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", text);
  return list;
}

inline bool matches(const std::string& text, std::string_view pattern) {
  struct Compiled {
    std::regex regex;
    std::optional<std::string> matched = {};  // cache: consecutive rows often repeat a text
  };
  thread_local std::map<std::string_view, Compiled> known;
  auto found = known.find(pattern);
  if (found == known.end()) {
    std::regex regex(pattern.begin(), pattern.end(), std::regex::optimize);
    found = known.try_emplace(pattern, Compiled{std::move(regex)}).first;
  }
  auto& [regex, matched] = found->second;
  if (text == matched) return true;
  if (!std::regex_match(text, regex)) return false;
  matched = text;
  return true;
}

inline void check(double value, const Rule& rule, const auto& expected) {
  if (!std::isfinite(value)) {
    if (!rule.gaps) expected("a finite number");
    return;
  }
  if (value == 0 && rule.range != Range::kPositive) return;
  if (value <= 0 && rule.range == Range::kPositive) expected("a number above 0");
  if (value < 0 && rule.range != Range::kSigned) expected("a number that is not negative");
  if (value > 1 && rule.range == Range::kShare) expected("a number from 0 to 1");
  if (std::abs(value) < kLeastMagnitude || std::abs(value) > kMostMagnitude)
    expected(fmt::format("a magnitude from {} to {}", kLeastMagnitude, kMostMagnitude));
}

// value: nullopt if it does not fit the type.
template <Integer T>
void check(std::optional<T> value, const Rule& rule, const auto& expected) {
  const T least = least_of<T>(rule);
  if (!value || *value < least)
    expected(fmt::format("a whole number from {} to {}", least, std::numeric_limits<T>::max()));
}
template <Integer T>
void check(T value, const Rule& rule, const auto& expected) {
  check(std::optional(value), rule, expected);
}

inline void check(const std::string& value, const Rule& rule, const auto& expected) {
  if (!rule.one_of.empty() && std::ranges::find(rule.one_of, value) == rule.one_of.end())
    expected("one of " + quoted(rule.one_of));
  if (value.size() < rule.min_length) expected("text that is not empty");
  if (value.size() > rule.max_length)
    expected(fmt::format("text of up to {} characters", rule.max_length));
  if (!rule.pattern.empty() && !matches(value, rule.pattern))
    expected(fmt::format("text that matches {}", rule.pattern));
}

inline void check_length(const Place& place, std::size_t length, const Rule& rule) {
  if (length < rule.min_items)
    place.fail(fmt::format("expected at least {} elements, found {}", rule.min_items, length));
  if (length > rule.max_items)
    place.fail(fmt::format("expected up to {} elements, found {}", rule.max_items, length));
}

// Access to fields by name.

template <class Use>
struct Visitor {
  const Use& use;

  template <class T>
  void operator()(std::string_view key, const T& value, const Rule& = {}) const {
    use(key, value);
  }
  template <class T>
  void maybe(std::string_view key, const T& value, const Rule& = {},
             const std::type_identity_t<T>& = {}) const {
    use(key, value);
  }
  void rule(const auto&) const {}
};

// use(key, value)
template <class T>
void for_each_field(const T& structure, const auto& use) {
  const Visitor<std::remove_cvref_t<decltype(use)>> visitor{use};
  fields(visitor, structure);
}

template <class T>
concept Described = requires(const Visitor<int>& visitor, T& value) {
  fields(visitor, value);
};

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;

void with_field(const auto& structure, std::string_view wanted, const auto& use) {
  for_each_field(structure, [&](std::string_view key, const auto& value) {
    if (key == wanted) use(value);
  });
}

// A field, as rules between fields see it.
struct Field {
  std::optional<double> number = {};
  std::string_view text = {};  // also an enumerator's name
  std::size_t length = 0;      // of a text or a list
  bool missing = false;        // unknown, or empty text
};

Field field_of(const auto& structure, std::string_view key) {
  Field field;
  with_field(structure, key, [&]<class T>(const T& value) {
    if constexpr (requires { field.number = value; }) field.number = value;
    if constexpr (std::same_as<T, std::string>) field.text = value;
    if constexpr (Enumeration<T>) field.text = to_string(value);
    if constexpr (requires { value.size(); }) field.length = value.size();
    if constexpr (requires { value.has_value(); }) field.missing = !value;
    if constexpr (std::same_as<T, std::string>) field.missing = value.empty();
  });
  return field;
}

// Equal values give equal text; false and unknown values give none.
template <class T>
std::string text_of(const T& value) {
  if constexpr (std::same_as<T, std::string>) {
    return value;
  } else if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "";
  } else if constexpr (std::is_arithmetic_v<T>) {
    return fmt::format("{}", value);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? text_of(*value) : "";
  } else if constexpr (std::same_as<T, Params>) {
    return point_name("", value);
  } else if constexpr (Described<T>) {
    std::string all;
    for_each_field(value,
                   [&](std::string_view, const auto& field) { all += text_of(field) + '/'; });
    return all;
  } else if constexpr (requires { to_string(value); }) {
    return std::string(to_string(value));
  } else {
    return {};  // identifies nothing
  }
}

// Calls `use` with the place and structure of each row.
void for_each_row(const Place& place, const auto& structure, std::string_view key,
                  const auto& use) {
  with_field(structure, key, [&]<class T>(const T& rows) {
    if constexpr (kIsList<T>) {
      if constexpr (Described<typename T::value_type>) {
        const Place list{.parent = &place, .key = key};
        for (std::size_t i = 0; i < rows.size(); ++i)
          use(Place{.parent = &list, .index = i}, rows[i]);
      }
    }
  });
}

// Rules between fields of a structure.

void check(const Place& place, const auto& structure, const Ascending& rule) {
  std::vector<double> numbers;
  for (const std::string_view key : rule.keys)
    if (const auto number = field_of(structure, key).number) numbers.push_back(*number);
  if (!std::ranges::is_sorted(numbers))
    place.fail(fmt::format("expected {}", fmt::join(rule.keys, " <= ")));
}

void check(const Place& place, const auto& structure, const OneLength& rule) {
  const std::size_t length = field_of(structure, rule.keys.front()).length;
  for (const std::string_view key : rule.keys) {
    const std::size_t found = field_of(structure, key).length;
    if (found != length)
      Place{.parent = &place, .key = key}.fail(
          fmt::format("expected {} values, as in {}, found {}", length, rule.keys.front(), found));
  }
}

void check(const Place& place, const auto& structure, const Counts& rule) {
  const std::size_t length = field_of(structure, rule.of).length;
  std::size_t counted = 0;
  bool any = false, gap = false;
  with_field(structure, rule.key, [&](const auto& lists) {
    if constexpr (std::same_as<decltype(lists), const std::vector<std::vector<std::int64_t>>&>) {
      any = !lists.empty();
      for (const std::vector<std::int64_t>& list : lists) {
        gap = gap || list.empty();
        // Clamping keeps the sum from overflowing; one too many already fails.
        for (const std::int64_t count : list)
          counted += std::min(static_cast<std::size_t>(count), length + 1);
      }
    }
  });
  if (any && (gap || counted != length))
    Place{.parent = &place, .key = rule.key}.fail(
        fmt::format("expected as many in all as {} has, {}, and some in each", rule.of, length));
}

void check(const Place& place, const auto& structure, const Needs& rule) {
  const std::string_view found = field_of(structure, rule.key).text;
  for (const std::string_view key : found == rule.is ? rule.then : rule.otherwise)
    if (field_of(structure, key).missing)
      place.fail(fmt::format("\"{}\" is missing: {} is \"{}\"", key, rule.key, found));
}

void check(const Place& place, const auto& structure, const Names& rule) {
  std::unordered_set<std::string_view> names(rule.besides.begin(), rule.besides.end());
  const auto expected = [](const Place& row, std::string_view key, std::string_view name,
                           std::string_view what) {
    Place{.parent = &row, .key = key}.expected(what, dump(name));
  };
  for_each_row(place, structure, rule.rows, [&](const Place& at, const auto& row) {
    const std::string_view name = field_of(row, rule.key).text;
    if (!names.insert(name).second) expected(at, rule.key, name, "one of its own");
  });
  const std::string known =
      fmt::format("{}, or {} of one of {}", fmt::join(rule.besides, ", "), rule.key, rule.rows);
  const auto refer = [&](const Place& at, const auto& row) {
    const std::string_view name = field_of(row, rule.reference).text;
    if (!names.contains(name)) expected(at, rule.reference, name, known);
  };
  for (const std::string_view rows : rule.in) for_each_row(place, structure, rows, refer);
  names.emplace();
  for (const std::string_view rows : rule.empty_in) for_each_row(place, structure, rows, refer);
}

void check(const Place& place, const auto& structure, const Unique& rule) {
  std::unordered_set<std::string> seen;
  for_each_row(place, structure, rule.rows, [&](const Place& at, const auto& row) {
    std::string identity;
    for_each_field(row, [&](std::string_view key, const auto& value) {
      if (std::ranges::find(rule.keys, key) == rule.keys.end()) return;
      const std::string shown = text_of(value);
      identity += fmt::format("{}:{}", shown.size(), shown);
    });
    if (!seen.insert(std::move(identity)).second)
      at.fail(fmt::format("its {} are there twice", fmt::join(rule.keys, ", ")));
  });
}

}  // namespace peakline::profile_format
