#include "harness/judge/site.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/judge/card_runs.hpp"

namespace peakline {
namespace {

void set_limit(Judged& rule, double limit, const std::string& reason) {
  rule.limit = limit;
  rule.limited_by_site = true;
  rule.reason = reason;
  rule.outcome = *rule.value < limit ? Outcome::kFail : Outcome::kPass;
  rule.cause.clear();
}

void limit_rule(const RuleChange& change, Judged& rule) {
  if (change.limit) {
    set_limit(rule, *change.limit, change.reason);
  } else if (rule.found && !rule.by(YardstickKind::kFloor)) {
    set_limit(rule, rule.found->by.centre * (1 - *change.loss), change.reason);
  } else {
    rule.outcome = Outcome::kCannotJudge;
    rule.cause =
        fmt::format("no healthy ones are known, and the rules ask for it: {}", change.reason);
  }
}

// A limit asks for its figure.
bool asks(const RuleChange& change) { return change.limit || change.loss; }

void add_missing(const RuleChange& change, std::string_view name, CheckedDevice& device) {
  RulesOf(device.name, device.rules)
      .add(RuleKind::kMissing, std::string(name), Outcome::kCannotJudge,
           fmt::format("not measured; the rules ask for it: {}", change.reason));
}

// "gpu0/...", "node/..."
bool names_device(std::string_view name) {
  return name.find('/') != std::string_view::npos &&
         (name.starts_with("gpu") || name.starts_with("node/"));
}

// The part of a change's name within a device; the whole name if it names none.
std::string_view name_within(const RuleChange& change, const CheckedDevice& device) {
  std::string_view name = change.name;
  if (name.starts_with(device.name + '/')) name.remove_prefix(device.name.size() + 1);
  return name;
}

Judged* find_rule(const RuleChange& change, CheckedDevice& device) {
  const auto rule = std::ranges::find(device.rules, name_within(change, device),
                                      [](const Judged& each) { return each.name.within(); });
  return rule == device.rules.end() ? nullptr : &*rule;
}

// Whether a limit without such a rule asks the device for it. Without a device's name, what several
// GPUs do together is the node's, anything else a GPU's. A single GPU has no node; there such a
// limit cannot be judged.
bool asks_of(const RuleChange& change, const DeviceView& view, const CheckedDevice& device) {
  const std::string_view name = name_within(change, device);
  if (names_device(name)) return false;  // another device
  const bool of_node = is_of_node(name) && view.profile->devices.size() > 1;
  return name.size() < change.name.size() || view.is_node() == of_node;
}

}  // namespace

SiteRules::SiteRules(std::span<const RuleChange> changes, std::string_view mode) {
  for (const RuleChange& change : changes) {
    const bool other = !change.mode.empty() && change.mode != mode;
    changes_.push_back({.change = change, .applied = other, .other_mode = other});
  }
  std::ranges::stable_sort(changes_, {}, [](const Change& each) {
    return std::pair(names_device(each.change.name), !each.change.mode.empty());
  });
}

void SiteRules::set_limits(const DeviceView& view, CheckedDevice& device) {
  for (auto& [change, applied, other_mode] : changes_) {
    if (other_mode || !asks(change)) continue;
    if (Judged* const rule = find_rule(change, device)) {
      if (rule->value && rule->outcome != Outcome::kCannotJudge) limit_rule(change, *rule);
      applied = true;
    } else if (asks_of(change, view, device)) {
      add_missing(change, name_within(change, device), device);
      applied = true;
    }
  }
}

void SiteRules::soften(CheckedDevice& device) {
  for (auto& [change, applied, other_mode] : changes_) {
    Judged* const rule = other_mode ? nullptr : find_rule(change, device);
    if (rule == nullptr) continue;
    applied = true;
    if (!change.outcome || rule->outcome == Outcome::kPass) continue;
    rule->outcome = std::min(rule->outcome, *change.outcome);
    rule->cause =
        fmt::format("{} by the rules: {}",
                    *change.outcome == Outcome::kWarn ? "only warns" : "left out", change.reason);
  }
}

std::vector<std::string> SiteRules::finish(std::vector<CheckedDevice>& devices) {
  std::vector<std::string> unused;
  for (const auto& [change, applied, other_mode] : changes_) {
    if (applied) continue;
    if (!asks(change)) {
      unused.push_back(change.name);
      continue;
    }
    const std::string_view name = change.name;
    const bool named = names_device(name);
    const std::string_view key = named ? name.substr(0, name.find('/')) : kNodeDevice;
    auto device = std::ranges::find(devices, key, &CheckedDevice::name);
    if (device == devices.end())
      device = devices.insert(
          devices.end(), {.name = std::string(key), .model = "not in this machine", .rules = {}});
    add_missing(change, named ? name.substr(key.size() + 1) : name, *device);
  }
  return unused;
}

}  // namespace peakline
