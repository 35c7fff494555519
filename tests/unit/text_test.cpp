// Text for people: what is printable, and wrapped for a terminal.

#include "harness/values/text.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "harness/show/terminal_text.hpp"
#include "harness/values/closest.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

TEST(Printable, LeavesTextAsItIsAndShortensByCharacters) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("±0.1 % – °C, 測定, 🙂"), "±0.1 % – °C, 測定, 🙂");
  EXPECT_EQ(printable("°°°°", 4), "°°°°");
  EXPECT_EQ(printable("°°°°°", 4), "°°°…");
  EXPECT_EQ(printable("\033\033\033", 2), "�…");
  EXPECT_EQ(printable("ab", 1), "…");
}

TEST(Printable, ReplacesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("a\033[2Jb\rc\n\td\x7f"), "a�[2Jb�c��d�");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a�b");
  EXPECT_EQ(printable("a\u009bz"), "a�z");   // the one-byte escape
  EXPECT_EQ(printable("\u00a0"), "\u00a0");  // the first after C1
  EXPECT_EQ(printable("\u2027\u2028\u2029"), "\u2027��");
  EXPECT_EQ(printable("\u202a\u202e\u202f"), "��\u202f");
}

TEST(Printable, ReplacesWhatIsNotSeen) {
  EXPECT_EQ(printable("a\u00ad\u061c\u180e\u200b\u200f\u2010"), "a�����\u2010");
  EXPECT_EQ(printable("\u205f\u2060\u2066\u206f\u2070"), "\u205f���\u2070");
  EXPECT_EQ(printable("\ufeff\ufff8\ufff9\ufffb\ufffc"), "�\ufff8��\ufffc");
  EXPECT_EQ(printable("\ufdcf\ufdd0\ufdef\ufffd\ufffe\uffff\U0001fffe"), "\ufdcf��\ufffd���");
  EXPECT_EQ(printable("\U0001d173\U000e0001\U000e007f\U000e0100"), "���\U000e0100");
}

TEST(ReasonOf, NamesTheLimitOnProcesses) {
  const auto reason = [](int code) {
    return reason_of(std::system_error(code, std::generic_category(), "fork"));
  };
  EXPECT_TRUE(reason(EAGAIN).starts_with("cannot create another process or thread"))
      << reason(EAGAIN);
  EXPECT_EQ(reason(EMFILE), "fork: Too many open files");
  EXPECT_EQ(reason_of(std::runtime_error("why")), "why");
}

TEST(Printable, ReplacesEachByteThatIsNotUtf8) {
  EXPECT_EQ(printable("caf\xe9"), "caf�");
  EXPECT_EQ(printable("\x80z"), "�z");
  EXPECT_EQ(printable("\xc0\xaf"), "��");            // overlong
  EXPECT_EQ(printable("\xe0\x9f\xbf"), "���");       // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "���");       // half a surrogate pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "����");  // above U+10FFFF
  EXPECT_EQ(printable("\xe2\x82"), "��");            // truncated
  EXPECT_EQ(printable("\xe2\x82z"), "��z");
}

TEST(EditDistance, CountsWhatTurnsOneTextIntoTheOther) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "run"), 3);
  EXPECT_EQ(edit_distance("quik", "quick"), 1);
  EXPECT_EQ(edit_distance("quick", "quik"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(DidYouMean, NamesWhatDiffersLeast) {
  const std::vector<std::string> names = {"limit", "loss_percent", "outcome"};
  EXPECT_EQ(did_you_mean("limits", names), "; did you mean limit?");
  EXPECT_EQ(did_you_mean("los-percent", names, "--"), "; did you mean --loss_percent?");
  EXPECT_EQ(did_you_mean("x", names), "");
  EXPECT_EQ(did_you_mean(std::string(1'000'000, 'x'), names), "");
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(FormatCount, HasANoun) {
  EXPECT_EQ(format_count(0, "point"), "0 points");
  EXPECT_EQ(format_count(1, "point"), "1 point");
  EXPECT_EQ(format_count(2, "point"), "2 points");
}

TEST(Format, WhatIsNotFiniteIsNeverANumber) {
  EXPECT_EQ(format_time(kNan), kNotKnown);
  EXPECT_EQ(format_size(kNan), kNotKnown);
  EXPECT_EQ(format_rate(std::numeric_limits<double>::infinity(), "B/s"), kNotKnown);
  EXPECT_EQ(format_clock(kNan), kNotKnown);
  EXPECT_EQ(format_percent(kNan), kNotKnown);
  EXPECT_EQ(format_value(kNan, "W"), kNotKnown);
}

TEST(FormatMagnitude, WhatCannotBeCountedOutHasTwoDigits) {
  EXPECT_EQ(format_magnitude(870), "870");
  EXPECT_EQ(format_magnitude(9999), "9999");
  EXPECT_EQ(format_magnitude(10000), "1.0 × 10⁴");
  EXPECT_EQ(format_magnitude(3.42e12), "3.4 × 10¹²");
  EXPECT_EQ(format_magnitude(9.96e9), "1.0 × 10¹⁰");
  EXPECT_EQ(format_magnitude(kNan), kNotKnown);
}

TEST(TextWidth, CountsCodePointsAndNoMarkers) {
  EXPECT_EQ(text_width("abc"), 3U);
  EXPECT_EQ(text_width("±0.1 % – °C"), 11U);
  EXPECT_EQ(text_width(styled(Style::kBold, "805")), 3U);
  EXPECT_EQ(text_width(""), 0U);
}

TEST(Wrapped, BreaksAtBlanksThatSeparateNoUnit) {
  EXPECT_EQ(wrapped("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrapped("unbreakable", 4), (std::vector<std::string>{"unbreakable"}));
  EXPECT_EQ(wrapped("a\nb\t c", 80), (std::vector<std::string>{"a b c"}));
  EXPECT_EQ(wrapped("", 10), (std::vector<std::string>{""}));
  // A number stays with its unit.
  EXPECT_EQ(wrapped("runs at 1980 MHz", 13), (std::vector<std::string>{"runs at", "1980 MHz"}));
  EXPECT_EQ(wrapped("reaches 95 % of it", 11), (std::vector<std::string>{"reaches", "95 % of it"}));
  EXPECT_EQ(wrapped("1 2 3", 1), (std::vector<std::string>{"1", "2", "3"}));
  // A hanging indent.
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
  EXPECT_EQ(terminal_text("a\xC2\x9Bz", false), "a�z");          // U+009B, the one-byte escape
  EXPECT_EQ(terminal_text("\xFA name \xFD", true), "� name �");  // a file may be called so
  EXPECT_EQ(terminal_text("line\nline – °C\n", false), "line\nline – °C\n");
}

TEST(Section, WrapsItsRemark) {
  EXPECT_EQ(terminal_text(section("Title", "a remark that is too long for it", 24), false),
            "Title  a remark that is\n       too long for it\n");
}

TEST(StemOf, IsTheNameWithoutFolderAndEndings) {
  EXPECT_EQ(stem_of("profiles/node7.json.gz"), "node7");
  EXPECT_EQ(stem_of("node7.may.json"), "node7.may");
  EXPECT_EQ(stem_of("node7"), "node7");
}

TEST(FileNamePart, HoldsNothingThatAFileNameCannot) {
  EXPECT_EQ(file_name_part("node7"), "node7");
  EXPECT_EQ(file_name_part("Node_7.example-site.org"), "Node_7.example-site.org");
  EXPECT_EQ(file_name_part("../../x"), "x");
  EXPECT_EQ(file_name_part("a/b"), "a-b");
  EXPECT_EQ(file_name_part(".hidden"), "hidden");
  EXPECT_EQ(file_name_part("-rf"), "rf");
  EXPECT_EQ(file_name_part("caf\xc3\xa9 \033"), "caf----");
  EXPECT_EQ(file_name_part(std::string("a\0b", 3)), "a-b");
  EXPECT_EQ(file_name_part(""), "host");
  EXPECT_EQ(file_name_part("../"), "host");
  EXPECT_EQ(file_name_part(std::string(300, 'x')), std::string(64, 'x'));
}

}  // namespace
}  // namespace peakline
