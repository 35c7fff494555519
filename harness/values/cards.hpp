#pragma once

// Finds devices of several profiles that are one card.

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "harness/values/profile.hpp"

namespace peakline {

// The part of a UUID that an anonymized profile has: "GPU-01234567-89ab-..." -> "GPU-01234567".
std::string short_uuid(std::string_view uuid);

class Cards {
 public:
  void add(const Profile& profile);
  // The name by which all profiles know the card: where one of them was anonymized, what that one
  // has of the UUID. "host" and "node" as they are.
  std::string card_of(std::string_view device) const;

 private:
  std::set<std::string> uuids_;
  std::set<std::string> ambiguous_;  // what two cards of one profile have in common
};

Cards cards_of(std::span<const Profile> profiles);

}  // namespace peakline
