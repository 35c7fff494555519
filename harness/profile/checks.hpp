#pragma once

// Checks values against the rules of fields.hpp: after reading, and before writing. Throws
// ProfileError for a violation.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/profile/fields.hpp"
#include "harness/profile/place.hpp"

namespace peakline::profile_format {

// Rules of single values. `expected` takes a description of valid values, and throws.

template <class T>
std::string quoted(std::span<const T> texts) {
  std::string list;
  for (const T& text : texts) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", text);
  return list;
}

bool matches(const std::string& text, std::string_view pattern);

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
    expected(rule.example.empty() ? fmt::format("text that matches {}", rule.pattern)
                                  : fmt::format("a valid value such as {}", rule.example));
}

inline void check_length(const Place& place, std::size_t length, const Rule& rule) {
  if (length < rule.min_items)
    place.fail(fmt::format("expected at least {} elements, found {}", rule.min_items, length));
  if (length > rule.max_items)
    place.fail(fmt::format("expected up to {} elements, found {}", rule.max_items, length));
}

// Rules between fields.

struct Field;
using Fields = std::vector<Field>;
using RowUse = std::function<void(std::size_t index, const Fields& row)>;

// A field, as rules between fields see it. Refers to its structure.
struct Field {
  std::string_view key = {};
  std::optional<double> number = {};
  std::string_view text = {};                                      // also an enumerator's name
  std::size_t length = 0;                                          // of a text or a list
  bool missing = false;                                            // unknown, or empty text
  const std::vector<std::vector<std::int64_t>>* counts = nullptr;  // if it holds those
  const void* value = nullptr;
  // Equal values give equal text; false and unknown values give none.
  std::string (*identity)(const void* value) = nullptr;
  // nullptr unless it is a list of structures.
  void (*for_each_row)(const void* value, const RowUse& use) = nullptr;
};

// Visits fields.
struct Collector {
  Fields& found;

  template <class T>
  void operator()(std::string_view key, const T& value, const Rule& = {}) const;
  template <class T>
  void maybe(std::string_view key, const T& value, const Rule& = {},
             const std::type_identity_t<T>& = {}) const {
    (*this)(key, value);
  }
  void rule(const auto&) const {}
};

template <class T>
concept Described = requires(const Collector& collector, T& value) {
  fields(collector, value);
};

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;

template <class T>
Fields fields_of(const T& structure) {
  Fields found;
  found.reserve(32);  // most structures have fewer
  const Collector collector{found};
  fields(collector, structure);
  return found;
}

template <class T>
std::string identity_of(const T& value) {
  if constexpr (std::same_as<T, std::string>) {
    return value;
  } else if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "";
  } else if constexpr (std::is_arithmetic_v<T>) {
    return fmt::format("{}", value);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? identity_of(*value) : "";
  } else if constexpr (std::same_as<T, Params>) {
    return point_name("", value);
  } else if constexpr (Described<T>) {
    std::string all;
    for (const Field& field : fields_of(value)) all += field.identity(field.value) + '/';
    return all;
  } else if constexpr (requires { to_string(value); }) {
    return std::string(to_string(value));
  } else {
    return {};  // identifies nothing
  }
}

template <class T>
void Collector::operator()(std::string_view key, const T& value, const Rule&) const {
  Field& field = found.emplace_back();
  field.key = key;
  if constexpr (requires { field.number = value; }) field.number = value;
  if constexpr (std::same_as<T, std::string>) field.text = value;
  if constexpr (Enumeration<T>) field.text = to_string(value);
  if constexpr (requires { value.size(); }) field.length = value.size();
  if constexpr (requires { value.has_value(); }) field.missing = !value;
  if constexpr (std::same_as<T, std::string>) field.missing = value.empty();
  if constexpr (requires { field.counts = &value; }) field.counts = &value;
  field.value = &value;
  field.identity = [](const void* v) { return identity_of(*static_cast<const T*>(v)); };
  if constexpr (kIsList<T>) {
    if constexpr (Described<typename T::value_type>) {
      field.for_each_row = [](const void* v, const RowUse& use) {
        const T& rows = *static_cast<const T*>(v);
        for (std::size_t i = 0; i < rows.size(); ++i) use(i, fields_of(rows[i]));
      };
    }
  }
}

void check(const Place& place, const Fields& fields, const Ascending& rule);
void check(const Place& place, const Fields& fields, const OneLength& rule);
void check(const Place& place, const Fields& fields, const Counts& rule);
void check(const Place& place, const Fields& fields, const Needs& rule);
void check(const Place& place, const Fields& fields, const Names& rule);
void check(const Place& place, const Fields& fields, const Unique& rule);

}  // namespace peakline::profile_format
