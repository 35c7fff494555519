#include "harness/judge/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <tuple>

#include "harness/conclude/findings.hpp"
#include "harness/judge/health.hpp"
#include "harness/judge/population.hpp"
#include "harness/judge/sides.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/cards.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

using Rows = std::vector<const Ceiling*>;

// Standard deviation over median absolute deviation, for normal values.
constexpr double kPerMad = 1.4826;
// Causes named per outlier.
constexpr std::size_t kCausesShown = 2;

struct Device {
  const FleetProfile* source = nullptr;
  std::string machine;  // its name
  std::string card = {};
  const DeviceView *view = nullptr, *node = nullptr;
  std::map<FigureKey, const Ceiling*> measured;
  std::map<std::string, std::string> conditions;
  std::optional<std::size_t> gpus = {};  // of a host whose GPUs were all requested
  const FleetProfile* lost = nullptr;    // its machine's newest run, which lacks it
};

Device device_of(const FleetProfile& source, std::string machine, const DeviceView& view,
                 const DeviceView& node) {
  Device device{.source = &source,
                .machine = std::move(machine),
                .view = &view,
                .node = &node,
                .measured = {},
                .conditions = {}};
  for (const Ceiling* row : view.ceilings)
    if (!row->measurement.empty() && row->value > 0)
      device.measured.try_emplace({row->resource, row->basis}, row);
  for (auto& [what, value] : conditions_of(view))
    if (!value.empty()) device.conditions.try_emplace(std::move(what), std::move(value));
  return device;
}

// A group's devices, and what is usual among them.
struct Peers {
  std::vector<Device> devices;
  bool judged = true;
  std::vector<FigureKey> order;
  std::map<FigureKey, Rows> ceilings;
  std::optional<Population> population;      // nullopt: a single device has no peers
  std::map<std::string, std::string> usual;  // most frequent value of each condition
  std::size_t usual_gpus = 0;                // of most hosts; 0: unknown
};

CardRun run_of(const Device& device, const std::string& name) {
  const DeviceView& view = *device.view;
  return view.is_host()   ? host_run(view, name)
         : view.is_node() ? node_run(view, name, true)
                          : card_run(view, name, true);
}

std::optional<Population> population_of(const std::vector<Device>& devices) {
  std::vector<CardRun> runs;
  std::vector<CardFacts> facts;
  for (const Device& device : devices) {
    runs.push_back(run_of(device, std::to_string(runs.size())));
    facts.push_back(runs.back().facts);
  }
  if (runs.size() < 2) return std::nullopt;
  std::vector<const CardRun*> pointers;
  for (const CardRun& run : runs) pointers.push_back(&run);
  CardFacts usual = facts_of_most(facts);
  usual.model = facts[0].model;
  Population population = peakline::population_of(usual, pointers);
  return population.figures.empty() ? std::nullopt : std::optional(std::move(population));
}

void find_usual(Peers& peers) {
  std::map<std::string, std::map<std::string, std::size_t>> counts;
  std::map<std::size_t, std::size_t> machines;  // by their GPUs
  for (const Device& device : peers.devices) {
    for (const auto& [id, row] : device.measured) peers.ceilings[id].push_back(row);
    for (const Ceiling* row : device.view->ceilings) {
      const FigureKey id{row->resource, row->basis};
      if (device.measured.contains(id) && std::ranges::find(peers.order, id) == peers.order.end())
        peers.order.push_back(id);
    }
    for (const auto& [what, value] : device.conditions) ++counts[what][value];
    if (device.gpus) ++machines[*device.gpus];
  }
  for (const auto& [what, values] : counts)
    if (auto value = majority_of(values, peers.devices.size())) peers.usual[what] = *value;
  for (const auto& [gpus, count] : machines)
    if (count >= kFewestMachines && 2 * count > peers.devices.size()) peers.usual_gpus = gpus;
  if (peers.judged) peers.population = population_of(peers.devices);
}

Distribution distribution_of(const FigureKey& id, const Rows& rows) {
  std::vector<double> values, logarithms;
  for (const Ceiling* row : rows) {
    values.push_back(row->value);
    logarithms.push_back(std::log(row->value));
  }
  Distribution row{id};
  row.unit = rows[0]->unit;
  row.devices = rows.size();
  row.median = median(values);
  row.deviation = kPerMad * median_deviation(logarithms);
  row.lowest = quantile(values, 0);
  row.p5 = quantile(values, 0.05);
  row.p25 = quantile(values, 0.25);
  row.p75 = quantile(values, 0.75);
  row.p95 = quantile(values, 0.95);
  row.highest = quantile(values, 1);
  return row;
}

// Setup and software that can limit a resource.
std::vector<std::string_view> setup_for(const Ceiling& row) {
  const std::string_view part = part_of(row.resource);
  if (row.device == kHostDevice) return {"usable threads", "memory", "CPU governor"};
  if (row.device == kNodeDevice) return {"NVLinks", "environment"};
  if (part == "pcie")
    return {"PCIe link", "PCIe payload", "other processes", "CPU governor", "virtualization"};
  if (is_compute(row.unit)) return {"power limit", "maximum SM clock", "other processes", "MIG"};
  return {"maximum memory clock", "ECC", "other processes", "MIG"};
}
std::vector<std::string_view> software_for(const Ceiling& row) {
  if (row.device == kHostDevice) return {"vector extension", "kernel", "build"};
  if (row.device == kNodeDevice) return {"NCCL", "driver"};
  if (is_compute(row.unit)) return {"driver", "cuBLASLt", "CUDA", "VBIOS", "build"};
  return {"driver", "VBIOS"};
}

std::string heat(const Ceiling& row, const Rows& rows) {
  if (!thermally_limited(row.conditions)) return "";
  const auto& own = row.conditions.temperature_c;
  const auto peers = median_of(rows, &Conditions::temperature_c);
  return own && peers ? fmt::format("heat: {:.0f} °C, peers {:.0f} °C", *own, *peers) : "heat";
}

std::string lower_clock(const Ceiling& row, const Rows& rows) {
  const auto& own = row.conditions.sm_clock_hz;
  const auto peers = median_of(rows, &Conditions::sm_clock_hz);
  if (!is_compute(row.unit) || !own || !peers || *own >= kFullClockShare * *peers) return "";
  // A chip that needs more power for a clock reaches a lower one at the cap.
  return fmt::format("SM clock {:.0f} % below the peers'{}", (1 - *own / *peers) * 100,
                     power_capped(row.conditions) ? ", at the power cap" : "");
}

// Why a device is slower than its peers, as far as profiles show.
std::string cause_of(const Ceiling& row, const Device& device, const Peers& peers) {
  const Rows& rows = peers.ceilings.at({row.resource, row.basis});
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

// CPUs are compared only with each other.
CheckedDevice checked_host(const Device& device, const Peers& peers, double least) {
  CheckedDevice host{.name = device.view->key(), .model = "", .uuid = "host", .rules = {}};
  RulesOf rules(host.name, host.rules);
  judge_findings(*device.view, rules);
  if (device.gpus && *device.gpus < peers.usual_gpus)
    rules.add(RuleKind::kGpus, "gpus", Outcome::kFail,
              fmt::format("{}; most machines with this CPU have {}",
                          format_count(static_cast<std::int64_t>(*device.gpus), "GPU"),
                          peers.usual_gpus));
  if (peers.population)
    judge_among_peers(*device.view, host_run(*device.view, ""), *peers.population, least, host);
  return host;
}

CheckedDevice checked(const Device& device, const Peers& peers, CheckOptions options) {
  if (device.view->is_host()) return checked_host(device, peers, options.least);
  options.peers = peers.population ? &*peers.population : nullptr;
  return check_device(*device.view, *device.node, options);
}

FleetCeiling standing_of(const Ceiling& row, const std::vector<Judged>& rules, const Peers& peers) {
  const FigureKey key{row.resource, row.basis};
  FleetCeiling out{key};
  out.value = row.value;
  out.ci_low = row.ci_low;
  out.ci_high = row.ci_high;
  const PopulationFigure* const level =
      peers.population ? find_figure(*peers.population, key) : nullptr;
  if (level != nullptr) out.deviation = row.value / level->median - 1;
  const auto find = [&](RuleKind kind) {
    return std::ranges::find_if(
        rules, [&](const Judged& each) { return each.kind == kind && each.name.figure == key; });
  };
  const auto rule = find(RuleKind::kFigure), unsteady = find(RuleKind::kUnsteady);
  if (rule != rules.end() && rule->outcome == Outcome::kFail) {
    out.standing = Standing::kLow;
    out.cause = rule->cause;
  } else if (unsteady != rules.end() && !unsteady->passes()) {
    out.standing = Standing::kUnsteady;
  } else if (level != nullptr &&
             row.value > level->highest_state * level->lowest_state / level->limit) {
    out.standing = Standing::kHigh;
  } else if (rule != rules.end() && rule->found) {
    out.standing = Standing::kUsual;
  }
  return out;
}

FleetMember member_of(const Device& device, const Peers& peers, const CheckOptions& options) {
  const Profile& profile = device.source->profile;
  FleetMember member{.node = device.machine,
                     .device = device_label(profile, device.view->name()),
                     .uuid = std::string(device.view->name()),
                     .card = device.card,
                     .file = device.source->file,
                     .created = profile.created,
                     .ceilings = {},
                     .rules = {}};
  CheckedDevice found = checked(device, peers, options);
  if (device.lost != nullptr)
    RulesOf(found.name, found.rules)
        .add(RuleKind::kLost, "lost", Outcome::kFail,
             fmt::format("not in the machine's newest run ({}, {}): lost, or not given to it",
                         printable(device.lost->file), device.lost->profile.created))
        .group = RuleGroup::kDevices;
  for (Judged& rule : found.rules) {
    if (!rule.name.figure || rule.outcome != Outcome::kFail || !rule.value || !rule.cause.empty())
      continue;
    if (const auto row = device.measured.find(*rule.name.figure); row != device.measured.end())
      rule.cause = cause_of(*row->second, device, peers);
  }
  for (const FigureKey& id : peers.order)
    if (const auto row = device.measured.find(id); row != device.measured.end())
      member.ceilings.push_back(standing_of(*row->second, found.rules, peers));
  std::ranges::stable_sort(found.rules, more_severe);
  for (Judged& rule : found.rules) rule.name.machine = member.node;
  member.rules = std::move(found.rules);
  return member;
}

FleetGroup group_of(std::string model, std::string mode, Peers peers, const CheckOptions& options) {
  find_usual(peers);
  const DeviceView& first = *peers.devices[0].view;
  FleetGroup group{.model = std::move(model),
                   .mode = std::move(mode),
                   .is_host = first.is_host(),
                   .is_node = first.is_node(),
                   .judged = peers.judged,
                   .members = {},
                   .ceilings = {},
                   .labels = {}};
  for (const Device& device : peers.devices) {
    group.members.push_back(member_of(device, peers, options));
    const ResourceLabels labels(device.source->profile);
    for (const auto& [id, row] : device.measured)
      group.labels.try_emplace(id.resource, labels(id.resource));
  }
  std::ranges::sort(group.members, {}, [](const FleetMember& member) {
    return std::tie(member.node, member.device, member.file);
  });
  for (const FigureKey& id : peers.order) {
    Distribution& row = group.ceilings.emplace_back(distribution_of(id, peers.ceilings.at(id)));
    for (const FleetMember& member : group.members) {
      for (const FleetCeiling& ceiling : member.ceilings) {
        if (static_cast<const FigureKey&>(ceiling) != id) continue;
        row.low += ceiling.standing == Standing::kLow;
        row.high += ceiling.standing == Standing::kHigh;
      }
    }
  }
  return group;
}

// A device's, of one second.
struct NewestRuns {
  Age age;
  std::vector<Device> runs;
};

// Of runs of one second the worst counts, whatever the files are called.
Device worst_of(std::vector<Device> runs, const CheckOptions& options) {
  const auto badness = [&](const Device& device) {
    double rates = 0;
    for (const auto& [id, row] : device.measured) rates += std::log(row->value);
    const Outcome outcome =
        runs.size() < 2 ? Outcome::kPass : verdict(checked(device, {}, options).rules);
    return std::tuple(outcome, -rates, device.source->file);
  };
  return std::move(*std::ranges::max_element(runs, {}, badness));
}

}  // namespace

std::string_view to_string(Standing standing) {
  return name_of({"usual", "low", "high", "unsteady", "undecided"}, standing);
}

Outcome Fleet::verdict() const {
  std::optional<Outcome> worst;
  for (const FleetGroup& group : groups) {
    for (const FleetMember& member : group.members) {
      // Nothing vouches for hosts: only their failures count.
      if (group.is_host && member.sound()) continue;
      worst = std::max(worst.value_or(Outcome::kPass), member.verdict());
    }
  }
  return worst.value_or(Outcome::kCannotJudge);
}

std::map<std::string, std::string> Fleet::faults() const {
  std::map<std::string, std::string> faults;
  for (const FleetGroup& group : groups) {
    if (group.is_host || group.is_node) continue;
    for (const FleetMember& member : group.members) {
      if (member.verdict() != Outcome::kFail) continue;
      const RuleName& rule = member.rules[0].name;
      const std::string within = rule.within();
      faults.try_emplace(member.uuid, within.empty() ? to_string(rule) : within);
    }
  }
  return faults;
}

Fleet study_fleet(std::span<const FleetProfile> profiles, const CheckOptions& options,
                  std::optional<std::int64_t> now) {
  Fleet fleet;
  fleet.profiles = profiles.size();
  Cards cards;
  std::vector<ProfileOfFile> files;
  for (const FleetProfile& source : profiles) {
    cards.add(source.profile);
    files.push_back({&source.profile, source.file});
  }
  const Machines machines(files, cards);
  const Newest newest(profiles, cards, machines, now);
  std::vector<std::vector<DeviceView>> views;
  for (const FleetProfile& source : profiles) views.push_back(device_views(source.profile));
  // Groups are by model and mode.
  std::map<std::pair<std::string, std::string>, std::map<std::string, NewestRuns>> groups;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const FleetProfile& source = profiles[i];
    if (newest.in_future(i)) fleet.in_future.push_back(source.file);
    const DeviceView& node = *std::ranges::find_if(views[i], &DeviceView::is_node);
    for (const DeviceView& view : views[i]) {
      const bool is_gpu = view.facts != nullptr;
      const bool is_node = view.is_node() && source.profile.devices.size() > 1;
      if (!is_gpu && !is_node && view.ceilings.empty()) continue;
      const std::size_t machine = machines.machine(i);
      const std::string key = is_gpu ? cards.card_of(view.facts->uuid) : std::to_string(machine);
      Device device = device_of(source, machines.name(i), view, node);
      if (is_gpu) device.lost = newest.without(key);
      if (device.lost != nullptr && newest.replaced(key, *device.lost)) {
        ++fleet.superseded;
        continue;
      }
      if (const FleetProfile* whole = newest.whole(machine); view.is_host() && whole != nullptr)
        device.gpus = whole->profile.devices.size();
      NewestRuns& known = groups[{view.model(), source.profile.mode}][key];
      fleet.superseded += !known.runs.empty();
      const Age age = newest.age(i);
      if (!known.runs.empty() && age < known.age) continue;
      if (known.age != age) known = {.age = age, .runs = {}};
      known.runs.push_back(std::move(device));
    }
  }
  std::set<std::tuple<bool, bool, std::string>> distinct;
  for (auto& [model_and_mode, devices] : groups) {
    Peers peers;
    for (auto& [key, known] : devices) {
      Device device = worst_of(std::move(known.runs), options);
      device.card = key;
      distinct.emplace(device.view->facts != nullptr, device.view->is_node(), key);
      if (device.view->is_host() && in_virtual_machine(device.source->profile.host))
        peers.judged = false;
      peers.devices.push_back(std::move(device));
    }
    fleet.groups.push_back(
        group_of(model_and_mode.first, model_and_mode.second, std::move(peers), options));
  }
  fleet.devices = distinct.size();
  fleet.drift = drift_of(profiles, views, cards, machines, newest);
  std::ranges::stable_sort(fleet.groups, [](const FleetGroup& a, const FleetGroup& b) {
    return std::pair(b.is_host, a.members.size()) > std::pair(a.is_host, b.members.size());
  });
  Allowed excused(options.allowed);
  for (FleetGroup& group : fleet.groups)
    for (FleetMember& member : group.members) excused.excuse(member.rules);
  fleet.unused = excused.unused();
  return fleet;
}

}  // namespace peakline
