#pragma once

// Plain text for a terminal: aligned columns, wrapped cells, optional colour. Colour travels inside
// strings as private markers that take no column, and becomes escape sequences, or nothing, only in
// terminal_text(), which also makes everything else printable: a profile may come from anywhere.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace peakline {

// How a whole text is printed.
struct ShowOptions {
  bool color = false;
  std::size_t width = 100;  // columns
};

enum class Style { kBold, kDim, kRed, kYellow, kGreen };

std::string styled(Style style, std::string_view text);

// Stands for a value that is not known.
std::string not_known();
// The line above a table or a list.
std::string section(std::string_view title, std::string_view remark = {});

// Columns that the text takes: UTF-8 code points, without markers. East Asian wide characters and
// combining marks, which no figure or product name has, are counted as one.
std::size_t text_width(std::string_view text);

std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);

// Breaks at spaces into lines of at most `width` columns; a longer word stays whole, and so does a
// number with its unit. At least one line; line breaks in `text` count as spaces.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

// `first` and then `text` wrapped beside it, in `width` columns altogether; ends in a newline.
std::string hanging(std::string_view first, std::string_view text, std::size_t width);

// Replaces markers by ANSI escape sequences (or removes them), and makes what stands between them
// and line feeds printable().
std::string terminal_text(std::string_view text, bool color);

// Without `count` of the columns, or of a row's cells, from `first` on.
template <class T>
std::vector<T> without(std::vector<T> all, int first, int count) {
  all.erase(all.begin() + first, all.begin() + first + count);
  return all;
}

// Rows of cells. The columns take the width of their widest cell; the last one, if it is left
// aligned, wraps at the table's width.
class TextTable {
 public:
  enum class Align { kLeft, kRight };

  // gap: spaces before each column.
  struct Column {
    Align align = Align::kRight;
    std::size_t gap = 2;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Missing cells at the end are empty; more cells than columns throw std::invalid_argument.
  void row(std::vector<std::string> cells);
  // A line across the table, whose width does not count for the columns.
  void heading(std::string text);

  // width: columns that the whole table may take.
  std::string render(std::size_t width) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string heading;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

constexpr TextTable::Column left(std::size_t gap) { return {TextTable::Align::kLeft, gap}; }
constexpr TextTable::Column right(std::size_t gap) { return {TextTable::Align::kRight, gap}; }

}  // namespace peakline
