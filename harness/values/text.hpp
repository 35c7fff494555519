#pragma once

// Text as it is printed: what comes from outside (a file, the command line, another process), the
// names of enumerators, and long lists.

#include <cstddef>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace peakline {

// The text as UTF-8 that a terminal only shows: control characters (C0, DEL, C1), those that end a
// line, change the direction of writing or are not seen, and bytes that are not UTF-8 become
// U+FFFD, one each. A text of more than `max_chars` characters ends in an ellipsis, as its last
// one.
std::string printable(std::string_view text, std::size_t max_chars = std::string_view::npos);

// An exception's message; if a process or a thread could not be made, it names the limit.
std::string reason_of(const std::exception& error);

// The name of an enumerator, of those that count from 0; empty beyond the last.
constexpr std::string_view name_of(std::initializer_list<std::string_view> names, auto enumerator) {
  const auto position = static_cast<std::size_t>(enumerator);
  return position < names.size() ? names.begin()[position] : std::string_view();
}

// "half_zeros" is "half zeros".
std::string spaced(std::string_view name);

// "a, b, c and 2 more"
std::string shortened(const std::vector<std::string>& names);

// The Levenshtein distance: how many insertions, deletions and replacements turn one text into the
// other.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace peakline
