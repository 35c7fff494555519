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

// Returns what `read` makes of the text, or an empty value if it throws a ProfileError with a
// message; any other exception ends the process. Aborts if writing the value, reading that and
// writing again gives another text.
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
