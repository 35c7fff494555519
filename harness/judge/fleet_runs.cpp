#include "harness/judge/fleet_runs.hpp"

#include <algorithm>

#include "harness/values/clock.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

// Dates this far ahead are no mistake of a time zone.
constexpr std::int64_t kClocksDiffer = 24 * 60 * 60;

std::string file_name(const FleetProfile& source) {
  const std::size_t slash = source.file.find_last_of('/');
  const std::string name = slash == std::string::npos ? source.file : source.file.substr(slash + 1);
  return printable(name.substr(0, name.rfind(".json")));
}

// A build without CUDA sees none.
bool measures_all_gpus(const Profile& profile) {
  return profile.asked.devices.empty() &&
         !(profile.devices.empty() && profile.software.cuda_runtime.empty());
}

bool same_slot(const DeviceFacts& a, const DeviceFacts& b) {
  return a.pci_bus_id.empty() || b.pci_bus_id.empty() ? a.index == b.index
                                                      : a.pci_bus_id == b.pci_bus_id;
}

}  // namespace

Machines::Machines(std::span<const FleetProfile> profiles, const Cards& cards)
    : profiles_(profiles) {
  std::map<std::pair<std::string, std::string>, std::size_t> of_cards;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    machines_.push_back(i);
    for (const DeviceFacts& gpu : profiles[i].profile.devices) {
      const auto [first, added] = of_cards.try_emplace({name_of(i), cards.card_of(gpu.uuid)}, i);
      if (!added) machines_[machine(i)] = machine(first->second);
    }
  }
  for (const bool with_cards : {true, false}) {
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      if (profiles[i].profile.devices.empty() == with_cards || name_of(i).empty()) continue;
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
  return found != named_.end() && found->second.size() == 1 ? name_of(i) : file_name(profiles_[i]);
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

// Of runs of one second, the one with the fewest GPUs counts.
std::pair<Age, std::ptrdiff_t> Newest::rank(std::size_t i) const {
  return {age(i), -std::ssize(profiles_[i].profile.devices)};
}

}  // namespace peakline
