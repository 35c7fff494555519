#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "harness/profile/profile.hpp"
#include "tests/unit/golden_profile.hpp"

namespace peakline {
namespace {

TEST(Schema, IsTheOneOfThePythonPackage) {
  // PEAKLINE_UPDATE_GOLDEN=1 writes it anew, as does `peakline schema`.
  const auto file =
      std::filesystem::path(PEAKLINE_SOURCE_DIR) / "reports/peakline/profile.schema.json";
  if (std::getenv("PEAKLINE_UPDATE_GOLDEN")) std::ofstream(file) << profile_schema();
  EXPECT_EQ(profile_schema(), golden::read_text(file));
}

}  // namespace
}  // namespace peakline
