#include "harness/run/build_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace peakline::bench {
namespace {

using ::testing::_;
using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;

TEST(Environment, NamesWhatChangesResults) {
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 1);
  ::setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
  ::setenv("NCCL_ALGO", "tree", 1);
  ::setenv("NCCL_VERSION", "2.28.3", 1);
  ::setenv("NCCL_NVLS_ENABLE", "0", 1);
  ::setenv("CUDA_HOME", "/usr/local/cuda", 1);
  EXPECT_THAT(relevant_environment(),
              IsSupersetOf({Pair("CUBLAS_WORKSPACE_CONFIG", ":4096:8"),
                            Pair("NVIDIA_TF32_OVERRIDE", "0"), Pair("NCCL_ALGO", "tree")}));
  for (const char* name : {"CUDA_HOME", "NCCL_VERSION", "NCCL_NVLS_ENABLE"})
    EXPECT_THAT(relevant_environment(), Not(Contains(Pair(name, _)))) << name;
  ::setenv("NCCL_NVLS_ENABLE", "1", 1);
  EXPECT_THAT(relevant_environment(), Contains(Pair("NCCL_NVLS_ENABLE", "1")));
  ::unsetenv("CUBLAS_WORKSPACE_CONFIG");
  ::unsetenv("NVIDIA_TF32_OVERRIDE");
  for (const char* name : {"NCCL_ALGO", "NCCL_VERSION", "NCCL_NVLS_ENABLE"}) ::unsetenv(name);
  ::unsetenv("CUDA_HOME");
}

}  // namespace
}  // namespace peakline::bench
