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
// The line above a table or a list, wrapped where it is too long.
std::string section(std::string_view title, std::string_view remark, std::size_t width);

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

// Rows of cells, whose columns take the width of their widest cell. Where that is too wide for the
// terminal, columns that say so are left out, the first of them those of the highest rank; what is
// still too wide wraps in its left-aligned columns, the last one first.
class TextTable {
 public:
  enum class Align { kLeft, kRight };

  struct Column {
    Align align = Align::kRight;
    std::size_t gap = 2;  // spaces before it
    int dispensable = 0;  // its rank; 0: it is never left out
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Missing cells at the end are empty; more cells than columns throw std::invalid_argument.
  void row(std::vector<std::string> cells);
  // A line across the table, whose width does not count for the columns; one that is too long wraps
  // under its first word.
  void heading(std::string text);

  // width: columns of the terminal that the whole table may take.
  std::string render(std::size_t width) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string heading;
  };
  // A column that is shown, and how wide.
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
