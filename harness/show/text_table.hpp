#pragma once

// Terminal text: aligned columns, wrapped cells, optional colour. Private markers of zero width
// carry colour; terminal_text() replaces them by escape sequences or nothing, and makes everything
// else printable, as profiles are untrusted.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace peakline {

struct ShowOptions {
  bool color = false;
  std::size_t width = 100;  // columns
};

enum class Style { kBold, kDim, kRed, kYellow, kGreen };

std::string styled(Style style, std::string_view text);

std::string not_known();
// A heading of a table or list, wrapped if too long.
std::string section(std::string_view title, std::string_view remark, std::size_t width);

// Columns: code points without markers. East Asian wide characters and combining marks, which
// figures and products lack, count as one.
std::size_t text_width(std::string_view text);

std::string pad_right(std::string_view text, std::size_t width);

// Lines of at most `width` columns, broken at spaces; long words, and numbers with their units,
// stay whole. At least one line; newlines count as spaces.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

// `first`, then `text` wrapped beside it, in `width` columns in all; ends in a newline. A `first`
// that leaves too little room indents further lines less.
std::string hanging(std::string_view first, std::string_view text, std::size_t width);

// A line per row: the label, and the text wrapped beside it. Labels of more than half the width do
// not widen their column.
std::string labelled(std::span<const std::pair<std::string, std::string>> rows, std::size_t width);

// Replaces markers by ANSI escape sequences, or removes them; makes the rest printable().
std::string terminal_text(std::string_view text, bool color);

// Columns are as wide as their widest cell. If the terminal is too narrow, dispensable columns are
// dropped, highest rank first; then left-aligned columns wrap, last one first.
class TextTable {
 public:
  enum class Align { kLeft, kRight };

  struct Column {
    Align align = Align::kRight;
    std::size_t gap = 2;  // spaces before it
    int dispensable = 0;  // rank; 0: never dropped
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Missing cells are empty; too many throw std::invalid_argument.
  void row(std::vector<std::string> cells);
  // A line across the table, which does not widen columns; wraps under its first word.
  void heading(std::string text);

  // width: columns available.
  std::string render(std::size_t width) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string heading;
  };
  struct Shown {
    std::size_t index = 0, width = 0;
  };
  std::vector<Shown> fitted(std::size_t width) const;
  std::string text_of(const Row& row, const std::vector<Shown>& shown) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

constexpr TextTable::Column left(std::size_t gap, int dispensable = 0) {
  return {TextTable::Align::kLeft, gap, dispensable};
}
constexpr TextTable::Column right(std::size_t gap, int dispensable = 0) {
  return {TextTable::Align::kRight, gap, dispensable};
}

}  // namespace peakline
