#include "harness/run/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace peakline::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The final content of a terminal's line.
std::string last_line(const std::function<void(Progress&)>& work) {
  testing::internal::CaptureStderr();
  std::string text;
  {
    Progress progress(Verbosity::kNormal, true);
    work(progress);
    text = testing::internal::GetCapturedStderr();
    testing::internal::CaptureStderr();  // the destructor erases the line
  }
  testing::internal::GetCapturedStderr();
  return text.substr(text.rfind('\r') + 1);
}

TEST(Progress, DeadDeviceLeavesTheLine) {
  const std::string line = last_line([](Progress& progress) {
    progress.expect(4, 10);
    progress.started("GPU-a", "hbm.read");
    progress.passed_over("GPU-a", 1);
    progress.started("GPU-b", "hbm.copy");
  });
  EXPECT_THAT(line, HasSubstr("[2/4, 0:09 left] GPU-b hbm.copy"));
  EXPECT_THAT(line, Not(HasSubstr("GPU-a")));
}

TEST(Progress, AFurtherSittingCountsNoFurtherPoint) {
  Measurement read;
  read.id = "hbm.read";
  read.device = "GPU-a";
  const std::string again = last_line([&](Progress& progress) {
    progress.expect(2, 10);
    progress.started("GPU-a", "hbm.read");
    progress.finished(read, 1);
    progress.started("GPU-a", "hbm.read", true);
  });
  EXPECT_THAT(again, HasSubstr("[1/2, 0:09 left] GPU-a hbm.read again"));
  const std::string next = last_line([&](Progress& progress) {
    progress.expect(2, 10);
    progress.started("GPU-a", "hbm.read");
    progress.finished(read, 1);
    progress.started("GPU-a", "hbm.read", true);
    progress.finished(read, 1, true);
    progress.passed_over("GPU-a", 1, true);
    progress.started("GPU-a", "hbm.copy");
  });
  EXPECT_THAT(next, HasSubstr("[2/2, 0:07 left] GPU-a hbm.copy"));
}

}  // namespace
}  // namespace peakline::bench
