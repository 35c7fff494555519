#include "harness/show/verdict_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "harness/values/labels.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

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
  return fmt::format("{}  {}\n", styled(style, upper(word)), printable(text, kMostColumns));
}

std::string verdict_line(Outcome verdict, std::string_view text) {
  const std::string_view word = word_of(verdict);
  return fmt::format("{}  {}\n", styled(style_of(verdict), word), printable(text, kMostColumns));
}

std::string who(std::string_view machine, std::string_view device, std::string_view model) {
  return fmt::format("{}{}{}{}", machine, machine.empty() ? "" : " ", device,
                     model.empty() ? "" : fmt::format(" ({})", short_model(model)));
}

std::string of_others(Outcome verdict, std::vector<std::pair<std::string, Outcome>> others,
                      std::vector<std::string> as_bad) {
  const std::string_view noun = as_bad.empty() ? "GPU" : "device";
  std::ranges::sort(others);
  std::map<Outcome, std::vector<std::string>> by_outcome;
  for (const auto& [name, outcome] : others) by_outcome[outcome].push_back(name);
  as_bad.insert(as_bad.begin(), by_outcome[verdict].begin(), by_outcome[verdict].end());
  std::string text;
  if (!as_bad.empty() && verdict >= Outcome::kCannotJudge)
    text =
        fmt::format("; {} {}: {}", format_count(std::ssize(as_bad), fmt::format("more {}", noun)),
                    verdict != Outcome::kFail ? "cannot be judged"
                    : as_bad.size() == 1      ? "fails"
                                              : "fail",
                    shortened(as_bad));
  const std::size_t passing =
      by_outcome[Outcome::kPass].size() + by_outcome[Outcome::kExcused].size();
  if (passing == others.size())
    return text + (passing == 0   ? ""
                   : passing == 1 ? "; the other GPU passes"
                                  : fmt::format("; the other {} GPUs pass", passing));
  if (passing > 0)
    text += fmt::format("; {} of {} {}", passing,
                        format_count(static_cast<std::int64_t>(others.size()), "other GPU"),
                        passing == 1 ? "passes" : "pass");
  for (const auto& [outcome, words] : {std::pair(Outcome::kCannotJudge, "cannot be judged"),
                                       std::pair(Outcome::kWarn, "with a warning")})
    if (const auto& names = by_outcome[outcome]; outcome < verdict && !names.empty())
      text += fmt::format("; {} {}: {}", names.size(), words, shortened(names));
  return text;
}

std::string verdict_word(Outcome verdict) { return styled(style_of(verdict), word_of(verdict)); }

}  // namespace peakline
