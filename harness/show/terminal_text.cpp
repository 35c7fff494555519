#include "harness/show/terminal_text.hpp"

#include <algorithm>
#include <array>

#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// A marker is one of these bytes, in the order of Style from kBold on, and a zero: UTF-8, and so
// any profile, lacks the first; arguments and names of files lack the second.
constexpr std::array kMarkers = {'\xF8', '\xF9', '\xFA', '\xFB', '\xFC'};
constexpr std::array<std::string_view, kMarkers.size()> kSequences = {
    "\033[1m", "\033[2m", "\033[31m", "\033[33m", "\033[32m"};
constexpr char kReset = '\xFD';
constexpr std::string_view kResetSequence = "\033[0m";

bool begins_marker(std::string_view text) {
  return text.size() > 1 && text[1] == '\0' &&
         (text[0] == kReset || std::ranges::find(kMarkers, text[0]) != kMarkers.end());
}

// Whether the byte at a place is a marker's.
bool is_marker(std::string_view text, std::size_t place) {
  return begins_marker(text.substr(place)) || (place > 0 && begins_marker(text.substr(place - 1)));
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

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

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool starts_as_unit(std::string_view word) {
  const char c = word.front();
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '%';
}

}  // namespace

std::string styled(Style style, std::string_view text) {
  if (text.empty() || style == Style::kPlain) return std::string(text);
  return kMarkers[static_cast<std::size_t>(style) - 1] + ('\0' + std::string(text)) + kReset + '\0';
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

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t taken = text_width(text);
  return std::string(width > taken ? width - taken : 0, ' ') + std::string(text);
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

std::string on_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::vector<std::string> cut_lines(const std::string& text, std::size_t width) {
  if (text_width(text) <= width) return {text};
  std::vector<std::string> lines;
  for (const std::string& line : wrapped(text, width))
    for (std::string& piece : cut(line, width)) lines.push_back(std::move(piece));
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

}  // namespace peakline
