#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "harness/show/make_screen.hpp"
#include "harness/show/show.hpp"
#include "harness/show/show_tables.hpp"
#include "harness/show/verdict_line.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Indent of rows and notes; a section without heads and title is a list without indent.
constexpr std::size_t kIndent = 2;

std::size_t most_lines(std::size_t gpus) { return gpus < 2 ? 60 : 70; }

std::string section_text(const Screen::Section& of, std::size_t width) {
  std::string text = of.title.empty() ? "" : section(of.title, "", width);
  const bool headed = std::ranges::any_of(
      of.columns, [](const Screen::Column& column) { return !column.head.empty(); });
  const bool list = of.title.empty() && !headed;
  std::vector<TextTable::Column> columns = {left(list ? 0 : kIndent)};
  std::vector<std::string> heads = {""};
  for (const Screen::Column& column : of.columns) {
    columns.push_back(column.shape);
    heads.push_back(styled(Style::kDim, column.head));
  }
  TextTable table(std::move(columns));
  if (headed) table.row(std::move(heads));
  for (const Screen::Row& row : of.rows) {
    std::vector<std::string> cells = {list ? styled(Style::kBold, row.label) : row.label};
    cells.insert(cells.end(), row.cells.begin(), row.cells.end());
    table.row(std::move(cells));
  }
  if (!of.rows.empty()) text += table.render(width);
  for (const std::string& note : of.notes)
    text += hanging(std::string(kIndent, ' '), styled(Style::kDim, note), width);
  return text;
}

// Findings that matter, in at most `lines` lines.
std::string findings_text(const Screen& screen, std::size_t lines, std::size_t width) {
  std::string text = section("What matters here", "", width);
  if (screen.matters.empty()) text += "  nothing stands out\n";
  std::size_t used = 0, printed = 0;
  for (const auto& [severity, message] : screen.matters) {
    const std::string entry = finding_text(severity, message, width);
    const auto height = static_cast<std::size_t>(std::ranges::count(entry, '\n'));
    if (printed > 0 && used + height > lines) break;
    used += height;
    text += entry;
    ++printed;
  }
  const std::size_t more = screen.matters.size() - printed;
  if (more + screen.more_notes == 0) return text;
  return text +
         hanging("  ",
                 styled(Style::kDim, fmt::format("{}{}: peakline show FILE --topic findings",
                                                 more > 0 ? fmt::format("{} more that matter{}, ",
                                                                        more, more == 1 ? "s" : "")
                                                          : std::string(),
                                                 format_count(screen.more_notes, "other note"))),
                 width);
}

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

}  // namespace

std::string first_screen(const Profile& profile, const Checks& checks, const ShowOptions& options) {
  const Screen screen = make_screen(profile, checks);
  const std::size_t width = options.width;
  std::string text = hanging(verdict_word(screen.verdict) + "  ", screen.sentence, width);
  for (const std::string& reason : screen.reasons)
    text += hanging("  ", styled(Style::kDim, reason), width);
  for (const Screen::Section& of : screen.sections) text += '\n' + section_text(of, width);
  const std::vector<std::string> topics = topics_of(profile);
  const std::string more =
      '\n' + hanging("More: ",
                     fmt::format("peakline show FILE --all, --topic {}; pictures: peakline-report "
                                 "FILE",
                                 topics[topics.size() > 1]),
                     width);
  // Findings get the remaining lines besides a heading and a last line, at least kFewest.
  constexpr std::size_t kFewest = 4;
  const std::size_t taken = line_count(text) + line_count(more) + 3;
  const std::size_t room = std::max(most_lines(profile.devices.size()), taken + kFewest) - taken;
  text += '\n' + findings_text(screen, room, width) + more;
  return terminal_text(text, options.color);
}

}  // namespace peakline
