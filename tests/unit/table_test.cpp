#include "harness/show/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/documents/json.hpp"

namespace peakline {
namespace {

template <class Enum>
Enum named(const nlohmann::json& one, const char* key, std::string_view otherwise) {
  const std::string name = one.value(key, std::string(otherwise));
  for (int i = 0; i < 10; ++i)
    if (to_string(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  throw std::out_of_range(name);
}

std::optional<double> number(const nlohmann::json& one, const char* key) {
  return one.contains(key) && !one[key].is_null() ? std::optional(one[key].get<double>())
                                                  : std::nullopt;
}

// tests/python/test_formats.py reads the same cases.
TEST(Formats, AreThoseOfTheCases) {
  std::ifstream file(PEAKLINE_SOURCE_DIR "/tests/formats.json");
  for (const nlohmann::json& one : nlohmann::json::parse(file)) {
    const Cell cell{.format = named<Format>(one, "format", "value"),
                    .value = number(one, "value"),
                    .unit = one.value("unit", ""),
                    .mark = named<CellMark>(one, "mark", ""),
                    .clock_hz = number(one, "clock_hz"),
                    .suffix = one.value("suffix", "")};
    const Column column{.key = "", .bare = one.value("bare", false)};
    EXPECT_EQ(terminal_text(text_of(cell, column), false), one["text"]) << one;
  }
}

Column left(std::size_t gap) { return {.key = "", .is_text = true, .gap = gap}; }
Column right(std::size_t gap, int dispensable = 0) {
  return {.key = "", .gap = gap, .dispensable = dispensable};
}

using Texts = std::vector<std::vector<std::string>>;

// The first text of a row is its label.
Table made(std::vector<Column> columns, const Texts& rows) {
  Table table{.key = "made", .columns = std::move(columns), .indent = 0};
  for (const auto& texts : rows) {
    Row& row = table.rows.emplace_back();
    row.label = texts.front();
    for (std::size_t i = 1; i < texts.size(); ++i) row.cells.push_back(text_cell(texts[i]));
  }
  return table;
}

std::string printed(const Table& table, std::size_t width = 80) {
  return terminal_text(text_of(table, width), false);
}

TEST(Table, AlignsToTheWidestCell) {
  EXPECT_EQ(printed(made({right(2)}, {{"name", "value"}, {"a", "–"}, {"longer name", "12"}})),
            "name         value\na                –\nlonger name     12\n");
  // No line ends in blanks.
  EXPECT_EQ(printed(made({left(2)}, {{"a"}, {"wide cell", "x"}})), "a\nwide cell  x\n");
  EXPECT_EQ(printed({.key = "empty", .title = "Without rows"}), "");
}

TEST(Table, HeadingsAndRemarksTakeNoColumn) {
  Table table = made({right(1)}, {{"a", "1"}});
  table.heading_indent = 0;
  table.rows.insert(table.rows.begin(), heading("a heading longer than all of the table"));
  table.rows.back().remark = "a remark that is too long";
  EXPECT_EQ(printed(table),
            "a heading longer than all of the table\na 1\n      a remark that is too long\n");
  EXPECT_EQ(
      printed(table, 24),
      "a heading longer than\nall of the table\na 1\n      a remark that is\n      too long\n");
}

TEST(Table, SaysBelowARowWhyAFigureIsMissing) {
  Table table = made({right(1)}, {{"a"}});
  table.rows[0].cells = {{.format = Format::kValue,
                          .absence = Absence::kFailed,
                          .missing = "failed: the worker was killed"}};
  EXPECT_EQ(printed(table), "a –\n      failed: the worker was killed\n");
}

TEST(Table, TheLastColumnWrapsUnderItself) {
  EXPECT_EQ(printed(made({left(2)}, {{"id", "some words that are too long"}}), 20),
            "id  some words that\n    are too long\n");
}

TEST(Table, LeavesOutWhatItCanDispenseWith) {
  const auto narrow = [](std::size_t width) {
    return printed(made({right(1), right(1, 1), right(1, 2)},
                        {{"name", "value", "more", "most"}, {"a", "1", "2", "3"}}),
                   width);
  };
  EXPECT_EQ(narrow(20), "name value more most\na        1    2    3\n");
  EXPECT_EQ(narrow(19), "name value more\na        1    2\n");
  EXPECT_EQ(narrow(14), "name value\na        1\n");
  // Columns of one rank go together.
  EXPECT_EQ(printed(made({right(1, 1), right(1, 1)}, {{"name", "one", "two"}}), 11), "name\n");
}

TEST(Table, LeavesOutEmptyColumns) {
  Table table = made({}, {{"a"}});
  table.columns = {{.key = "x", .head = "x"}, {.key = "y", .head = "y", .if_any = true}};
  table.rows[0].cells = {value_cell(1, ""), value_cell({}, "")};
  EXPECT_EQ(printed(table), "      x\na  1.00\n");
  EXPECT_EQ(document_of(table)["columns"].size(), 1U);
  table.rows[0].cells[1].value = 2;
  EXPECT_EQ(printed(table), "      x     y\na  1.00  2.00\n");
  table.rows[0].cells[1] = text_cell("on");
  EXPECT_EQ(printed(table), "      x   y\na  1.00  on\n");
}

TEST(Table, PrintsALabelOnceUnderItsHeading) {
  Table table = made({left(1)}, {{"FP32", "burst"}, {"FP32", "sustained"}});
  table.rows.push_back(heading("another"));
  table.rows.push_back(table.rows[0]);
  table.labels_once = true;
  EXPECT_EQ(printed(table), "FP32 burst\n     sustained\n  another\nFP32 burst\n");
}

TEST(Table, NamesWrapWhereNothingCanBeLeftOut) {
  EXPECT_EQ(
      printed(made({right(1), left(1)}, {{"synchronization.dependent_launch/start", "1.0", "same"},
                                         {"short", "2.0", "as cards differ in their model"}}),
              40),
      "synchronization.    1.0 same\n"
      "dependent_launch/\n"
      "start\n"
      "short               2.0 as cards differ\n"
      "                        in their model\n");
}

// In time that grows with the text alone: quadratic, this would take minutes.
TEST(Table, CutsWordsOfMegabytes) {
  const std::string word(4'000'000, 'x');
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  EXPECT_EQ(lines(text_of(made({}, {{word}}), 80)), 4'000'000 / 80);
  EXPECT_EQ(lines(text_of(made({right(1)}, {{word, "1"}}), 80)), 4'000'000 / 78 + 1);
}

TEST(Table, LongLabelsLeaveRoomForTheTexts) {
  const std::string text =
      printed(made({left(2)}, {{"a", "one"}, {std::string(1000, 'x'), "six seven"}}), 40);
  EXPECT_THAT(text, ::testing::HasSubstr("six seven\n"));
  EXPECT_LT(text.size(), 2000U);
}

TEST(Document, HoldsTypedCellsByColumn) {
  Table table = made({}, {});
  table.columns = {{.key = "rate", .head = "GB/s", .bare = true}, {.key = "note", .is_text = true}};
  Cell rate = value_cell(3e9, "B/s", CellMark::kAbout);
  rate.low = 2e9;
  rate.style = Style::kBold;
  table.rows = {
      heading("memory"),
      {.key = "hbm.read/measured", .label = "HBM read", .cells = {rate, text_cell("")}},
      {.key = "l2.read/measured",
       .label = "L2 read",
       .cells = {{.format = Format::kValue, .absence = Absence::kSkipped, .missing = "why"},
                 text_cell("x", Style::kRed)}}};
  EXPECT_EQ(document_of(table), json::parse(R"({
    "key": "made", "title": "", "remark": "",
    "columns": [{"key": "rate", "head": "GB/s", "bare": true},
                {"key": "note", "head": "", "is_text": true}],
    "rows": [{"heading": "memory"},
             {"key": "hbm.read/measured", "label": "HBM read",
              "cells": {"rate": {"format": "value", "value": 3e9, "unit": "B/s", "mark": "about",
                                 "low": 2e9}}},
             {"key": "l2.read/measured", "label": "L2 read",
              "cells": {"rate": {"format": "value", "value": null, "absence": "skipped",
                                 "missing": "why"},
                        "note": {"text": "x"}}}],
    "notes": []})"));
}

}  // namespace
}  // namespace peakline
