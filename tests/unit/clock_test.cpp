#include "harness/values/clock.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace peakline {
namespace {

constexpr Clock::rep kSecond = Clock::duration(std::chrono::seconds(1)).count();
constexpr Clock::rep kHour = 3600 * kSecond;

TEST(Clock, GoesOnFromWhereItWasWhenTheSystemsIsSetBack) {
  NeverBack clock;
  EXPECT_EQ(clock(2 * kHour), 2 * kHour);
  EXPECT_EQ(clock(2 * kHour + 5), 2 * kHour + 5);
  EXPECT_EQ(clock(kHour), 2 * kHour + 5);
  EXPECT_EQ(clock(kHour + 10), 2 * kHour + 15);
  // Set back again, then forward.
  EXPECT_EQ(clock(0), 2 * kHour + 15);
  EXPECT_EQ(clock(kHour), 3 * kHour + 15);
}

TEST(Clock, WaitsForThreadsThatReadItInAnotherOrder) {
  NeverBack clock;
  clock(100);
  EXPECT_EQ(clock(90), 100);
  EXPECT_EQ(clock(95), 100);
  EXPECT_EQ(clock(101), 101);  // nothing was added
}

TEST(Clock, IsSetBackOnceForAllThreads) {
  NeverBack clock;
  clock(2 * kHour);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (Clock::rep ticks = 0; ticks < 10000; ++ticks) clock(kHour + ticks);
    });
  threads.clear();
  const Clock::rep end = clock(kHour + 10000);
  EXPECT_GE(end, 2 * kHour);
  EXPECT_LE(end, 2 * kHour + kSecond);
}

TEST(Clock, RunsWithTheSystems) {
  const auto start = Clock::now();
  const double start_s = now_s();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_GE(seconds_since(start), 0.02);
  EXPECT_GE(now_s() - start_s, 0.019);
}

TEST(Utc, IsReadAsItIsWritten) {
  for (const auto& [text, seconds] : {std::pair{"1970-01-01T00:00:00Z", 0L},
                                      {"2028-02-29T00:00:01Z", 1835395201L},
                                      {"2100-12-31T23:59:59Z", 4133980799L}}) {
    EXPECT_EQ(utc_seconds(text), seconds) << text;
    EXPECT_EQ(utc_text(seconds), text);
  }
  for (const char* text :
       {"", "yesterday", "2026-02-30T00:00:00Z", "2026-01-31T12:00:00", "2026-01-31T12:00:00Z."})
    EXPECT_EQ(utc_seconds(text), std::nullopt) << text;
}

}  // namespace
}  // namespace peakline
