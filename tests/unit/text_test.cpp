#include "harness/values/text.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "harness/values/closest.hpp"

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
  EXPECT_EQ(printable("\u00a0"), "\u00a0");  // the first after C1
  EXPECT_EQ(printable("\u2027\u2028\u2029"), "\u2027��");
  EXPECT_EQ(printable("\u202a\u202e\u202f"), "��\u202f");
}

TEST(Printable, ReplacesWhatIsNotSeen) {
  EXPECT_EQ(printable("a\u00ad\u061c\u180e\u200b\u200f\u2010"), "a�����\u2010");
  EXPECT_EQ(printable("\u205f\u2060\u2066\u206f\u2070"), "\u205f���\u2070");
  EXPECT_EQ(printable("\ufeff\ufff8\ufff9\ufffb\ufffc"), "�\ufff8��\ufffc");
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

TEST(DidYouMean, NamesWhatDiffersLeast) {
  const std::vector<std::string> names = {"limit", "loss_percent", "outcome"};
  EXPECT_EQ(did_you_mean("limits", names), "; did you mean limit?");
  EXPECT_EQ(did_you_mean("los-percent", names, "--"), "; did you mean --loss_percent?");
  EXPECT_EQ(did_you_mean("x", names), "");
  EXPECT_EQ(did_you_mean(std::string(1'000'000, 'x'), names), "");
}

}  // namespace
}  // namespace peakline
