// A file of populations.

#include "harness/profile/population_file.hpp"
#include "tests/fuzz/round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace peakline;
  const std::string_view text = fuzz::text_of(data, size);
  is_population(text);
  fuzz::read_twice(
      text, [](std::string_view read) { return populations_from_json(read, "p"); },
      [](const std::vector<Population>& populations) { return to_json(populations); });
  return 0;
}
