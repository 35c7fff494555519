#pragma once

#include <cstddef>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace peakline {

// Text that is safe to print: control characters, invisible or direction-changing ones, line ends,
// noncharacters and invalid UTF-8 become U+FFFD, one each. Text longer than `max_chars` characters
// is cut and ends in an ellipsis.
std::string printable(std::string_view text, std::size_t max_chars = std::string_view::npos);

// Bytes of the longest beginning that is well-formed UTF-8.
std::size_t well_formed(std::string_view text);

// "node7" of "profiles/node7.json.gz".
std::string stem_of(std::string_view file);

// A name that others chose, such as a host's, for use in a file name: at most 64 letters, digits,
// dots, hyphens and underscores, not beginning with a dot or hyphen; "host" if none are left.
std::string file_name_part(std::string_view text);

// An exception's message; names the limit if no process or thread could be made.
std::string reason_of(const std::exception& error);

// The name of an enumerator counted from 0; "" beyond the last.
constexpr std::string_view name_of(std::initializer_list<std::string_view> names, auto enumerator) {
  const auto position = static_cast<std::size_t>(enumerator);
  return position < names.size() ? names.begin()[position] : std::string_view();
}

// "half_zeros" -> "half zeros".
std::string spaced(std::string_view name);

// "bf16" -> "BF16".
std::string upper(std::string_view text);

// "a, b" of "a", "", "b".
std::string joined(std::vector<std::string> parts, std::string_view separator = ", ");
// "a, b, c and 2 more"
std::string shortened(const std::vector<std::string>& names);

// Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace peakline
