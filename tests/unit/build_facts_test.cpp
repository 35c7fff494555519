#include "harness/run/build_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace peakline::bench {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;

TEST(Environment, NamesWhatChangesResults) {
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 1);
  ::setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
  ::setenv("CUDA_HOME", "/usr/local/cuda", 1);
  EXPECT_THAT(relevant_environment(), IsSupersetOf({Pair("CUBLAS_WORKSPACE_CONFIG", ":4096:8"),
                                                    Pair("NVIDIA_TF32_OVERRIDE", "0")}));
  EXPECT_THAT(relevant_environment(), Not(Contains(Pair("CUDA_HOME", "/usr/local/cuda"))));
  ::unsetenv("CUBLAS_WORKSPACE_CONFIG");
  ::unsetenv("NVIDIA_TF32_OVERRIDE");
  ::unsetenv("CUDA_HOME");
}

}  // namespace
}  // namespace peakline::bench
