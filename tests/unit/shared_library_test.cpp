#include "harness/cuda/shared_library.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>

namespace peakline::cuda {
namespace {

namespace fs = std::filesystem;

TEST(SharedLibrary, IsFoundInToolkitsAndInPythonPackages) {
  const fs::path folder = fs::temp_directory_path() / ("peakline-" + std::to_string(getpid()));
  const std::array<fs::path, 3> prefixes = {folder / "environment", folder / "toolkit",
                                            folder / "none"};
  const std::vector<fs::path> files = {
      prefixes[0] / "lib/python3.12/site-packages/nvidia/cu13/lib/library.so",
      prefixes[0] / "nvidia/cu13/lib/library.so",
      prefixes[1] / "lib64/library.so",
      prefixes[1] / "lib/python3/dist-packages/nvidia/nccl/lib/library.so",
  };
  for (const fs::path& file : files) {
    fs::create_directories(file.parent_path());
    std::ofstream{file};
  }
  EXPECT_EQ(library_files(prefixes, "library.so"), files);
  EXPECT_TRUE(library_files(prefixes, "another.so").empty());
  fs::remove_all(folder);
}

}  // namespace
}  // namespace peakline::cuda
