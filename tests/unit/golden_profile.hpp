#pragma once

// The profile of tests/golden, also read by Python's tests: small, with nearly every field and
// every kind of unknown value. Files that tests compare with.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "harness/profile/profile.hpp"

namespace peakline::golden {

inline const std::filesystem::path kFile =
    std::filesystem::path(PEAKLINE_SOURCE_DIR) / "tests/golden/profile.json";
inline const std::string kUuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";

inline std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// PEAKLINE_UPDATE_GOLDEN=1 rewrites the file.
inline void expect_file(const std::string& text, const std::filesystem::path& file) {
  if (std::getenv("PEAKLINE_UPDATE_GOLDEN")) std::ofstream(file) << text;
  EXPECT_EQ(text, read_text(file)) << file;
}

inline void expect_screen(const std::string& text, const std::string& name) {
  expect_file(text, PEAKLINE_SOURCE_DIR "/tests/golden/screens/" + name + ".txt");
}

inline Profile example() {
  static const Profile kExample = read_profile(kFile);
  return kExample;
}

}  // namespace peakline::golden
