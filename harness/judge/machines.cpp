#include "harness/judge/machines.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "harness/values/clock.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

// Dates this far ahead are no mistake of a time zone.
constexpr std::int64_t kClocksDiffer = 24 * 60 * 60;

// A build without CUDA sees none.
bool measures_all_gpus(const Profile& profile) {
  return profile.asked.devices.empty() &&
         !(profile.devices.empty() && profile.software.cuda_runtime.empty());
}

bool same_slot(const DeviceFacts& a, const DeviceFacts& b) {
  return a.pci_bus_id.empty() || b.pci_bus_id.empty() ? a.index == b.index
                                                      : a.pci_bus_id == b.pci_bus_id;
}

std::string file_name(std::string_view file) {
  const std::string_view name = file.substr(file.find_last_of('/') + 1);
  return printable(name.substr(0, name.rfind(".json")));
}

// A side's machines by name. Of those that share one, only the files tell them apart.
using Named = std::map<std::string, std::vector<std::size_t>>;  // the profiles of each
Named by_name(const std::vector<ProfileOfFile>& profiles, const Cards& cards) {
  const Machines machines(profiles, cards);
  std::map<std::string, std::set<std::size_t>> holders;
  for (std::size_t i = 0; i < profiles.size(); ++i)
    holders[machines.name(machines.machine(i))].insert(machines.machine(i));
  Named named;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const std::size_t machine = machines.machine(i);
    std::string name = machines.name(machine);
    if (holders[name].size() > 1) name = printable(profiles[machine].file);
    named[name].push_back(i);
  }
  return named;
}

std::set<std::string> cards_in(const std::vector<ProfileOfFile>& profiles,
                               const std::vector<std::size_t>& chosen, const Cards& cards) {
  std::set<std::string> all;
  for (const std::size_t i : chosen)
    for (const DeviceFacts& gpu : profiles[i].profile->devices) all.insert(cards.card_of(gpu.uuid));
  return all;
}

}  // namespace

Machines::Machines(std::vector<ProfileOfFile> profiles, const Cards& cards)
    : profiles_(std::move(profiles)) {
  std::map<std::pair<std::string, std::string>, std::size_t> of_cards;
  for (std::size_t i = 0; i < profiles_.size(); ++i) {
    machines_.push_back(i);
    for (const DeviceFacts& gpu : profiles_[i].profile->devices) {
      const auto [first, added] = of_cards.try_emplace({name_of(i), cards.card_of(gpu.uuid)}, i);
      if (!added) machines_[machine(i)] = machine(first->second);
    }
  }
  for (const bool with_cards : {true, false}) {
    for (std::size_t i = 0; i < profiles_.size(); ++i) {
      if (profiles_[i].profile->devices.empty() == with_cards || name_of(i).empty()) continue;
      std::set<std::size_t>& others = named_[name_of(i)];
      if (!with_cards && others.size() == 1) machines_[i] = *others.begin();
      others.insert(machine(i));
    }
  }
}

std::size_t Machines::machine(std::size_t i) const {
  while (machines_[i] != i) i = machines_[i];
  return i;
}

std::string Machines::name(std::size_t i) const {
  const auto found = named_.find(name_of(i));
  return found != named_.end() && found->second.size() == 1 ? name_of(i)
                                                            : file_name(profiles_[i].file);
}

MachinesOfSides machines_of(const std::vector<ProfileOfFile>& base,
                            const std::vector<ProfileOfFile>& next, const Cards& cards) {
  const std::array<const std::vector<ProfileOfFile>*, 2> sides = {&base, &next};
  std::array<Named, 2> named = {by_name(base, cards), by_name(next, cards)};
  MachinesOfSides result{.names = {""},
                         .base = std::vector<std::size_t>(base.size(), 0),
                         .next = std::vector<std::size_t>(next.size(), 0)};
  if (named[0].size() < 2 && named[1].size() < 2) return result;
  // The first machine known to hold a card names all whose name only one side has.
  // Anonymized runs are first of a machine with a name.
  std::map<std::string, std::string> of_named, of_unknown;  // machines by card
  std::array<std::set<std::string>, 2> names_of;
  std::array<std::vector<std::string>, 2> name_of = {std::vector<std::string>(base.size()),
                                                     std::vector<std::string>(next.size())};
  for (const bool anonymized : {false, true}) {
    for (std::size_t side = 0; side < sides.size(); ++side) {
      for (const auto& [own_name, profiles] : named[side]) {
        if ((*sides[side])[profiles[0]].profile->host.hostname.empty() != anonymized) continue;
        std::string name = own_name;
        const bool known = named[1 - side].contains(own_name);
        const std::set<std::string> held = cards_in(*sides[side], profiles, cards);
        const auto take = [&](const std::map<std::string, std::string>& machines) {
          for (const std::string& card : held)
            if (const auto found = machines.find(card); found != machines.end())
              name = found->second;
        };
        if (!known) take(of_unknown);
        if (anonymized) take(of_named);
        for (const std::string& card : held) {
          if (!known) of_unknown.try_emplace(card, name);
          if (!anonymized) of_named.try_emplace(card, name);
        }
        names_of[side].insert(name);
        for (const std::size_t i : profiles) name_of[side][i] = name;
      }
    }
  }
  const bool common = std::ranges::any_of(
      names_of[0], [&](const std::string& name) { return names_of[1].contains(name); });
  std::set<std::string> names = names_of[0];
  names.insert(names_of[1].begin(), names_of[1].end());
  if (!common || names.size() < 2) return result;
  result.names.assign(names.begin(), names.end());
  const auto place = [&](const std::string& name) {
    return static_cast<std::size_t>(std::distance(names.begin(), names.find(name)));
  };
  std::ranges::transform(name_of[0], result.base.begin(), place);
  std::ranges::transform(name_of[1], result.next.begin(), place);
  return result;
}

Newest::Newest(std::span<const FleetProfile> profiles, const Cards& cards, const Machines& machines,
               std::optional<std::int64_t> now)
    : profiles_(profiles),
      cards_(cards),
      machines_(machines),
      latest_(now ? utc_text(*now + kClocksDiffer) : "") {
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    for (const DeviceFacts& gpu : profiles[i].profile.devices) {
      const auto [seen, added] = seen_.try_emplace(cards.card_of(gpu.uuid), i, &gpu);
      if (!added && age(seen->second.first) < age(i)) seen->second = {i, &gpu};
    }
    if (!measures_all_gpus(profiles[i].profile)) continue;
    const auto [whole, added] = whole_.try_emplace(machines.machine(i), i);
    if (!added && rank(whole->second) < rank(i)) whole->second = i;
  }
}

bool Newest::in_future(std::size_t i) const {
  return !latest_.empty() && profiles_[i].profile.created > latest_;
}

const FleetProfile* Newest::whole(std::size_t machine) const {
  const auto found = whole_.find(machine);
  return found == whole_.end() ? nullptr : &profiles_[found->second];
}

const FleetProfile* Newest::without(const std::string& card) const {
  const std::size_t seen = seen_.at(card).first;
  const auto found = whole_.find(machines_.machine(seen));
  return found != whole_.end() && age(seen) < age(found->second) ? &profiles_[found->second]
                                                                 : nullptr;
}

bool Newest::replaced(const std::string& card, const FleetProfile& by) const {
  const auto& seen = seen_.at(card);
  const DeviceFacts& gpu = *seen.second;
  std::set<std::string> before;
  for (const DeviceFacts& other : profiles_[seen.first].profile.devices)
    before.insert(cards_.card_of(other.uuid));
  return std::ranges::any_of(by.profile.devices, [&](const DeviceFacts& other) {
    return same_slot(gpu, other) && !before.contains(cards_.card_of(other.uuid));
  });
}

// The one with the fewest GPUs counts of runs of one second.
std::pair<Age, std::ptrdiff_t> Newest::rank(std::size_t i) const {
  return {age(i), -std::ssize(profiles_[i].profile.devices)};
}

}  // namespace peakline
