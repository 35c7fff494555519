#pragma once

// Terminal text: wrapped lines, optional colour. Private markers of zero width carry colour;
// terminal_text() replaces them by escape sequences or nothing, and makes everything else
// printable, as profiles are untrusted.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace peakline {

struct ShowOptions {
  bool color = false;
  std::size_t width = 100;  // columns
};

enum class Style { kPlain, kBold, kDim, kRed, kYellow, kGreen };

std::string styled(Style style, std::string_view text);

std::string not_known();
// A heading of a table or list, wrapped if too long.
std::string section(std::string_view title, std::string_view remark, std::size_t width);

// Columns: code points without markers. East Asian wide characters and combining marks, which
// figures and products lack, count as one.
std::size_t text_width(std::string_view text);

std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);

// Lines of at most `width` columns, broken at spaces; long words, and numbers with their units,
// stay whole. At least one line; newlines count as spaces.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

// Likewise, cutting words that are longer than a line.
std::vector<std::string> cut_lines(const std::string& text, std::size_t width);
// Profile text must not start a new line.
std::string on_one_line(std::string text);

// Narrower text is unreadable, so exceed the width instead.
inline constexpr std::size_t kNarrowest = 16;

// `first`, then `text` wrapped beside it, in `width` columns in all; ends in a newline. A `first`
// that leaves too little room indents further lines less.
std::string hanging(std::string_view first, std::string_view text, std::size_t width);

// Replaces markers by ANSI escape sequences, or removes them; makes the rest printable().
std::string terminal_text(std::string_view text, bool color);

}  // namespace peakline
