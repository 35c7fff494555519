#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "harness/profile/profile.hpp"

namespace peakline::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};  // NOLINT
}

// Reads; what was taken, and is written and read again, is the same. Returns it, or a new one where
// the reader says in one line what is wrong with the text: any other exception ends the process.
auto read_twice(std::string_view text, const auto& read, const auto& write) {
  decltype(read(text)) value{};
  try {
    value = read(text);
  } catch (const ProfileError& error) {
    if (std::string_view(error.what()).empty()) std::abort();
    return value;
  }
  const std::string written = write(value);
  if (write(read(written)) != written) std::abort();
  return value;
}

}  // namespace peakline::fuzz
