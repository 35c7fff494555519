#include "harness/values/cards.hpp"

namespace peakline {

std::string short_uuid(std::string_view uuid) {
  const auto first = uuid.find('-');
  if (first == uuid.npos) return std::string(uuid);
  return std::string(uuid.substr(0, uuid.find('-', first + 1)));
}

void Cards::add(const Profile& profile) {
  std::set<std::string> names;
  for (const DeviceFacts& device : profile.devices) {
    uuids_.insert(device.uuid);
    const std::string name = short_uuid(device.uuid);
    if (device.uuid != name) whole_[name].insert(device.uuid);
    if (!names.insert(name).second || whole_[name].size() > 1) ambiguous_.insert(name);
  }
}

std::string Cards::card_of(std::string_view device) const {
  std::string name = short_uuid(device);
  return uuids_.contains(name) && !ambiguous_.contains(name) ? name : std::string(device);
}

Cards cards_of(std::span<const Profile> profiles) {
  Cards cards;
  for (const Profile& profile : profiles) cards.add(profile);
  return cards;
}

}  // namespace peakline
