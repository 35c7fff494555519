#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "harness/profile/population.hpp"
#include "harness/profile/profile.hpp"
#include "harness/show/peaks.hpp"
#include "tests/unit/golden_profile.hpp"

namespace peakline {
namespace {

// PEAKLINE_UPDATE_GOLDEN=1 rewrites the file, as does `peakline schema`.
void expect_file(const std::string& schema, std::string_view name) {
  const auto file = std::filesystem::path(PEAKLINE_SOURCE_DIR) / "reports/peakline" / name;
  if (std::getenv("PEAKLINE_UPDATE_GOLDEN")) std::ofstream(file) << schema;
  EXPECT_EQ(schema, golden::read_text(file));
}

TEST(Schema, IsTheOneOfThePythonPackage) {
  expect_file(profile_schema(), "profile.schema.json");
  expect_file(population_schema(), "population.schema.json");
}

TEST(Peaks, FitANarrowTerminal) {
  for (const std::size_t width : {60, 80, 100, 140}) {
    std::istringstream text(peaks_text("", {.width = width}));
    for (std::string line; std::getline(text, line);) {
      if (line.find("://") == line.npos) {
        EXPECT_LE(text_width(line), width) << line;
      }
    }
  }
}

}  // namespace
}  // namespace peakline
