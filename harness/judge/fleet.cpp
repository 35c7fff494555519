#include "harness/judge/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "harness/conclude/findings.hpp"
#include "harness/hardware/usual_spread.hpp"
#include "harness/judge/population.hpp"
#include "harness/judge/sides.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/cards.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

using CeilingId = std::pair<std::string, Basis>;

// One of a hundred fleets in which nothing is wrong has an outlier.
constexpr double kFalseAlarmsOfFleets = 0.01;
// A normal distribution's standard deviation over its median absolute deviation.
constexpr double kPerMad = 1.4826;
// What most peers have and a device has not is missing there.
constexpr double kMost = 0.5;
// Causes that are named of one outlier.
constexpr std::size_t kCausesShown = 2;

// A device in one profile.
struct Device {
  const FleetProfile* source = nullptr;
  DeviceView view;
  std::map<CeilingId, const Ceiling*> measured;
  std::map<std::string, std::string> conditions;
  std::optional<std::size_t> gpus;  // of a host of which all GPUs were looked for
};

Device device_of(const FleetProfile& source, DeviceView view) {
  Device device{
      .source = &source, .view = std::move(view), .measured = {}, .conditions = {}, .gpus = {}};
  for (const Ceiling* row : device.view.ceilings)
    if (!row->measurement.empty() && row->value > 0)
      device.measured.try_emplace({row->resource, row->basis}, row);
  for (auto& [what, value] : conditions_of(device.view))
    if (!value.empty()) device.conditions.try_emplace(std::move(what), std::move(value));
  return device;
}

std::string node_of(const FleetProfile& source) {
  if (!source.profile.host.hostname.empty()) return source.profile.host.hostname;
  const std::size_t slash = source.file.find_last_of('/');
  const std::string name = slash == std::string::npos ? source.file : source.file.substr(slash + 1);
  return printable(name.substr(0, name.rfind(".json")));
}

// Both are taken of logarithms, so that a ratio is a difference. A few bad devices among them move
// neither.
struct Scatter {
  double median = 0, deviation = 0;
};
Scatter scatter_of(std::span<const double> logarithms) {
  return {.median = median(logarithms), .deviation = kPerMad * median_deviation(logarithms)};
}

// One ceiling of the devices of a group.
struct PeerCeiling {
  std::vector<const Ceiling*> rows;
  std::vector<double> logarithms;  // of the rows' values

  void add(const Ceiling* row) {
    rows.push_back(row);
    logarithms.push_back(std::log(row->value));
  }
  Scatter without(const Ceiling& row) const {
    std::vector<double> others = logarithms;
    others.erase(others.begin() + (std::ranges::find(rows, &row) - rows.begin()));
    return scatter_of(others);
  }
};

// The devices of one group, with what is usual there.
struct Peers {
  std::vector<Device> devices;
  bool judged = false;
  std::vector<CeilingId> order;
  std::map<CeilingId, PeerCeiling> ceilings;
  // Beyond which a device is an outlier, in deviations, by how many devices have the ceiling.
  std::map<std::size_t, double> fences;
  std::map<std::string, std::string> usual;  // the commonest value of each condition
  CardFacts usual_facts;                     // of GPUs: what most have
  std::size_t usual_gpus = 0;                // of hosts: how many most have; 0: not known
};

void find_usual(Peers& peers) {
  std::map<std::string, std::map<std::string, std::size_t>> counts;
  for (const Device& device : peers.devices) {
    for (const auto& [id, row] : device.measured) peers.ceilings[id].add(row);
    for (const Ceiling* row : device.view.ceilings) {
      const CeilingId id(row->resource, row->basis);
      if (device.measured.contains(id) && std::ranges::find(peers.order, id) == peers.order.end())
        peers.order.push_back(id);
    }
    for (const auto& [what, value] : device.conditions) ++counts[what][value];
  }
  std::size_t verdicts = 0;
  for (const auto& [id, ceiling] : peers.ceilings) verdicts += ceiling.rows.size();
  const double probability = kFalseAlarmsOfFleets / 2 / static_cast<double>(verdicts);
  for (const auto& [id, ceiling] : peers.ceilings)
    if (const std::size_t n = ceiling.rows.size(); n >= kFewestPeers && !peers.fences.contains(n))
      peers.fences[n] = student_quantile(probability, n - 2);
  for (const auto& [what, values] : counts) {
    const auto commonest = std::ranges::max_element(
        values, {}, [](const auto& value_and_count) { return value_and_count.second; });
    // With two as common as each other, neither is the usual one.
    if (2 * commonest->second > peers.devices.size()) peers.usual[what] = commonest->first;
  }
  std::vector<CardFacts> cards;
  for (const Device& device : peers.devices)
    if (device.view.facts != nullptr) cards.push_back(card_facts(device.view));
  if (cards.size() >= kFewestPeers) peers.usual_facts = facts_of_most(cards);
  std::map<std::size_t, std::size_t> machines;  // by their GPUs
  for (const Device& device : peers.devices)
    if (device.gpus) ++machines[*device.gpus];
  for (const auto& [gpus, count] : machines)
    if (count >= kFewestPeers && 2 * count > peers.devices.size()) peers.usual_gpus = gpus;
}

Distribution distribution_of(const CeilingId& id, const PeerCeiling& ceiling) {
  const std::vector<const Ceiling*>& rows = ceiling.rows;
  const Scatter scatter = scatter_of(ceiling.logarithms);
  std::vector<double> values;
  for (const Ceiling* row : rows) values.push_back(row->value);
  return {.resource = id.first,
          .basis = id.second,
          .unit = rows[0]->unit,
          .devices = rows.size(),
          .median = std::exp(scatter.median),
          .deviation = scatter.deviation,
          .lowest = quantile(values, 0),
          .p5 = quantile(values, 0.05),
          .p25 = quantile(values, 0.25),
          .p75 = quantile(values, 0.75),
          .p95 = quantile(values, 0.95),
          .highest = quantile(values, 1)};
}

// Conditions of a run that can limit a resource: how the machine is set up, and its software.
std::vector<std::string_view> setup_for(const Ceiling& row) {
  const std::string_view part = part_of(row.resource);
  if (row.device == kHostDevice) return {"usable threads", "memory", "CPU governor"};
  if (row.device == kNodeDevice) return {"NVLinks", "environment"};
  if (part == "pcie") return {"PCIe link", "other processes", "CPU governor", "virtualization"};
  if (is_compute(row.unit)) return {"power limit", "maximum SM clock", "other processes", "MIG"};
  return {"maximum memory clock", "ECC", "other processes", "MIG"};
}
std::vector<std::string_view> software_for(const Ceiling& row) {
  if (row.device == kHostDevice) return {"vector extension", "kernel", "build"};
  if (row.device == kNodeDevice) return {"NCCL", "driver"};
  if (is_compute(row.unit)) return {"driver", "cuBLASLt", "CUDA", "VBIOS", "build"};
  return {"driver", "VBIOS"};
}

std::string heat(const Ceiling& row, const std::vector<const Ceiling*>& rows) {
  if (!thermally_limited(row.conditions)) return "";
  const auto& own = row.conditions.temperature_c;
  const auto peers = median_of(rows, &Conditions::temperature_c);
  return own && peers ? fmt::format("heat: {:.0f} °C, peers {:.0f} °C", *own, *peers) : "heat";
}

std::string lower_clock(const Ceiling& row, const std::vector<const Ceiling*>& rows) {
  const auto& own = row.conditions.sm_clock_hz;
  const auto peers = median_of(rows, &Conditions::sm_clock_hz);
  if (!is_compute(row.unit) || !own || !peers || *own >= kFullClockShare * *peers) return "";
  // A chip that needs more power for a clock has a lower one at the cap.
  return fmt::format("SM clock {:.0f} % below the peers'{}", (1 - *own / *peers) * 100,
                     power_capped(row.conditions) ? ", at the power cap" : "");
}

// Why an outlier is slower than its peers, as far as its profile shows.
std::string cause_of(const Ceiling& row, const Device& device, const Peers& peers,
                     const std::vector<const Ceiling*>& rows) {
  std::vector<std::string> causes = {heat(row, rows)};
  const auto add_differences = [&](const std::vector<std::string_view>& conditions) {
    for (const std::string_view what : conditions) {
      const auto own = device.conditions.find(std::string(what));
      const auto usual = peers.usual.find(std::string(what));
      if (own == device.conditions.end() || usual == peers.usual.end()) continue;
      if (own->second != usual->second)
        causes.push_back(fmt::format("{} {}, peers {}", what, own->second, usual->second));
    }
  };
  add_differences(setup_for(row));
  causes.push_back(lower_clock(row, rows));
  add_differences(software_for(row));
  std::erase(causes, "");
  causes.resize(std::min(causes.size(), kCausesShown));
  return fmt::format("{}", fmt::join(causes, "; "));
}

FleetCeiling standing_of(const CeilingId& id, const Device& device, const Peers& peers,
                         double threshold) {
  const Ceiling& row = *device.measured.at(id);
  const PeerCeiling& ceiling = peers.ceilings.at(id);
  FleetCeiling out{.resource = row.resource,
                   .basis = row.basis,
                   .value = row.value,
                   .ci_low = row.ci_low,
                   .ci_high = row.ci_high,
                   .cause = {}};
  const auto excessive = excessive_scatter(row);
  if (excessive) {
    out.standing = Standing::kUnsteady;
    out.cause = fmt::format("scatters by {} within the run", format_percent(*excessive));
  }
  if (ceiling.rows.size() < 2) return out;
  const Scatter others = ceiling.without(row);
  const double distance = std::log(row.value) - others.median;
  out.deviation = std::expm1(distance);
  if (!peers.judged || ceiling.rows.size() < kFewestPeers) return out;
  const HostFacts& host = device.source->profile.host;
  const double class_spread =
      usual_spread(row.resource, row.basis, site_of(row.device, host)).run_to_run *
      widened(device.view);
  // What a run scatters by beyond a healthy device's excuses no loss.
  const double own =
      excessive ? most_own_scatter(row) : own_scatter(row.spread.value_or(RunSpread{}));
  const double deviation = std::hypot(std::max(others.deviation, class_spread), own);
  const double fence = peers.fences.at(ceiling.rows.size());
  const bool outlier = std::abs(distance) > std::max(deviation * fence, -std::log1p(-threshold));
  if (outlier && distance < 0) {
    out.standing = Standing::kLow;
    if (!excessive) out.cause = cause_of(row, device, peers, ceiling.rows);
  } else if (!excessive) {
    out.standing = outlier ? Standing::kHigh : Standing::kUsual;
  }
  return out;
}

std::vector<MissingCeiling> missing_in(const Device& device, const Peers& peers) {
  std::vector<MissingCeiling> missing;
  for (const CeilingId& id : peers.order) {
    const auto have = static_cast<double>(peers.ceilings.at(id).rows.size());
    if (device.measured.contains(id) || have <= kMost * static_cast<double>(peers.devices.size()))
      continue;
    const auto& known = device.view.missing_ceilings;
    const auto why = std::ranges::find_if(known, [&](const MissingCeiling* row) {
      return row->resource == id.first && row->basis == id.second;
    });
    missing.push_back({.device = std::string(device.view.name()),
                       .resource = id.first,
                       .basis = id.second,
                       .reason = why == known.end() ? "not measured" : (*why)->reason});
  }
  return missing;
}

// Everything that speaks against the device.
std::vector<JudgedRule> reasons_of(const Device& device, const FleetMember& member,
                                   const Peers& peers) {
  std::vector<JudgedRule> reasons;
  RulesOf rules(member.node + '/' + device_key(device.view), reasons);
  const ResourceLabels labels(device.source->profile);
  for (const Finding* finding : device.view.findings)
    if (finding->severity == Severity::kError)
      rules.add("health", finding->code, Outcome::kFail, finding->message);
  if (device.view.facts != nullptr)
    judge_facts(card_facts(device.view), peers.usual_facts, "peers", false, rules);
  if (member.gpus)
    rules.add("gpus", "gpus", Outcome::kFail,
              fmt::format("{}; most machines with this CPU have {}",
                          format_count(static_cast<std::int64_t>(*member.gpus), "GPU"),
                          member.usual_gpus));
  std::vector<const FleetCeiling*> bad;
  for (const FleetCeiling& row : member.ceilings)
    if (row.standing == Standing::kLow || row.standing == Standing::kUnsteady) bad.push_back(&row);
  std::ranges::stable_sort(bad, {}, &FleetCeiling::deviation);
  for (const FleetCeiling* row : bad)
    rules.add(row->standing == Standing::kLow ? "slow" : "unsteady",
              ceiling_name(row->resource, row->basis), Outcome::kFail,
              fmt::format("{} {}: {}", labels(row->resource, row->basis),
                          format_signed_percent(row->deviation),
                          row->cause.empty() ? "no cause known" : row->cause));
  for (const MissingCeiling& row : member.missing)
    rules.add("missing", ceiling_name(row.resource, row.basis), Outcome::kFail,
              fmt::format("no {}: {}", labels(row.resource, row.basis), row.reason));
  std::erase_if(reasons, [](const JudgedRule& rule) { return rule.outcome == Outcome::kPass; });
  return reasons;
}

FleetMember member_of(const Device& device, const Peers& peers, double threshold) {
  const Profile& profile = device.source->profile;
  FleetMember member{.node = node_of(*device.source),
                     .device = device_label(profile, device.view.name()),
                     .uuid = std::string(device.view.name()),
                     .file = device.source->file,
                     .created = profile.created,
                     .ceilings = {},
                     .missing = missing_in(device, peers),
                     .errors = {},
                     .gpus = {},
                     .reasons = {}};
  for (const CeilingId& id : peers.order)
    if (device.measured.contains(id))
      member.ceilings.push_back(standing_of(id, device, peers, threshold));
  for (const Finding* finding : device.view.findings)
    if (finding->severity == Severity::kError) member.errors.push_back(finding->message);
  // A GPU that is gone is in no profile; its machine is.
  if (device.gpus && *device.gpus < peers.usual_gpus) {
    member.gpus = device.gpus;
    member.usual_gpus = peers.usual_gpus;
  }
  member.reasons = reasons_of(device, member, peers);
  return member;
}

FleetGroup group_of(std::string model, std::string mode, Peers peers, double threshold) {
  find_usual(peers);
  FleetGroup group{.model = std::move(model),
                   .mode = std::move(mode),
                   .is_host = peers.devices[0].view.is_host(),
                   .is_node = peers.devices[0].view.is_node(),
                   .judged = peers.judged,
                   .members = {},
                   .ceilings = {},
                   .labels = {}};
  for (const Device& device : peers.devices) {
    group.members.push_back(member_of(device, peers, threshold));
    const ResourceLabels labels(device.source->profile);
    for (const auto& [id, row] : device.measured)
      group.labels.try_emplace(id.first, labels(id.first));
  }
  std::ranges::sort(group.members, {}, [](const FleetMember& member) {
    return std::tie(member.node, member.device, member.file);
  });
  for (const CeilingId& id : peers.order) {
    Distribution& row = group.ceilings.emplace_back(distribution_of(id, peers.ceilings.at(id)));
    for (const FleetMember& member : group.members) {
      for (const FleetCeiling& ceiling : member.ceilings) {
        if (CeilingId(ceiling.resource, ceiling.basis) != id) continue;
        row.low += ceiling.standing == Standing::kLow;
        row.high += ceiling.standing == Standing::kHigh;
      }
    }
  }
  return group;
}

// The newest run of each node that looked for all of its GPUs.
std::map<std::string, const Profile*> whole_runs(std::span<const FleetProfile> profiles) {
  std::map<std::string, const Profile*> runs;
  for (const FleetProfile& source : profiles) {
    if (!devices_asked_for(source.profile).empty()) continue;
    const Profile*& newest = runs[node_of(source)];
    if (newest == nullptr || newest->created <= source.profile.created) newest = &source.profile;
  }
  return runs;
}

}  // namespace

std::string_view to_string(Standing standing) {
  return name_of({"usual", "low", "high", "unsteady", "undecided"}, standing);
}

Outcome Fleet::verdict() const {
  const bool sound = std::ranges::all_of(groups, [](const FleetGroup& group) {
    return std::ranges::all_of(group.members, &FleetMember::sound);
  });
  if (!sound) return Outcome::kFail;
  return std::ranges::any_of(groups, &FleetGroup::judged) ? Outcome::kPass : Outcome::kCannotJudge;
}

Fleet study_fleet(std::span<const FleetProfile> profiles, double threshold,
                  std::span<const std::string> allowed) {
  Fleet fleet;
  fleet.profiles = profiles.size();
  Cards cards;
  for (const FleetProfile& source : profiles) cards.add(source.profile);
  const auto whole = whole_runs(profiles);
  // Groups are told apart by model and mode, and in each the newest run of a node's device counts.
  std::map<std::pair<std::string, std::string>, std::map<std::string, Device>> groups;
  for (const FleetProfile& source : profiles) {
    for (DeviceView& view : device_views(source.profile)) {
      const bool is_gpu = view.facts != nullptr;
      if (!is_gpu && view.ceilings.empty()) continue;
      const std::string key = is_gpu ? cards.card_of(view.facts->uuid) : node_of(source);
      Device device = device_of(source, std::move(view));
      if (const auto found = whole.find(key); device.view.is_host() && found != whole.end())
        device.gpus = found->second->devices.size();
      auto& group = groups[{model_of(device.view), source.profile.mode}];
      const auto found = group.find(key);
      fleet.superseded += found != group.end();
      if (found != group.end() && found->second.source->profile.created > source.profile.created)
        continue;
      group.insert_or_assign(key, std::move(device));
    }
  }
  for (auto& [model_and_mode, devices] : groups) {
    Peers peers;
    bool shared_hosts = false;
    for (auto& [key, device] : devices) {
      shared_hosts |= device.view.is_host() && in_virtual_machine(device.source->profile.host);
      peers.devices.push_back(std::move(device));
    }
    fleet.devices += peers.devices.size();
    peers.judged = peers.devices.size() >= kFewestPeers && !shared_hosts;
    fleet.groups.push_back(
        group_of(model_and_mode.first, model_and_mode.second, std::move(peers), threshold));
  }
  std::ranges::stable_sort(fleet.groups, [](const FleetGroup& a, const FleetGroup& b) {
    return std::pair(b.is_host, a.members.size()) > std::pair(a.is_host, b.members.size());
  });
  Allowed excused(allowed);
  for (FleetGroup& group : fleet.groups)
    for (FleetMember& member : group.members) excused.excuse(member.reasons);
  fleet.unused = excused.unused();
  return fleet;
}

}  // namespace peakline
