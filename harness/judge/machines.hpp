#pragma once

// Which profiles are of one machine, and the newest ones.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/values/cards.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// A profile and the file it came from, which may be unknown ("").
struct ProfileOfFile {
  const Profile* profile;
  std::string_view file;
};

// The machines of profiles. Several may have one name ("localhost"), so runs are of one machine if
// they share name and card. A run without cards is of the only machine with its name, if there is
// one. Refers to the profiles.
class Machines {
 public:
  Machines(std::vector<ProfileOfFile> profiles, const Cards& cards);
  // Identifies the machine of a profile, by index.
  std::size_t machine(std::size_t i) const;
  // The machine's name, or the file's if it has none of its own.
  std::string name(std::size_t i) const;

 private:
  const std::string& name_of(std::size_t i) const { return profiles_[i].profile->host.hostname; }

  std::vector<ProfileOfFile> profiles_;
  std::vector<std::size_t> machines_;  // another profile of the machine, or itself
  std::map<std::string, std::set<std::size_t>> named_;
};

// The machines that two sides of a comparison hold.
struct MachinesOfSides {
  std::vector<std::string> names;       // "" if the sides are compared as one machine
  std::vector<std::size_t> base, next;  // the machine of each profile, an index of `names`
};

// A machine keeps its name or, where only one side has that name, one of its cards. Sides without a
// machine in common, and those of one machine each, are compared as one: somebody chose them.
MachinesOfSides machines_of(const std::vector<ProfileOfFile>& base,
                            const std::vector<ProfileOfFile>& next, const Cards& cards);

struct FleetProfile {
  std::string file;
  Profile profile;
};

// How new a run is. A date in the future, which a wrong clock gives, is older than any other.
using Age = std::pair<bool, std::string_view>;

// The newest run of each card, and of each machine. Refers to its arguments.
class Newest {
 public:
  // now: seconds since 1970; nullopt: no date is in the future.
  Newest(std::span<const FleetProfile> profiles, const Cards& cards, const Machines& machines,
         std::optional<std::int64_t> now);

  bool in_future(std::size_t i) const;
  Age age(std::size_t i) const { return {!in_future(i), profiles_[i].profile.created}; }
  // A machine's newest run of all GPUs; nullptr without one.
  const FleetProfile* whole(std::size_t machine) const;
  // Likewise of the card's machine, if that run is newer than any of the card.
  const FleetProfile* without(const std::string& card) const;
  // Whether a card that the machine did not have before is in this one's slot.
  bool replaced(const std::string& card, const FleetProfile& by) const;

 private:
  std::pair<Age, std::ptrdiff_t> rank(std::size_t i) const;

  std::span<const FleetProfile> profiles_;
  const Cards& cards_;
  const Machines& machines_;
  std::string latest_;  // later dates are in the future; empty: none is
  std::map<std::string, std::pair<std::size_t, const DeviceFacts*>> seen_;  // newest, by card
  std::map<std::size_t, std::size_t> whole_;                                // by machine
};

}  // namespace peakline
