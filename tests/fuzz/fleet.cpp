// Profiles of several machines: the same one many times over, of which each has other rates.

#include "harness/judge/fleet.hpp"

#include "harness/documents/documents.hpp"
#include "harness/profile/profile.hpp"
#include "harness/show/fleet.hpp"
#include "tests/fuzz/round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace peakline;
  constexpr std::size_t kMost = 8;  // machines; fewer have no peers
  const std::string_view text = fuzz::text_of(data, size);
  Profile profile;
  try {
    profile = profile_from_json(text, "p");
  } catch (const ProfileError&) {
    return 0;
  }
  std::vector<FleetProfile> fleet;
  for (std::size_t i = 0; i < 1 + size % kMost; ++i) {
    fleet.push_back({std::to_string(i) + ".json", profile});
    Profile& added = fleet.back().profile;
    added.host.hostname += std::to_string(i);
    for (DeviceFacts& device : added.devices) {
      const std::string uuid = device.uuid;
      device.uuid += std::to_string(i);
      for (Ceiling& ceiling : added.ceilings)
        if (ceiling.device == uuid) ceiling.device = device.uuid;
    }
    const double factor = 1 - data[i] / 1000.0;  // a valid profile has more bytes than machines
    for (Ceiling& ceiling : added.ceilings) ceiling.value *= factor;
  }
  const Fleet found = study_fleet(fleet, {});
  const std::size_t shown =
      fleet_text(found, true, {}).size() + fleet_json(found).size() + fleet_csv(found).size();
  if (shown == 0) std::abort();
  return 0;
}
