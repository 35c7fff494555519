#include <gtest/gtest.h>

#include <regex>

#include "tests/unit/golden_profile.hpp"

namespace peakline {
namespace {

// Reader and writer share one description, so neither notices swapped fields; tests of the golden
// profile rely on this one.
TEST(Fields, AreNamedLikeTheirMembers) {
  const std::filesystem::path folder(PEAKLINE_SOURCE_DIR "/harness/profile");
  const std::regex field(R"re(\ba(?:\.maybe)?\(\s*"(\w+)",\s*v\.(\w+))re");
  std::ptrdiff_t found = 0;
  for (const char* name : {"fields.hpp", "picture_fields.hpp"}) {
    const std::string text = golden::read_text(folder / name);
    for (std::sregex_iterator at(text.begin(), text.end(), field), end; at != end; ++at, ++found) {
      const std::string key = (*at)[1], member = (*at)[2];
      if (key == "reference_basis" && member == "reference") continue;
      EXPECT_TRUE(key == member || key == member + "_s") << name << ": " << key << ", " << member;
    }
  }
  EXPECT_GT(found, 250);
}

}  // namespace
}  // namespace peakline
