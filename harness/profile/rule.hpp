#pragma once

// The words in which fields.hpp describes a field of a profile.

#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline::profile_format {

// Bounds a number. Unless it is 0, its magnitude is from kLeastMagnitude to kMostMagnitude: no
// quantity in base SI units is beyond them, and products of a few such numbers stay finite.
enum class Range { kNotNegative, kPositive, kShare, kSigned };
inline constexpr double kLeastMagnitude = 1e-30;
inline constexpr double kMostMagnitude = 1e30;

inline constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// The schema says this of a field beyond its type; of a list or an object, mostly of its elements.
struct Rule {
  std::string_view what = {};
  Range range = Range::kNotNegative;
  std::string_view pattern = {};                  // of the whole text
  std::size_t min_length = 0;                     // of a text
  std::size_t max_length = kUnlimited;            // of a text, so that its pattern is no work
  std::span<const std::string_view> one_of = {};  // texts
  std::size_t min_items = 0;                      // of the list itself
  std::size_t max_items = kUnlimited;             // likewise
  bool gaps = false;                              // a number may be null
};

// Conditions between the fields of a structure. The reader checks them, and the schema prints them,
// so that readers in other languages check the same.

// Numbers do not decrease in this order; those that are left out do not count.
struct Ascending {
  std::vector<std::string_view> keys;
};
// Lists have as many elements as the first one.
struct OneLength {
  std::vector<std::string_view> keys;
};
// A list of lists of counts, none of them empty, which add up to the length of another list.
struct Counts {
  std::string_view key, of;
};
// One group of fields is there where a text is `is`, the other, of texts that are not empty, where
// it is not.
struct Needs {
  std::string_view key, is;
  std::vector<std::string_view> then, otherwise;
};
// The text `key` of each of `rows` is a name of its own, none of `besides`. The text `reference` of
// each row of other lists is one of all these names, or empty in lists of the last kind.
struct Names {
  std::string_view rows, key;
  std::vector<std::string_view> besides;
  std::string_view reference;
  std::vector<std::string_view> in, empty_in;
};
// No two of `rows` have all these fields in common.
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

// Names the enumerators in their order; they count from 0.
template <Enumeration T>
std::vector<std::string_view> names_of() {
  std::vector<std::string_view> names;
  for (int i = 0; !to_string(static_cast<T>(i)).empty(); ++i)
    names.push_back(to_string(static_cast<T>(i)));
  return names;
}

template <Integer T>
constexpr T least_of(const Rule& rule) {
  return rule.range == Range::kPositive      ? 1
         : rule.range == Range::kNotNegative ? 0
                                             : std::numeric_limits<T>::min();
}

inline constexpr std::array<std::string_view, 2> kModes = {"quick", "full"};

}  // namespace peakline::profile_format
