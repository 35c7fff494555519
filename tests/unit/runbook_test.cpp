// scripts/runbook.md says what to do on everything that the program may print.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "harness/judge/rules.hpp"
#include "harness/show/terminal_text.hpp"
#include "harness/show/verdict_line.hpp"

namespace peakline {
namespace {

using testing::HasSubstr;

// Expects the word in the runbook, as code.
void expect_there(std::string_view word) {
  std::ifstream runbook(PEAKLINE_SOURCE_DIR "/scripts/runbook.md");
  const std::string text{std::istreambuf_iterator(runbook), {}};
  EXPECT_THAT(text, HasSubstr("`" + std::string(word) + "`"));
}

// Calls to_string for each enumerator until it knows no more.
template <class Enum>
int expect_all() {
  int count = 0;
  for (; !to_string(static_cast<Enum>(count)).empty(); ++count)
    expect_there(to_string(static_cast<Enum>(count)));
  return count;
}

TEST(Runbook, HasEveryVerdict) {
  for (const Outcome outcome :
       {Outcome::kPass, Outcome::kWarn, Outcome::kCannotJudge, Outcome::kFail})
    expect_there(terminal_text(verdict_word(outcome), false));
}

TEST(Runbook, HasEveryKindOfRule) { EXPECT_GT(expect_all<RuleKind>(), 20); }

TEST(Runbook, HasEveryGroup) { EXPECT_GT(expect_all<RuleGroup>(), 7); }

TEST(Runbook, HasEveryFact) {
  for (const std::string& fact : fact_names()) expect_there(fact);
}

}  // namespace
}  // namespace peakline
