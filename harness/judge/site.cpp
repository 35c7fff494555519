#include "harness/judge/site.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/card_runs.hpp"

namespace peakline {
namespace {

void set_limit(JudgedRule& rule, double limit, const std::string& reason) {
  rule.limit = limit;
  rule.deviations = 0;
  rule.vouched = true;
  rule.reason = reason;
  rule.outcome = *rule.value < limit ? Outcome::kFail : Outcome::kPass;
  rule.cause.clear();
}

void limit_rule(const RuleChange& change, JudgedRule& rule) {
  if (change.limit) {
    set_limit(rule, *change.limit, change.reason);
  } else if (rule.yardstick && rule.yardstick->kind != YardstickKind::kFloor) {
    set_limit(rule, rule.yardstick->centre * (1 - *change.loss), change.reason);
  } else {
    rule.outcome = Outcome::kCannotJudge;
    rule.cause =
        fmt::format("no healthy ones are known, and the rules ask for it: {}", change.reason);
  }
}

void change_rule(const RuleChange& change, JudgedRule& rule) {
  if (asks(change) && rule.value && rule.outcome != Outcome::kCannotJudge) limit_rule(change, rule);
  if (!change.outcome || rule.outcome == Outcome::kPass) return;
  rule.outcome = std::min(rule.outcome, *change.outcome);
  rule.cause =
      fmt::format("{} by the rules: {}",
                  *change.outcome == Outcome::kWarn ? "only warns" : "left out", change.reason);
}

void add_missing(const RuleChange& change, std::string_view name, CheckedDevice& device) {
  RulesOf(device.name, device.rules)
      .add("missing", name, Outcome::kCannotJudge,
           fmt::format("not measured; the rules ask for it: {}", change.reason));
}

// "gpu0/...", "node/..."
bool names_device(std::string_view name) {
  return name.find('/') != std::string_view::npos &&
         (name.starts_with("gpu") || name.starts_with("node/"));
}

}  // namespace

bool asks(const RuleChange& change) { return change.limit || change.loss; }

std::vector<RuleChange> by_scope(std::span<const RuleChange> changes) {
  std::vector<RuleChange> sorted(changes.begin(), changes.end());
  std::ranges::stable_sort(sorted, {}, [](const RuleChange& change) {
    return std::pair(names_device(change.name), !change.mode.empty());
  });
  return sorted;
}

bool apply(const RuleChange& change, const DeviceView& gpu, CheckedDevice& device) {
  std::string_view name = change.name;
  const std::string prefix = device.name + '/';
  const bool named = name.starts_with(prefix);
  if (named) name.remove_prefix(prefix.size());
  const auto rule =
      std::ranges::find(device.rules, fmt::format("{}/{}", device.name, name), &JudgedRule::name);
  if (rule != device.rules.end()) {
    change_rule(change, *rule);
    return true;
  }
  // "gpu1/..." concerns another device, and rules that pass may be absent.
  if (!asks(change) || names_device(name)) return false;
  // Without a device's name, rules about what several GPUs do are the node's, others a GPU's. A
  // single GPU has no node; there such a limit cannot be judged.
  const bool of_node = is_of_node(name) && gpu.profile->devices.size() > 1;
  if (!named && gpu.is_node() != of_node) return false;
  add_missing(change, name, device);
  return true;
}

void add_absent(const RuleChange& change, std::vector<CheckedDevice>& devices) {
  const std::string_view name = change.name;
  const std::size_t slash = name.find('/');
  const bool named = names_device(name);
  const std::string_view key = named ? name.substr(0, slash) : kNodeDevice;
  auto device = std::ranges::find(devices, key, &CheckedDevice::name);
  if (device == devices.end())
    device = devices.insert(
        devices.end(), {.name = std::string(key), .model = "not in this machine", .rules = {}});
  add_missing(change, named ? name.substr(slash + 1) : name, *device);
}

}  // namespace peakline
