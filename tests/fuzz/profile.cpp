// A profile's file, unpacked.

#include "harness/profile/profile.hpp"

#include "tests/fuzz/round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace peakline;
  fuzz::read_twice(
      fuzz::text_of(data, size), [](std::string_view text) { return profile_from_json(text, "p"); },
      [](const Profile& profile) { return to_json(profile); });
  return 0;
}
