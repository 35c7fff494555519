// What a worker answers: a device's facts, then records.

#include "harness/profile/profile.hpp"
#include "tests/fuzz/round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace peakline;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::read_twice(text, device_facts_from_json_line,
                   [](const DeviceFacts& facts) { return to_json_line(facts); });
  const Measurement record =
      fuzz::read_twice(text, measurement_from_json_line,
                       [](const Measurement& measurement) { return to_json_line(measurement); });
  if (!record.id.empty()) readable(record);
  return 0;
}
