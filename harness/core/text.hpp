#pragma once

// Text made fit to be printed: what comes from outside (a file, the command line, another process),
// and long lists.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace peakline {

// The text as UTF-8 that a terminal only shows: control characters (C0, DEL, C1), those that change
// the direction of writing, and bytes that are not UTF-8 become U+FFFD, one each. A text of more
// than `max_chars` characters ends in an ellipsis, as its last one.
std::string printable(std::string_view text, std::size_t max_chars = std::string_view::npos);

// "a, b, c and 2 more"
std::string shortened(const std::vector<std::string>& names);

}  // namespace peakline
