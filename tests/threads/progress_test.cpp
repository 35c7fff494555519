#include "harness/run/progress.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace peakline::bench {
namespace {

TEST(Progress, IsToldOfByTheThreadsOfAllDevices) {
  constexpr int kDevices = 4, kPoints = 200;
  testing::internal::CaptureStderr();
  {
    Progress progress(Verbosity::kVerbose, true);
    progress.expect(kDevices * kPoints, 1);
    std::vector<std::jthread> threads;
    for (int i = 0; i < kDevices; ++i)
      threads.emplace_back([&progress, device = "GPU-" + std::to_string(i)] {
        for (int point = 0; point < kPoints; ++point) {
          progress.started(device, "point", false);
          progress.log(device, "a line");
          Measurement measurement;
          measurement.id = "point";
          measurement.device = device;
          measurement.status = Status::kSkipped;
          progress.finished(measurement, 0.1, false);
        }
        progress.note("ends");
        progress.clear();
      });
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(text, '\n'), kDevices * (2 * kPoints + 1));
}

}  // namespace
}  // namespace peakline::bench
