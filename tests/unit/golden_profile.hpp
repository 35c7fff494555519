#pragma once

// The profile that the golden file holds.

#include <filesystem>
#include <string>

#include "harness/values/profile.hpp"

namespace peakline::golden {

inline const std::filesystem::path kFile =
    std::filesystem::path(PEAKLINE_SOURCE_DIR) / "tests/golden/profile.json";
inline const std::string kUuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";

// A profile in which every field has a value of its own, and every kind of "not known" occurs.
// Python's tests read it too.
Profile example();

std::string read_text(const std::filesystem::path& file);

}  // namespace peakline::golden
