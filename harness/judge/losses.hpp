#pragma once

// The reasons of a gate, and those about ceilings and benchmarks that the new side lacks.

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/rules.hpp"
#include "harness/judge/sides.hpp"

namespace peakline {

struct Reasons {
  std::string device;  // "gpu0"
  std::vector<Judged>& all;

  template <class Name>
  void add(RuleKind kind, Name name, std::string text) {
    static constexpr std::array kCannotTell = {RuleKind::kClockUnknown, RuleKind::kMethodChanged,
                                               RuleKind::kUneven,       RuleKind::kNotJudged,
                                               RuleKind::kNotMeasured,  RuleKind::kDifferentModel,
                                               RuleKind::kFiltered,     RuleKind::kNotVerified};
    const bool unknown = std::ranges::find(kCannotTell, kind) != kCannotTell.end();
    RulesOf(device, all)
        .add(kind, std::move(name), unknown ? Outcome::kCannotJudge : Outcome::kFail,
             std::move(text));
  }
};

// A run's filter and devices; empty: all.
using Restriction = std::pair<std::string, std::string>;
inline Restriction restriction_of(const Profile& profile) {
  return {profile.asked.filter, profile.asked.devices};
}

// A new run is known to lack something if it measured everything, or what an old run measured.
class Restrictions {
 public:
  explicit Restrictions(std::span<const Profile* const> base) {
    for (const Profile* profile : base) known_.insert(restriction_of(*profile));
  }
  bool known(const Profile& profile) const {
    const Restriction restriction = restriction_of(profile);
    return restriction.first != kLeftOut && known_.contains(restriction);
  }

 private:
  std::set<Restriction> known_ = {{"", ""}};
};

inline bool unusable(const DeviceView& run) {
  return run.facts != nullptr && !run.facts->unusable.empty();
}

// Reports ceilings and benchmarks that the new side lacks, or has as errors. Returns whether the
// old side has any points.
bool add_losses(const DevicePair& pair, const DeviceComparison& device,
                const Restrictions& restrictions, Reasons& out);

}  // namespace peakline
