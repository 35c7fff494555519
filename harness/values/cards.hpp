#pragma once

// Identifies the cards that several profiles have in common.

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "harness/values/profile.hpp"

namespace peakline {

// The part of a UUID that anonymized profiles keep: "GPU-01234567-89ab-..." -> "GPU-01234567".
std::string short_uuid(std::string_view uuid);

class Cards {
 public:
  void add(const Profile& profile);
  // The card's name across all profiles: its short UUID where one of them was anonymized and no
  // other card has it, else its UUID. "host" and "node" stay.
  std::string card_of(std::string_view device) const;

 private:
  std::set<std::string> uuids_;
  std::map<std::string, std::set<std::string>> whole_;  // UUIDs by their short ones
  std::set<std::string> ambiguous_;                     // short UUIDs that two cards share
};

Cards cards_of(std::span<const Profile> profiles);

}  // namespace peakline
