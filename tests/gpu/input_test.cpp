// Data from a file to the GPU through host memory.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "harness/host/storage.hpp"
#include "tests/gpu/points.hpp"

namespace peakline {
namespace {

class Input : public Points {
 protected:
  Input() : Points({.storage = true}) { options_.storage_descriptor = ::dup(file_.descriptor()); }

  host::StorageFile file_{std::filesystem::temp_directory_path(), host::kStorageUnit};
};

TEST_F(Input, ThroughHostMemoryItIsTheFile) {
  for (const char* source : {"storage", "page_cache"}) {
    const Measurement m =
        run("input.pipeline/source:" + std::string(source) + "/block:1048576/threads:4");
    EXPECT_EQ(m.verified, true) << source;
    EXPECT_GT(m.value.value(), 0) << source;
  }
}

}  // namespace
}  // namespace peakline
