#include "harness/show/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Wider text columns wrap before another column is dropped.
constexpr std::size_t kComfortable = 24;
constexpr std::size_t kNoteIndent = 2, kRemarkIndent = 6;

std::string half_width(double value) {
  constexpr double kShown = 0.0005;
  return value < kShown ? "< 0.1 %" : fmt::format("±{}", format_percent(value));
}

std::string number_of(const Cell& cell, const Column& column) {
  const double value = *cell.value;
  switch (cell.format) {
    case Format::kText:
      break;
    case Format::kValue:
      if (cell.mark == CellMark::kAbout)
        return column.bare ? fmt::format("{:g}", rough(value) / bare_factor(cell.unit))
                           : format_rough(value, cell.unit);
      return column.bare ? format_bare(value, cell.unit) : format_value(value, cell.unit);
    case Format::kShare:
      return column.bare ? fmt::format("{:.1f}", value * 100) : format_percent(value);
    case Format::kChange:
      return format_signed_percent(value);
    case Format::kFineShare: {
      constexpr double kTens = 0.1;  // tens of percent need no decimals
      return fmt::format("{:.{}f} %", value * 100, value < kTens ? 2 : 0);
    }
    case Format::kHalfWidth:
      return half_width(value);
    case Format::kRatio:
      return fmt::format("{:.3f}", value);
    case Format::kExact:
      return fmt::format("{:g}", value);
  }
  return {};
}

std::string marked(CellMark mark, const std::string& number) {
  switch (mark) {
    case CellMark::kComputed:
      return "(" + number + ")";
    case CellMark::kAtLeast:
      return "at least " + number;
    case CellMark::kAbout:
      return "about " + number;
    default:
      return number;
  }
}

// A row of texts, or a line across the table, which does not widen columns.
struct Line {
  std::vector<std::string> cells = {};
  std::string across = {};
  std::size_t indent = 0;
};

struct Shown {
  const Column* column;
  std::size_t index, width = 0;
};

std::vector<Shown> fitted(const std::vector<Column>& columns, const std::vector<Line>& lines,
                          std::size_t width) {
  std::vector<Shown> shown;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    shown.push_back({.column = &columns[i], .index = i});
    for (const Line& line : lines)
      if (!line.cells.empty())
        shown.back().width = std::max(shown.back().width, text_width(line.cells[i]));
  }
  const auto total = [&] {
    std::size_t sum = 0;
    for (const Shown& s : shown) sum += s.column->gap + s.width;
    return sum;
  };
  // The table's width if the last column wraps.
  const auto least = [&] {
    const Shown& last = shown.back();
    return total() - (last.column->is_text ? std::max(last.width, kComfortable) - kComfortable : 0);
  };
  const auto rank = [](const Shown& s) { return s.column->dispensable; };
  while (least() > width) {
    const int highest = rank(*std::ranges::max_element(shown, {}, rank));
    if (highest == 0) break;
    std::erase_if(shown, [&](const Shown& s) { return rank(s) == highest; });
  }
  const auto shrink = [&](Shown& s, bool wraps) {
    const std::size_t all = total();
    if (all <= width || !wraps || s.width <= kNarrowest) return;
    s.width = std::max(kNarrowest, s.width - std::min(s.width, all - width));
  };
  shrink(shown.back(), shown.back().column->is_text);
  std::vector<Shown*> widest_first;
  for (Shown& s : shown) widest_first.push_back(&s);
  std::ranges::stable_sort(widest_first, std::greater(), &Shown::width);
  for (Shown* s : widest_first) shrink(*s, s->column->is_text);
  // Numbers are short; anything else is no reason to pad every row.
  for (Shown* s : widest_first) shrink(*s, true);
  return shown;
}

std::string text_of(const Line& of, const std::vector<Shown>& shown) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (const Shown& s : shown) {
    cells.push_back(cut_lines(of.cells[s.index], s.width));
    height = std::max(height, cells.back().size());
  }
  std::string text;
  for (std::size_t i = 0; i < height; ++i) {
    std::string line;
    for (std::size_t k = 0; k < shown.size(); ++k) {
      const std::string part = i < cells[k].size() ? cells[k][i] : std::string();
      line += std::string(shown[k].column->gap, ' ');
      line += shown[k].column->is_text ? pad_right(part, shown[k].width)
                                       : pad_left(part, shown[k].width);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += on_one_line(std::move(line)) + '\n';
  }
  return text;
}

std::string across(std::size_t indent, std::string_view text, std::size_t width) {
  return hanging(std::string(indent, ' '), text, width);
}

// The rows as lines, the reasons of missing figures among them. columns: the table's that are kept,
// after the labels'.
std::vector<Line> lines_of(const Table& table, const std::vector<std::size_t>& kept) {
  std::vector<Line> lines;
  std::vector<std::string> heads = {styled(Style::kDim, table.label_head)};
  for (const std::size_t i : kept) heads.push_back(styled(Style::kDim, table.columns[i].head));
  if (std::ranges::any_of(heads, [](const std::string& head) { return !head.empty(); }))
    lines.push_back({.cells = std::move(heads)});
  const std::string* previous = nullptr;
  const auto remark = [&](const std::string& text) {
    if (!text.empty())
      lines.push_back({.across = styled(Style::kDim, text), .indent = kRemarkIndent});
  };
  for (const Row& row : table.rows) {
    if (row.heading) {
      lines.push_back({.across = styled(Style::kDim, row.label), .indent = table.heading_indent});
      previous = nullptr;
      continue;
    }
    const bool again = table.labels_once && previous != nullptr && *previous == row.label;
    std::vector<std::string> cells = {again ? "" : styled(table.label_style, row.label)};
    if (!row.verdict.empty()) cells[0] += ' ' + row.verdict;
    for (const std::size_t i : kept)
      cells.push_back(i < row.cells.size() ? text_of(row.cells[i], table.columns[i]) : "");
    lines.push_back({.cells = std::move(cells)});
    remark(row.remark);
    for (const Cell& cell : row.cells) remark(cell.missing);
    previous = &row.label;
  }
  return lines;
}

}  // namespace

std::string_view to_string(Format format) {
  return name_of({"text", "value", "share", "change", "fine_share", "half_width", "ratio", "exact"},
                 format);
}

std::string_view to_string(CellMark mark) {
  return name_of({"", "computed", "at_least", "about", "varies"}, mark);
}

Cell text_cell(std::string text, Style style) { return {.text = std::move(text), .style = style}; }

Cell value_cell(const std::optional<double>& value, std::string_view unit, CellMark mark) {
  return {.format = Format::kValue, .value = value, .unit = std::string(unit), .mark = mark};
}

Cell number_cell(Format format, const std::optional<double>& number) {
  return {.format = format, .value = number};
}

Cell share_cell(const std::optional<double>& value, const std::optional<double>& of) {
  const bool known = value && of && *of > 0;
  return number_cell(Format::kShare, known ? std::optional(*value / *of) : std::nullopt);
}

Row heading(std::string label) { return {.label = std::move(label), .heading = true}; }

std::vector<std::size_t> kept_columns(const Table& table) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const auto has_content = [&](const Row& row) {
      if (i >= row.cells.size()) return false;
      const Cell& cell = row.cells[i];
      return cell.value || !cell.text.empty() || cell.mark == CellMark::kVaries;
    };
    if (!table.columns[i].if_any || std::ranges::any_of(table.rows, has_content)) kept.push_back(i);
  }
  return kept;
}

std::string text_of(const Cell& cell, const Column& column) {
  if (cell.mark == CellMark::kVaries) return styled(cell.style, "varies");
  if (cell.format == Format::kText) return styled(cell.style, cell.text);
  if (!cell.value) return not_known();
  std::string text = number_of(cell, column) + cell.suffix;
  if (cell.clock_hz) text += styled(Style::kDim, fmt::format(" @{:.0f}", *cell.clock_hz / 1e6));
  return styled(cell.style, marked(cell.mark, text));
}

std::string text_of(const Table& table, std::size_t width) {
  std::string text = table.title.empty() || table.empty()
                         ? std::string()
                         : section(table.title, table.remark, width);
  if (!table.rows.empty()) {
    const std::vector<std::size_t> kept = kept_columns(table);
    std::vector<Column> columns = {{.key = "label", .is_text = true, .gap = table.indent}};
    for (const std::size_t i : kept) columns.push_back(table.columns[i]);
    const std::vector<Line> lines = lines_of(table, kept);
    const std::vector<Shown> shown = fitted(columns, lines, width);
    for (const Line& line : lines)
      text += line.cells.empty() ? across(line.indent, line.across, width) : text_of(line, shown);
  }
  for (const std::string& note : table.notes)
    text += across(kNoteIndent, styled(Style::kDim, note), width);
  return text;
}

}  // namespace peakline
