#include "harness/show/topics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "harness/show/device_tables.hpp"
#include "harness/values/closest.hpp"
#include "harness/values/point_names.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

// In lower case, without blanks and hyphens: "all-reduce" is "allreduce".
std::string plain(std::string_view topic) {
  std::string text;
  for (const char c : topic)
    if (c != '-' && c != '_' && c != ' ')
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::vector<std::string> names_of(const Params& by) {
  std::vector<std::string> names;
  for (const auto& [name, value] : by) names.push_back(spaced(name));
  return names;
}

Cell cell_of(const Figure& figure) {
  constexpr double kFew = 0.01;
  if (figure.number == PureNumber::kShare)
    return number_cell(std::abs(figure.value) < kFew ? Format::kFineShare : Format::kShare,
                       figure.value);
  if (figure.number == PureNumber::kFactor) return value_cell(figure.value, "x");
  if (figure.unit != "1") return value_cell(figure.value, figure.unit);
  return std::round(figure.value) == figure.value ? number_cell(Format::kExact, figure.value)
                                                  : value_cell(figure.value, "");
}

// A benchmark's figures with the same parameters.
struct FigureRow {
  std::string id, label;
  std::vector<const Figure*> figures;
};

// Adds what is not there yet.
void add_once(std::vector<std::string>& to, std::string text) {
  if (std::ranges::find(to, text) == to.end()) to.push_back(std::move(text));
}

// By id, the words that not all of them have.
std::map<std::string, std::string> short_names(const std::vector<std::string>& ids) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& id : ids)
    for (const std::string& word : words_of_id(id)) ++counts[word];
  std::map<std::string, std::string> names;
  for (const std::string& id : ids) {
    std::vector<std::string> own;
    for (const std::string& word : words_of_id(id))
      if (counts.at(word) < ids.size()) own.push_back(word);
    names[id] = name_of_id(joined(own, "."));
  }
  return names;
}

// More columns do not fit beside each other.
constexpr std::size_t kMostAcross = 6;

// A column for each of what `column_of` says of a figure, a row for each of the other parameters.
Table table_across(const std::vector<const Figure*>& figures, const auto& others_of,
                   const auto& column_of) {
  Table table{.key = "figures"};
  const std::string by = joined(names_of(others_of(*figures.front())));
  table.label_head = fmt::format("{}, by {}", spaced(figures.front()->name), by);
  std::vector<Params> rows;
  std::vector<std::string> columns;
  for (const Figure* figure : figures) {
    const Params others = others_of(*figure);
    if (std::ranges::find(rows, others) == rows.end()) rows.push_back(others);
    add_once(columns, column_of(*figure));
  }
  // A benchmark may lack some sizes of those before it.
  std::ranges::stable_sort(rows, {}, [](const Params& params) {
    std::vector<std::int64_t> numbers;
    for (const auto& [name, value] : params)
      if (const auto* number = std::get_if<std::int64_t>(&value)) numbers.push_back(*number);
    return numbers;
  });
  for (const std::string& column : columns) table.columns.push_back({.key = column});
  for (const Params& row : rows) {
    table.rows.push_back({.key = params_text(row), .label = params_text(row)});
    table.rows.back().cells.resize(columns.size());
  }
  for (const Figure* figure : figures) {
    const auto row = std::ranges::find(rows, others_of(*figure)) - rows.begin();
    const auto column = std::ranges::find(columns, column_of(*figure)) - columns.begin();
    table.rows[static_cast<std::size_t>(row)].cells[static_cast<std::size_t>(column)] =
        cell_of(*figure);
  }
  return table;
}

// Benchmarks of the same points beside each other, a table a figure: sizes down, methods across.
// Empty if they are too many, have few points in common, or more figures than there are benchmarks.
std::vector<Table> benchmarks_across(const std::vector<const Figure*>& figures) {
  std::vector<std::string> ids, labels, names;
  std::set<std::pair<std::string, std::string>> points;
  for (const Figure* figure : figures) {
    add_once(ids, figure->id);
    add_once(names, figure->name);
    add_once(labels, params_text(figure->by));
    points.emplace(figure->id, params_text(figure->by));
  }
  if (ids.size() <= names.size() || ids.size() > kMostAcross || labels.size() < 2 ||
      2 * points.size() <= 3 * labels.size())
    return {};
  const auto heads = short_names(ids);
  std::vector<Table> tables;
  for (const std::string& name : names) {
    std::vector<const Figure*> of_name;
    std::ranges::copy_if(figures, std::back_inserter(of_name),
                         [&](const Figure* figure) { return figure->name == name; });
    Table& table = tables.emplace_back(table_across(
        of_name, [](const Figure& figure) { return figure.by; },
        [](const Figure& figure) { return figure.id; }));
    for (Column& column : table.columns) column.head = heads.at(column.key);
  }
  return tables;
}

// One figure of one benchmark by several parameters: the one with the fewest values goes across.
std::vector<Table> parameter_across(const std::vector<const Figure*>& figures) {
  const Figure& first = *figures.front();
  if (first.by.size() < 2 || !std::ranges::all_of(figures, [&](const Figure* figure) {
        return figure->id == first.id && figure->name == first.name;
      }))
    return {};
  std::size_t across = 0, fewest = kMostAcross + 1;
  for (std::size_t i = 0; i < first.by.size(); ++i) {
    std::vector<std::string> values;
    for (const Figure* figure : figures)
      add_once(values, parameter_text(figure->by[i].first, figure->by[i].second));
    if (values.size() < 2 || values.size() >= fewest) continue;
    across = i;
    fewest = values.size();
  }
  if (fewest > kMostAcross || fewest == figures.size()) return {};
  Table table = table_across(
      figures,
      [&](const Figure& figure) {
        Params others = figure.by;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(across));
        return others;
      },
      [&](const Figure& figure) {
        return parameter_text(figure.by[across].first, figure.by[across].second);
      });
  table.title = name_of_id(first.id);
  table.label_head += " and " + spaced(first.by[across].first);
  for (Column& column : table.columns) column.head = column.key;
  return {table};
}

// Likewise for each of several benchmarks; empty if one of them has no such table.
std::vector<Table> each_across(const std::vector<const Figure*>& figures) {
  std::vector<std::string> ids;
  for (const Figure* figure : figures) add_once(ids, figure->id);
  std::vector<Table> tables;
  for (const std::string& id : ids) {
    std::vector<const Figure*> own;
    std::ranges::copy_if(figures, std::back_inserter(own),
                         [&](const Figure* figure) { return figure->id == id; });
    auto found = parameter_across(own);
    if (found.empty()) return {};
    std::ranges::move(found, std::back_inserter(tables));
  }
  return tables;
}

// figures: with parameters of the same names.
std::vector<Table> tables_by(const std::vector<const Figure*>& figures) {
  if (auto tables = benchmarks_across(figures); !tables.empty()) return tables;
  if (auto tables = each_across(figures); !tables.empty()) return tables;
  std::vector<FigureRow> rows;
  std::vector<std::string> ids, names;
  for (const Figure* figure : figures) {
    add_once(ids, figure->id);
    add_once(names, figure->name);
    const std::string label = params_text(figure->by);
    const auto row = std::ranges::find_if(
        rows, [&](const FigureRow& r) { return r.id == figure->id && r.label == label; });
    (row != rows.end() ? *row : rows.emplace_back(FigureRow{figure->id, label, {}}))
        .figures.push_back(figure);
  }
  const bool scalars = figures.front()->by.empty();
  Table table{.key = "figures"};
  table.label_head = joined(names_of(figures.front()->by));
  if (scalars && ids.size() == 1) {
    table.title = name_of_id(ids.front());
    table.columns = {{.key = "value"}};
    for (const Figure* figure : figures)
      table.rows.push_back(
          {.key = figure->name, .label = spaced(figure->name), .cells = {cell_of(*figure)}});
    return {table};
  }
  // A narrow terminal shows the first ones.
  for (const std::string& name : names)
    table.columns.push_back(
        {.key = name, .head = spaced(name), .dispensable = static_cast<int>(table.columns.size())});
  // A single row of each benchmark needs no name but its own.
  std::vector<std::string> labels;
  for (const FigureRow& row : rows) add_once(labels, row.label);
  const bool headings = !scalars && (rows.size() > ids.size() || labels.size() < rows.size());
  if (!scalars && ids.size() == 1) table.title = name_of_id(ids.front());
  std::ranges::stable_sort(
      rows, {}, [&](const FigureRow& row) { return std::ranges::find(ids, row.id) - ids.begin(); });
  std::string id;
  for (const FigureRow& row : rows) {
    if (headings && ids.size() > 1 && row.id != id)
      table.rows.push_back(heading(name_of_id(row.id)));
    id = row.id;
    Row& shown = table.rows.emplace_back(
        Row{.key = row.id, .label = scalars ? name_of_id(row.id) : row.label, .cells = {}});
    shown.cells.resize(names.size());
    for (const Figure* figure : row.figures)
      shown
          .cells[static_cast<std::size_t>(std::ranges::find(names, figure->name) - names.begin())] =
          cell_of(*figure);
  }
  return {table};
}

std::size_t rows_of(const std::vector<Table>& tables) {
  std::size_t rows = 0;
  for (const Table& table : tables) rows += table.rows.size();
  return rows;
}

// Benchmarks of more points are put into words where a table has more rows than asked for.
constexpr std::size_t kMostPoints = 1;

// A line a benchmark: "launch graph, by nodes: time per item 686 ns (1024) to 6.85 us (1)", the
// lowest and the highest value.
std::vector<std::string> words_of(const std::vector<const Figure*>& figures) {
  std::vector<std::string> ids, lines;
  for (const Figure* figure : figures)
    if (std::ranges::find(ids, figure->id) == ids.end()) ids.push_back(figure->id);
  for (const std::string& id : ids) {
    std::vector<std::string> names, parts;
    for (const Figure* figure : figures)
      if (figure->id == id && std::ranges::find(names, figure->name) == names.end())
        names.push_back(figure->name);
    for (const std::string& name : names) {
      std::vector<const Figure*> points;
      for (const Figure* figure : figures)
        if (figure->id == id && figure->name == name) points.push_back(figure);
      const auto [low, high] = std::ranges::minmax_element(
          points, {}, [](const Figure* figure) { return figure->value; });
      const auto end = [](const Figure* figure) {
        return fmt::format("{} ({})", text_of(cell_of(*figure), Column{}), params_text(figure->by));
      };
      parts.push_back((*low)->value == (*high)->value
                          ? fmt::format("{} {}", spaced(name), text_of(cell_of(**low), Column{}))
                          : fmt::format("{} {} to {}", spaced(name), end(*low), end(*high)));
    }
    lines.push_back(fmt::format("{}, by {}: {}", name_of_id(id),
                                joined(names_of(figures.front()->by)), joined(parts, "; ")));
  }
  return lines;
}

}  // namespace

bool same_topic(std::string_view a, std::string_view b) { return plain(a) == plain(b); }

ChosenTopics choose_topics(std::span<const TopicWord> words, std::span<const std::string> own,
                           std::string_view wanted) {
  const std::string name = plain(wanted);
  if (name.empty()) return {};
  const auto all_of = [](const TopicWord& word) {
    return ChosenTopics{
        .names = {word.names.begin(), word.names.end()}, .ambiguous = {}, .needs = word.needs};
  };
  for (const TopicWord& word : words) {
    if (plain(word.word) != name) continue;
    ChosenTopics chosen = all_of(word);
    // A topic of the profile named like the word, which the word does not list.
    for (const std::string& full : own)
      if (plain(full) == name && std::ranges::find(word.names, full) == word.names.end())
        chosen.names.push_back(full);
    return chosen;
  }
  for (const TopicWord& word : words)
    for (const std::string_view full : word.names)
      if (plain(full) == name) return {.names = {std::string(full)}, .ambiguous = {}};
  for (const std::string& full : own)
    if (plain(full) == name) return {.names = {full}, .ambiguous = {}};

  for (const TopicWord& word : words)
    if (std::ranges::any_of(word.also, [&](auto also) { return plain(also) == name; }))
      return all_of(word);

  std::vector<const TopicWord*> begin_so;
  for (const TopicWord& word : words)
    if (plain(word.word).starts_with(name)) begin_so.push_back(&word);
  if (begin_so.empty()) return {};
  // Several words for one thing are unambiguous.
  if (std::ranges::all_of(begin_so,
                          [&](const TopicWord* word) { return word->names == begin_so[0]->names; }))
    return all_of(*begin_so[0]);
  ChosenTopics chosen;
  for (const TopicWord* word : begin_so) chosen.ambiguous.emplace_back(word->word);
  return chosen;
}

std::string meant_topic(std::span<const TopicWord> words, std::string_view wanted) {
  std::vector<std::string> known;
  for (const TopicWord& word : words) {
    known.emplace_back(word.word);
    known.insert(known.end(), word.also.begin(), word.also.end());
  }
  const std::string found = closest(plain(wanted), known);
  if (found.empty()) return {};
  for (const TopicWord& word : words)
    if (std::ranges::find(word.also, found) != word.also.end())
      return fmt::format("; did you mean {} (of {})?", found, word.word);
  return fmt::format("; did you mean {}?", found);
}

TopicFigures topic_figures(const Curve& curve, std::size_t most_rows) {
  if (Table instructions = instruction_table({&curve}); !instructions.rows.empty())
    return {.tables = {instructions}, .in_words = {}};
  using Names = std::vector<std::string>;
  // Each benchmark's figures, by the names of their parameters.
  std::map<std::pair<std::string, Names>, Names> columns;
  for (const Figure& figure : curve.figures) {
    Names& names = columns[{figure.id, names_of(figure.by)}];
    if (std::ranges::find(names, figure.name) == names.end()) names.push_back(figure.name);
  }
  // Benchmarks with the same columns share a table; those without parameters come first.
  std::vector<std::pair<std::pair<Names, Names>, std::vector<const Figure*>>> groups;
  for (const Figure& figure : curve.figures) {
    const Names by = names_of(figure.by);
    const std::pair key(by, columns.at({figure.id, by}));
    auto group = std::ranges::find_if(groups, [&](const auto& g) { return g.first == key; });
    if (group == groups.end()) group = groups.insert(group, {key, {}});
    group->second.push_back(&figure);
  }
  // clang 14 refuses the one of std::ranges.
  std::stable_partition(groups.begin(), groups.end(),
                        [](const auto& g) { return g.first.first.empty(); });
  TopicFigures found;
  for (const auto& [key, figures] : groups) {
    std::vector<Table> tables = tables_by(figures);
    if (rows_of(tables) <= most_rows) {
      std::ranges::move(tables, std::back_inserter(found.tables));
      continue;
    }
    std::map<std::string, std::set<std::string>> points;  // by benchmark
    for (const Figure* figure : figures) points[figure->id].insert(params_text(figure->by));
    std::vector<const Figure*> in_table, in_words;
    for (const Figure* figure : figures)
      (points[figure->id].size() <= kMostPoints ? in_table : in_words).push_back(figure);
    if (!in_table.empty()) std::ranges::move(tables_by(in_table), std::back_inserter(found.tables));
    for (std::string& line : words_of(in_words)) found.in_words.push_back(std::move(line));
  }
  std::set<std::string> said;
  for (Table& table : found.tables)
    if (!said.insert(table.title).second) table.title.clear();
  return found;
}

std::size_t rows_that_fit(std::span<const Curve* const> curves) {
  constexpr std::size_t kMostRows = 90, kAll = std::numeric_limits<std::size_t>::max();
  for (const std::size_t rows : {kAll, std::size_t{25}, std::size_t{20}, std::size_t{12}}) {
    std::size_t sum = 0;
    for (const Curve* curve : curves) {
      const TopicFigures figures = topic_figures(*curve, rows);
      sum += rows_of(figures.tables) + figures.in_words.size();
    }
    if (sum <= kMostRows) return rows;
  }
  return 3;
}

}  // namespace peakline
