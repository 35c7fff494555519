#include "harness/show/text_table.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <utility>

#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// A marker is one of these bytes, in the order of Style, and a zero: UTF-8, and so any profile,
// lacks the first; arguments and names of files lack the second.
constexpr std::array kMarkers = {'\xF8', '\xF9', '\xFA', '\xFB', '\xFC'};
constexpr std::array<std::string_view, kMarkers.size()> kSequences = {
    "\033[1m", "\033[2m", "\033[31m", "\033[33m", "\033[32m"};
constexpr char kReset = '\xFD';
constexpr std::string_view kResetSequence = "\033[0m";

// Narrower text is unreadable, so exceed the width instead.
constexpr std::size_t kNarrowest = 16;
// Wider text columns wrap before another column is dropped.
constexpr std::size_t kComfortable = 24;

bool begins_marker(std::string_view text) {
  return text.size() > 1 && text[1] == '\0' &&
         (text[0] == kReset || std::ranges::find(kMarkers, text[0]) != kMarkers.end());
}

// Whether the byte at a place is a marker's.
bool is_marker(std::string_view text, std::size_t place) {
  return begins_marker(text.substr(place)) || (place > 0 && begins_marker(text.substr(place - 1)));
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Profile text must not start a new line.
std::string on_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// Cuts overlong words after a punctuation mark, else anywhere.
std::vector<std::string> cut(std::string_view word, std::size_t width) {
  std::vector<std::string> pieces;
  while (true) {
    std::size_t columns = 0, end = 0, behind_mark = 0;
    for (; end < word.size(); ++end) {
      const bool takes_none = is_marker(word, end) || is_continuation(word[end]);
      if (!takes_none && ++columns > width) break;
      if (std::string_view("/.:_-").find(word[end]) != std::string_view::npos)
        behind_mark = end + 1;
    }
    const bool whole = end == word.size();
    if (!whole && behind_mark > 0) end = behind_mark;
    pieces.emplace_back(word.substr(0, end));
    if (whole) return pieces;
    word.remove_prefix(end);
  }
}

std::vector<std::string> cell_lines(const std::string& cell, std::size_t width) {
  if (text_width(cell) <= width) return {cell};
  std::vector<std::string> lines;
  for (const std::string& line : wrapped(cell, width))
    for (std::string& piece : cut(line, width)) lines.push_back(std::move(piece));
  return lines;
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t taken = text_width(text);
  return std::string(width > taken ? width - taken : 0, ' ') + std::string(text);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool starts_as_unit(std::string_view word) {
  const char c = word.front();
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '%';
}

}  // namespace

std::string styled(Style style, std::string_view text) {
  if (text.empty()) return {};
  return kMarkers[static_cast<std::size_t>(style)] + ('\0' + std::string(text)) + kReset + '\0';
}

std::string not_known() { return styled(Style::kDim, kNotKnown); }

std::string section(std::string_view title, std::string_view remark, std::size_t width) {
  const std::string line = styled(Style::kBold, title);
  return remark.empty() ? hanging("", line, width)
                        : hanging(line + "  ", styled(Style::kDim, remark), width);
}

std::size_t text_width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    columns += !is_continuation(text[i]) && !is_marker(text, i);
  return columns;
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t taken = text_width(text);
  return std::string(text) + std::string(width > taken ? width - taken : 0, ' ');
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string> lines(1);
  std::string word;  // and what must stay with it
  const auto place = [&] {
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (text_width(line) + 1 + text_width(word) <= width) {
      line += ' ' + word;
    } else {
      lines.push_back(word);
    }
    word.clear();
  };
  std::size_t position = 0;
  while ((position = text.find_first_not_of(kBlanks, position)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, position), text.size());
    const std::string_view next = text.substr(position, end - position);
    position = end;
    if (!word.empty() && is_digit(word.back()) && starts_as_unit(next)) {
      word += ' ';
    } else if (!word.empty()) {
      place();
    }
    word += next;
  }
  if (!word.empty()) place();
  return lines;
}

std::string hanging(std::string_view first, std::string_view text, std::size_t width) {
  const std::size_t most = width > kNarrowest ? width - kNarrowest : 0;
  const std::size_t indent = std::min(text_width(first), most);
  const auto lines = wrapped(text, std::max(width - indent, kNarrowest));
  std::string result = on_one_line(std::string(first));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) result += std::string(indent, ' ');
    result += lines[i] + '\n';
  }
  return result;
}

std::string labelled(std::span<const std::pair<std::string, std::string>> rows, std::size_t width) {
  std::size_t columns = 0;
  for (const auto& [label, text] : rows) columns = std::max(columns, text_width(label));
  columns = std::min(columns, width / 2);
  std::string all;
  for (const auto& [label, text] : rows)
    all += hanging("  " + pad_right(label, columns) + "  ", text, width);
  return all;
}

std::string terminal_text(std::string_view text, bool color) {
  std::string result;
  std::size_t end = 0;  // of what is in the result
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_end = c == '\n', styles = begins_marker(text.substr(i));
    if (!is_end && !styles) continue;
    result += printable(text.substr(end, i - end));
    if (is_end) {
      result += c;
    } else if (color) {
      result += c == kReset ? kResetSequence
                            : kSequences[std::ranges::find(kMarkers, c) - kMarkers.begin()];
    }
    end = i + (is_end ? 1 : 2);
  }
  return result += printable(text.substr(end));
}

void TextTable::row(std::vector<std::string> cells) {
  if (cells.size() > columns_.size()) {
    throw std::invalid_argument("a table row has more cells than the table has columns");
  }
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), {}});
}

void TextTable::heading(std::string text) { rows_.push_back({{}, std::move(text)}); }

std::vector<TextTable::Shown> TextTable::fitted(std::size_t width) const {
  std::vector<Shown> shown;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    shown.push_back({.index = i});
    for (const Row& row : rows_)
      if (!row.cells.empty())
        shown.back().width = std::max(shown.back().width, text_width(row.cells[i]));
  }
  const auto is_text = [&](const Shown& s) { return columns_[s.index].align == Align::kLeft; };
  const auto total = [&] {
    std::size_t sum = 0;
    for (const Shown& s : shown) sum += columns_[s.index].gap + s.width;
    return sum;
  };
  // The table's width if the last column wraps.
  const auto least = [&] {
    const Shown& last = shown.back();
    const std::size_t wide = is_text(last) ? std::max(last.width, kComfortable) - kComfortable : 0;
    return total() - wide;
  };
  while (least() > width) {
    const auto rank = [&](const Shown& s) { return columns_[s.index].dispensable; };
    const int highest = rank(*std::ranges::max_element(shown, {}, rank));
    if (highest == 0) break;
    std::erase_if(shown, [&](const Shown& s) { return rank(s) == highest; });
  }
  const auto shrink = [&](Shown& s, bool wraps) {
    const std::size_t all = total();
    if (all <= width || !wraps || s.width <= kNarrowest) return;
    s.width = std::max(kNarrowest, s.width - std::min(s.width, all - width));
  };
  shrink(shown.back(), is_text(shown.back()));
  std::vector<Shown*> widest_first;
  for (Shown& s : shown) widest_first.push_back(&s);
  std::ranges::stable_sort(widest_first, std::greater(), &Shown::width);
  for (Shown* s : widest_first) shrink(*s, is_text(*s));
  // Numbers are short; anything else is no reason to pad every row.
  for (Shown* s : widest_first) shrink(*s, true);
  return shown;
}

std::string TextTable::text_of(const Row& row, const std::vector<Shown>& shown) const {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (const Shown& s : shown) {
    cells.push_back(cell_lines(row.cells[s.index], s.width));
    height = std::max(height, cells.back().size());
  }
  std::string text;
  for (std::size_t i = 0; i < height; ++i) {
    std::string line;
    for (std::size_t k = 0; k < shown.size(); ++k) {
      const Column& column = columns_[shown[k].index];
      const std::string part = i < cells[k].size() ? cells[k][i] : std::string();
      line += std::string(column.gap, ' ');
      line += column.align == Align::kLeft ? pad_right(part, shown[k].width)
                                           : pad_left(part, shown[k].width);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += on_one_line(std::move(line)) + '\n';
  }
  return text;
}

std::string TextTable::render(std::size_t width) const {
  const std::vector<Shown> shown = fitted(width);
  std::string text;
  for (const Row& row : rows_) {
    if (!row.cells.empty()) {
      text += text_of(row, shown);
      continue;
    }
    const std::size_t indent = std::min(row.heading.find_first_not_of(' '), row.heading.size());
    text += hanging(row.heading.substr(0, indent), row.heading.substr(indent), width);
  }
  return text;
}

}  // namespace peakline
