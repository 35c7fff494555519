#include "harness/values/text.hpp"

#include <gtest/gtest.h>

namespace peakline {
namespace {

TEST(Printable, LeavesTextAsItIs) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("±0.1 % – °C, 測定, 🙂"), "±0.1 % – °C, 測定, 🙂");
}

TEST(Printable, ReplacesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("a\033[2Jb\rc\n\td\x7f"), "a�[2Jb�c��d�");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a�b");
  EXPECT_EQ(printable("a\u009bz"), "a�z");   // the one-byte escape
  EXPECT_EQ(printable("\u00a0"), "\u00a0");  // the first behind C1
  EXPECT_EQ(printable("\u2027\u2028\u2029"), "\u2027��");
  EXPECT_EQ(printable("\u202a\u202e\u202f"), "��\u202f");
  EXPECT_EQ(printable("\u2065\u2066\u2069\u206a"), "\u2065��\u206a");
}

TEST(Printable, ReplacesEachByteThatIsNotUtf8) {
  EXPECT_EQ(printable("caf\xe9"), "caf�");
  EXPECT_EQ(printable("\x80z"), "�z");
  EXPECT_EQ(printable("\xc0\xaf"), "��");            // overlong
  EXPECT_EQ(printable("\xe0\x9f\xbf"), "���");       // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "���");       // half a surrogate pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "����");  // above U+10FFFF
  EXPECT_EQ(printable("\xe2\x82"), "��");            // cut short
  EXPECT_EQ(printable("\xe2\x82z"), "��z");
}

TEST(Printable, ShortensByCharacters) {
  EXPECT_EQ(printable("°°°°", 4), "°°°°");
  EXPECT_EQ(printable("°°°°°", 4), "°°°…");
  EXPECT_EQ(printable("\033\033\033", 2), "�…");
  EXPECT_EQ(printable("ab", 1), "…");
}

TEST(EditDistance, CountsWhatTurnsOneTextIntoTheOther) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "run"), 3);
  EXPECT_EQ(edit_distance("quik", "quick"), 1);
  EXPECT_EQ(edit_distance("quick", "quik"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

}  // namespace
}  // namespace peakline
