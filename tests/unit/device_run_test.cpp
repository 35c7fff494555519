#include "harness/run/device_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peakline::bench {
namespace {

TEST(WorkerArguments, CarryEveryOption) {
  RunOptions options;
  options.quick = true;
  options.max_noise = 0.02;
  options.min_samples = 80;
  options.seed = 18446744073709551615u;
  options.verify = false;
  options.profile = true;
  EXPECT_THAT(worker_arguments("host", options),
              ::testing::ElementsAre("--device", "host", "--max-noise", "2", "--min-samples", "80",
                                     "--seed", "18446744073709551615", "--quick", "--no-verify",
                                     "--profile"));
}

}  // namespace
}  // namespace peakline::bench
