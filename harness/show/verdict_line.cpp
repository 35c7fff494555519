#include "harness/show/verdict_line.hpp"

#include <fmt/format.h>

#include "harness/values/text.hpp"

namespace peakline {
namespace {

constexpr std::size_t kColumns = 80;
// Long enough for any list of groups and figures; only hostile text is longer.
constexpr std::size_t kMostColumns = 300;

Style style_of(Outcome verdict) {
  return verdict == Outcome::kFail   ? Style::kRed
         : verdict >= Outcome::kWarn ? Style::kYellow
                                     : Style::kGreen;
}

std::string_view word_of(Outcome verdict) {
  return verdict == Outcome::kFail          ? "FAIL"
         : verdict == Outcome::kCannotJudge ? "CANNOT JUDGE"
         : verdict == Outcome::kWarn        ? "WARN"
                                            : "PASS";
}

}  // namespace

std::string verdict_line(std::string_view word, Style style, std::string_view text) {
  return fmt::format("{}  {}\n", styled(style, upper(word)),
                     printable(text, kColumns - 2 - text_width(word)));
}

std::string verdict_line(Outcome verdict, std::string_view text) {
  const std::string_view word = word_of(verdict);
  return fmt::format("{}  {}\n", styled(style_of(verdict), word),
                     printable(text, kMostColumns - 2 - text_width(word)));
}

std::string verdict_word(Outcome verdict) { return styled(style_of(verdict), word_of(verdict)); }

}  // namespace peakline
