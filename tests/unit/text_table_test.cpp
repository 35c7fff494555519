#include "harness/show/text_table.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace peakline {
namespace {

using Align = TextTable::Align;

TEST(TextWidth, CountsCodePointsAndNoMarkers) {
  EXPECT_EQ(text_width("abc"), 3U);
  EXPECT_EQ(text_width("±0.1 % – °C"), 11U);
  EXPECT_EQ(text_width(styled(Style::kBold, "805")), 3U);
  EXPECT_EQ(text_width(""), 0U);
}

TEST(Wrapped, BreaksAtBlanksOnly) {
  EXPECT_EQ(wrapped("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrapped("unbreakable", 4), (std::vector<std::string>{"unbreakable"}));
  EXPECT_EQ(wrapped("a\nb\t c", 80), (std::vector<std::string>{"a b c"}));
  EXPECT_EQ(wrapped("", 10), (std::vector<std::string>{""}));
}

TEST(Wrapped, KeepsANumberWithItsUnit) {
  EXPECT_EQ(wrapped("runs at 1980 MHz", 13), (std::vector<std::string>{"runs at", "1980 MHz"}));
  EXPECT_EQ(wrapped("reaches 95 % of it", 11), (std::vector<std::string>{"reaches", "95 % of it"}));
  EXPECT_EQ(wrapped("1 2 3", 1), (std::vector<std::string>{"1", "2", "3"}));
}

TEST(Hanging, IndentsWhatFollows) {
  EXPECT_EQ(hanging("note  ", "aaaaaaaaa bbbbbbbbb", 22), "note  aaaaaaaaa\n      bbbbbbbbb\n");
}

TEST(TerminalText, ColorIsOptional) {
  const std::string text = styled(Style::kRed, "bad");
  EXPECT_EQ(terminal_text(text, true), "\033[31mbad\033[0m");
  EXPECT_EQ(terminal_text(text, false), "bad");
}

TEST(TerminalText, ForeignControlCharactersNeverReachTheTerminal) {
  EXPECT_EQ(terminal_text("a\033[2Jb\rc\bd\x7f", true), "a�[2Jb�c�d�");
  EXPECT_EQ(terminal_text("\x01\x02\x03\x04\x05\x06", true), "������");
  EXPECT_EQ(terminal_text("a\xC2\x9Bz", false), "a�z");  // U+009B, the one-byte escape
  EXPECT_EQ(terminal_text("line\nline – °C\n", false), "line\nline – °C\n");
}

TEST(Table, AlignsToTheWidestCell) {
  TextTable table({{Align::kLeft, 0}, {Align::kRight, 2}});
  table.row({"name", "value"});
  table.row({"a", "–"});
  table.row({"longer name", "12"});
  EXPECT_EQ(table.render(80), "name         value\na                –\nlonger name     12\n");
}

TEST(Table, HeadingsTakeNoColumn) {
  TextTable table({{Align::kLeft, 0}, {Align::kRight, 1}});
  table.heading("a heading longer than all of the table");
  table.row({"a", "1"});
  EXPECT_EQ(table.render(80), "a heading longer than all of the table\na 1\n");
}

TEST(Table, TheLastColumnWrapsUnderItself) {
  TextTable table({{Align::kLeft, 0}, {Align::kLeft, 2}});
  table.row({"id", "some words that are too long"});
  EXPECT_EQ(table.render(20), "id  some words that\n    are too long\n");
}

TEST(Table, LeavesOutWhatItCanDispenseWith) {
  TextTable table({left(0), right(1), right(1, 1), right(1, 2)});
  table.row({"name", "value", "more", "most"});
  table.row({"a", "1", "2", "3"});
  EXPECT_EQ(table.render(20), "name value more most\na        1    2    3\n");
  EXPECT_EQ(table.render(19), "name value more\na        1    2\n");
  EXPECT_EQ(table.render(14), "name value\na        1\n");
}

TEST(Table, ColumnsOfOneRankGoTogether) {
  TextTable table({left(0), right(1, 1), right(1, 1)});
  table.row({"name", "one", "two"});
  EXPECT_EQ(table.render(11), "name\n");
}

TEST(Table, NamesWrapWhereNothingCanBeLeftOut) {
  TextTable table({left(0), right(1), left(1)});
  table.row({"synchronization.dependent_launch/start", "1.0", "same"});
  table.row({"short", "2.0", "as cards differ in their model"});
  EXPECT_EQ(table.render(40),
            "synchronization.    1.0 same\n"
            "dependent_launch/\n"
            "start\n"
            "short               2.0 as cards differ\n"
            "                        in their model\n");
}

TEST(Table, ALongHeadingWrapsUnderItself) {
  TextTable table({left(0), right(1)});
  table.row({"a", "1"});
  table.heading("  a remark that is too long");
  EXPECT_EQ(table.render(20), "a 1\n  a remark that is\n  too long\n");
}

TEST(Section, WrapsItsRemark) {
  EXPECT_EQ(terminal_text(section("Title", "a remark that is too long for it", 24), false),
            "Title  a remark that is\n       too long for it\n");
}

TEST(Table, NoLineEndsInBlanks) {
  TextTable table({{Align::kLeft, 0}, {Align::kLeft, 2}});
  table.row({"a"});
  table.row({"wide cell", "x"});
  EXPECT_EQ(table.render(80), "a\nwide cell  x\n");
}

TEST(Table, RefusesMoreCellsThanColumns) {
  TextTable table({{Align::kLeft, 0}});
  EXPECT_THROW(table.row({"a", "b"}), std::invalid_argument);
}

}  // namespace
}  // namespace peakline
