#pragma once

// The vocabulary in which fields.hpp describes fields.

#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline::profile_format {

// Bounds numbers other than 0 to magnitudes that cover all quantities in base SI units, so that
// products of a few stay finite.
enum class Range { kNotNegative, kPositive, kShare, kSigned };
inline constexpr double kLeastMagnitude = 1e-30;
inline constexpr double kMostMagnitude = 1e30;

inline constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// A field's constraints beyond its type; for lists and objects mostly those of their elements.
struct FieldRule {
  std::string_view what = {};
  Range range = Range::kNotNegative;
  std::string_view pattern = {};                  // of the whole text
  std::string_view example = {};                  // shown instead of a long pattern
  std::size_t min_length = 0;                     // of a text
  std::size_t max_length = kUnlimited;            // likewise
  std::span<const std::string_view> one_of = {};  // texts
  std::size_t min_items = 0;                      // of the list itself
  std::size_t max_items = kUnlimited;             // likewise
  bool gaps = false;                              // numbers may be null
};

constexpr FieldRule described(FieldRule rule, std::string_view what) {
  rule.what = what;
  return rule;
}

// A date that exists, and a time, UTC.
inline constexpr FieldRule kUtcTime{
    .pattern =
        "^([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|"
        "(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|"
        "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)T"
        "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$",
    .example = "2026-01-31T12:00:00Z",
    .max_length = 20};

// Rules between fields, checked by the reader and printed in the schema for other languages.

// Known numbers do not decrease in this order.
struct Ascending {
  std::vector<std::string_view> keys;
};
// All lists have the same length.
struct OneLength {
  std::vector<std::string_view> keys;
};
// `key`: lists of counts, none empty, that add up to the length of `of`.
struct Counts {
  std::string_view key, of;
};
// If the text `key` equals `is`, the fields `then` are present, else the fields `otherwise`.
struct Needs {
  std::string_view key, is;
  std::vector<std::string_view> then, otherwise;
};
// `key` is a unique name in each row of `rows`, different from `besides`. `reference` in other
// lists is one of these names, or empty in lists of the last kind.
struct Names {
  std::string_view rows, key;
  std::vector<std::string_view> besides;
  std::string_view reference;
  std::vector<std::string_view> in, empty_in;
};
// These fields together identify a row.
struct Unique {
  std::string_view rows;
  std::vector<std::string_view> keys;
};

template <class T, class U>
concept Like = std::same_as<std::remove_const_t<T>, U>;
template <class T>
concept Enumeration = std::is_enum_v<T>;
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept Structure = std::is_class_v<T>;

// Names of enumerators counted from 0.
template <Enumeration T>
std::vector<std::string_view> names_of() {
  std::vector<std::string_view> names;
  for (int i = 0; !to_string(static_cast<T>(i)).empty(); ++i)
    names.push_back(to_string(static_cast<T>(i)));
  return names;
}

template <Integer T>
constexpr T least_of(const FieldRule& rule) {
  return rule.range == Range::kPositive      ? 1
         : rule.range == Range::kNotNegative ? 0
                                             : std::numeric_limits<T>::min();
}

inline constexpr std::array<std::string_view, 2> kModes = {"quick", "full"};

// Every unit that values have. Readers print units and export them in code, so no other text is
// one.
inline constexpr auto kRateUnits = std::to_array<std::string_view>({"B/s", "FLOP/s", "OP/s"});
inline constexpr auto kMeasuredUnits =
    std::to_array<std::string_view>({"s", "B/s", "FLOP/s", "OP/s"});
inline constexpr auto kPopulationUnits =
    std::to_array<std::string_view>({"B/s", "FLOP/s", "OP/s", "load/s", "1"});
inline constexpr auto kFigureUnits = std::to_array<std::string_view>(
    {"1", "s", "B", "Hz", "B/s", "FLOP/s", "OP/s", "FLOP/B", "s/GiB", "IOPS", "W", "°C", "cycles",
     "1/clk/SM", "J/B", "J/FLOP"});

}  // namespace peakline::profile_format
