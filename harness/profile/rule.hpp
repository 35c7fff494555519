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
  std::size_t max_items = kUnlimited;             // of the list itself
  bool gaps = false;                              // a number may be null
  bool shared = false;  // stands once for the measurements that have it in common
};

// Returns what the samples of a record say without its summary; nullopt where there are none.
std::optional<Summary> summary_of(const std::vector<double>& samples_s);
// Returns what its work, unit and summary say of its value; nullopt where they do not.
std::optional<double> value_of(const Measurement& m);

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

inline constexpr std::array<std::string_view, 2> kModes = {"quick", "full"};

}  // namespace peakline::profile_format
