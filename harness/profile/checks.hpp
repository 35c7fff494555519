#pragma once

// Checks values against the rules of fields.hpp. Throws ProfileError for a violation.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>

#include "harness/profile/document.hpp"
#include "harness/profile/field_rule.hpp"

namespace peakline::profile_format {

// Rules of single values. `expected` takes a description of valid values, and throws.

template <class T>
std::string quoted(std::span<const T> texts) {
  std::string list;
  for (const T& text : texts) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", text);
  return list;
}

bool matches(const std::string& text, std::string_view pattern);

inline void check(double value, const FieldRule& rule, const auto& expected) {
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
void check(std::optional<T> value, const FieldRule& rule, const auto& expected) {
  const T least = least_of<T>(rule);
  if (!value || *value < least)
    expected(fmt::format("a whole number from {} to {}", least, std::numeric_limits<T>::max()));
}
template <Integer T>
void check(T value, const FieldRule& rule, const auto& expected) {
  check(std::optional(value), rule, expected);
}

inline void check(const std::string& value, const FieldRule& rule, const auto& expected) {
  if (!rule.one_of.empty() && std::ranges::find(rule.one_of, value) == rule.one_of.end())
    expected("one of " + quoted(rule.one_of));
  if (value.size() < rule.min_length) expected("text that is not empty");
  if (value.size() > rule.max_length)
    expected(fmt::format("text of up to {} characters", rule.max_length));
  if (!rule.pattern.empty() && !matches(value, rule.pattern))
    expected(rule.example.empty() ? fmt::format("text that matches {}", rule.pattern)
                                  : fmt::format("a valid value such as {}", rule.example));
}

inline void check_length(const Place& place, std::size_t length, const FieldRule& rule) {
  if (length < rule.min_items)
    place.fail(fmt::format("expected at least {} elements, found {}", rule.min_items, length));
  if (length > rule.max_items)
    place.fail(fmt::format("expected up to {} elements, found {}", rule.max_items, length));
}

// Rules between fields, of an object whose fields are valid.

void check(const Node& node, const Ascending& rule);
void check(const Node& node, const OneLength& rule);
void check(const Node& node, const Counts& rule);
void check(const Node& node, const Needs& rule);
void check(const Node& node, const Names& rule);
void check(const Node& node, const Unique& rule);

}  // namespace peakline::profile_format
