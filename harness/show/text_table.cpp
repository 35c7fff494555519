#include "harness/show/text_table.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// They stand in the order of Style and are bytes that UTF-8 does not have, so no profile holds one.
constexpr std::array kMarkers = {'\xF8', '\xF9', '\xFA', '\xFB', '\xFC'};
constexpr std::array<std::string_view, kMarkers.size()> kSequences = {
    "\033[1m", "\033[2m", "\033[31m", "\033[33m", "\033[32m"};
constexpr char kReset = '\xFD';
constexpr std::string_view kResetSequence = "\033[0m";

// A last column narrower than this is unreadable: the table then grows past its width instead.
constexpr std::size_t kNarrowestLastColumn = 16;

bool is_marker(char c) { return c == kReset || std::ranges::find(kMarkers, c) != kMarkers.end(); }

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Text from a profile must not begin a line of its own.
std::string on_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool starts_as_unit(std::string_view word) {
  const char c = word.front();
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '%';
}

}  // namespace

std::string styled(Style style, std::string_view text) {
  if (text.empty()) return {};
  return kMarkers[static_cast<std::size_t>(style)] + std::string(text) + kReset;
}

std::string not_known() { return styled(Style::kDim, kNotKnown); }

std::string section(std::string_view title, std::string_view remark) {
  std::string line = styled(Style::kBold, title);
  if (!remark.empty()) line += styled(Style::kDim, "  " + std::string(remark));
  return line + '\n';
}

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return !is_marker(c) && !is_continuation(c); }));
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t taken = text_width(text);
  return std::string(text) + std::string(width > taken ? width - taken : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t taken = text_width(text);
  return std::string(width > taken ? width - taken : 0, ' ') + std::string(text);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string> lines(1);
  std::string word;  // with what must not part from it
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
  const std::size_t indent = text_width(first);
  const auto lines =
      wrapped(text, std::max(width > indent ? width - indent : 0, kNarrowestLastColumn));
  std::string result = on_one_line(std::string(first));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) result += std::string(indent, ' ');
    result += lines[i] + '\n';
  }
  return result;
}

std::string terminal_text(std::string_view text, bool color) {
  static const std::string kKept = std::string(kMarkers.begin(), kMarkers.end()) + kReset + '\n';
  std::string result;
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find_first_of(kKept), text.size());
    result += printable(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '\n') {
      result += c;
    } else if (color) {
      result += c == kReset ? kResetSequence
                            : kSequences[std::ranges::find(kMarkers, c) - kMarkers.begin()];
    }
  }
  return result;
}

void TextTable::row(std::vector<std::string> cells) {
  if (cells.size() > columns_.size()) {
    throw std::invalid_argument("a table row has more cells than the table has columns");
  }
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), {}});
}

void TextTable::heading(std::string text) { rows_.push_back({{}, std::move(text)}); }

std::string TextTable::render(std::size_t width) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      widths[i] = std::max(widths[i], text_width(row.cells[i]));
    }
  }
  const std::size_t last = columns_.size() - 1;
  const bool wraps = columns_[last].align == Align::kLeft;
  std::size_t before_last = columns_[last].gap;
  for (std::size_t i = 0; i < last; ++i) before_last += columns_[i].gap + widths[i];
  const std::size_t last_width = std::max(width > before_last ? width - before_last : 0,
                                          std::min(widths[last], kNarrowestLastColumn));

  std::string result;
  const auto add_line = [&](std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    result += on_one_line(std::move(line)) + '\n';
  };
  for (const Row& row : rows_) {
    if (row.cells.empty()) {
      add_line(row.heading);
      continue;
    }
    std::string line;
    for (std::size_t i = 0; i < last; ++i) {
      line += std::string(columns_[i].gap, ' ');
      line += columns_[i].align == Align::kLeft ? pad_right(row.cells[i], widths[i])
                                                : pad_left(row.cells[i], widths[i]);
    }
    line += std::string(columns_[last].gap, ' ');
    if (!wraps) {
      add_line(line + pad_left(row.cells[last], widths[last]));
      continue;
    }
    const auto lines = wrapped(row.cells[last], last_width);
    add_line(line + lines[0]);
    for (std::size_t i = 1; i < lines.size(); ++i) {
      add_line(std::string(before_last, ' ') + lines[i]);
    }
  }
  return result;
}

}  // namespace peakline
