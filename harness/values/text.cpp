#include "harness/values/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <numeric>
#include <system_error>

namespace peakline {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";     // U+2026

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: no well-formed UTF-8
};

// The first character of non-empty text, by table 3-7 of the Unicode standard: rejects overlong
// forms, surrogates and code points above U+10FFFF.
Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  char32_t code = lead & (0x7FU >> bytes);
  for (const char c : text.substr(1, bytes - 1)) {
    if (!is_continuation(c)) return {};
    code = code << 6U | (static_cast<unsigned char>(c) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};  // by bytes
  if (code < kSmallest[bytes] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, bytes};
}

struct Range {
  char32_t first, last;
};

// Unicode 15.1 categories Cc, Cf, Zl and Zp, without the few visible signs in Cf: these could move,
// hide or disguise text in a terminal. Noncharacters, which XML forbids, end each plane.
constexpr auto kUnseen = std::to_array<Range>({{0x00, 0x1F},
                                               {0x7F, 0x9F},
                                               {0xAD, 0xAD},
                                               {0x61C, 0x61C},
                                               {0x180E, 0x180E},
                                               {0x200B, 0x200F},
                                               {0x2028, 0x202E},
                                               {0x2060, 0x206F},
                                               {0xFEFF, 0xFEFF},
                                               {0xFFF9, 0xFFFB},
                                               {0x1BCA0, 0x1BCA3},
                                               {0x1D173, 0x1D17A},
                                               {0xE0000, 0xE007F}});

// Never a character; XML forbids two of them.
bool is_noncharacter(char32_t code) {
  return (code & 0xFFFEU) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF);
}

bool is_unseen(char32_t code) {
  return is_noncharacter(code) || std::ranges::any_of(kUnseen, [&](const Range& range) {
           return code >= range.first && code <= range.last;
         });
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_chars) {
  std::string result;
  std::size_t end_of_kept = 0;  // where an ellipsis would go
  for (std::size_t chars = 0; !text.empty(); ++chars) {
    if (chars + 1 == max_chars) end_of_kept = result.size();
    if (chars == max_chars) return result.substr(0, end_of_kept).append(kEllipsis);
    const auto [code, bytes] = first_character(text);
    const bool shown = bytes > 0 && !is_unseen(code);
    result += shown ? text.substr(0, bytes) : kReplacement;
    text.remove_prefix(bytes > 0 ? bytes : 1);
  }
  return result;
}

std::size_t well_formed(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size()) {
    const std::size_t bytes = first_character(text.substr(size)).bytes;
    if (bytes == 0) break;
    size += bytes;
  }
  return size;
}

std::string stem_of(std::string_view file) {
  file.remove_prefix(file.rfind('/') + 1);
  for (const std::string_view ending : {".gz", ".json"})
    if (file.ends_with(ending)) file.remove_suffix(ending.size());
  return std::string(file);
}

std::string file_name_part(std::string_view text) {
  constexpr std::size_t kMaxChars = 64;  // Linux's limit for host names
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  std::string part(text);
  std::ranges::replace_if(part, std::not_fn(fits), '-');
  // Neither hidden nor like an option.
  part.erase(0, part.find_first_not_of(".-"));
  part = part.substr(0, kMaxChars);
  return part.empty() ? "host" : part;
}

std::string reason_of(const std::exception& error) {
  const auto* const system = dynamic_cast<const std::system_error*>(&error);
  // fork() and pthread_create() report all of these limits this way.
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again)
    return "cannot create another process or thread (ulimit -u or -v, or the limit of the "
           "container)";
  return error.what();
}

std::string spaced(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return result;
}

std::string joined(std::vector<std::string> parts, std::string_view separator) {
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string shortened(const std::vector<std::string>& names) {
  constexpr std::ptrdiff_t kShown = 3;
  const auto end = names.begin() + std::min(std::ssize(names), kShown);
  const std::string text = fmt::format("{}", fmt::join(names.begin(), end, ", "));
  return end == names.end() ? text : fmt::format("{} and {} more", text, names.end() - end);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j] ? 1 : 0);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace peakline
