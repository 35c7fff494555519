#include "harness/judge/repeatability.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "harness/judge/compare.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/cards.hpp"

namespace peakline {
namespace {

using Group = std::vector<const Profile*>;

CeilingStudy studied(const std::vector<const Ceiling*>& rows) {
  CeilingStudy study{.device = rows[0]->device,
                     .resource = rows[0]->resource,
                     .basis = rows[0]->basis,
                     .unit = rows[0]->unit,
                     .runs = rows.size(),
                     .half_width = {},
                     .inside = {}};
  std::vector<double> values, half_widths;
  std::size_t inside = 0;
  for (const Ceiling* row : rows) {
    values.push_back(row->value);
    if (!row->ci_low || !row->ci_high) continue;
    half_widths.push_back((*row->ci_high - *row->ci_low) / 2 / row->value);
    inside += static_cast<std::size_t>(std::ranges::count_if(rows, [&](const Ceiling* next) {
      return next != row && next->value >= *row->ci_low && next->value <= *row->ci_high;
    }));
  }
  study.median = median(values);
  const auto [lowest, highest] = std::ranges::minmax(values);
  study.spread = (highest - lowest) / study.median;
  if (half_widths.size() == rows.size()) {
    study.half_width = median(half_widths);
    study.inside =
        static_cast<double>(inside) / static_cast<double>(rows.size() * (rows.size() - 1));
  }
  return study;
}

std::vector<CeilingStudy> ceilings_of(const Group& runs, const Cards& cards) {
  using Key = std::tuple<std::string, std::string, Basis>;
  std::vector<Key> order;
  std::map<Key, std::vector<const Ceiling*>> rows;
  for (const Profile* run : runs) {
    for (const Ceiling& row : run->ceilings) {
      if (row.measurement.empty() || row.value <= 0) continue;
      const auto [found, added] =
          rows.try_emplace({cards.card_of(row.device), row.resource, row.basis});
      if (added) order.push_back(found->first);
      found->second.push_back(&row);
    }
  }
  std::vector<CeilingStudy> studies;
  for (const Key& key : order) {
    if (rows.at(key).size() > 1) studies.push_back(studied(rows.at(key)));
  }
  return studies;
}

void hold_pairs_against_each_other(const Group& runs, Study& study) {
  for (const Profile* base : runs) {
    for (const Profile* next : runs) {
      if (base == next) continue;
      ++study.pairs;
      const CompareResult result = compare({base, 1}, {next, 1}, {});
      if (result.gate.passed()) continue;
      ++study.alarms;
      for (const Judged& reason : result.gate.reasons) ++study.causes[to_string(reason.name)];
    }
  }
}

}  // namespace

std::vector<Study> study_runs(std::span<const Profile> profiles) {
  using Key = std::pair<std::string, std::set<std::string>>;
  const Cards cards = cards_of(profiles);
  std::vector<Key> order;
  std::map<Key, Group> groups;
  for (const Profile& profile : profiles) {
    std::set<std::string> devices;
    for (const DeviceFacts& device : profile.devices) devices.insert(cards.card_of(device.uuid));
    const auto [found, added] = groups.try_emplace({profile.mode, std::move(devices)});
    if (added) order.push_back(found->first);
    found->second.push_back(&profile);
  }
  std::vector<Study> studies;
  for (const Key& key : order) {
    const Group& runs = groups.at(key);
    if (runs.size() < 2) continue;
    Study& study = studies.emplace_back();
    study.mode = key.first;
    for (const Profile* run : runs) study.created.push_back(run->created);
    std::ranges::sort(study.created);
    study.ceilings = ceilings_of(runs, cards);
    hold_pairs_against_each_other(runs, study);
  }
  return studies;
}

}  // namespace peakline
