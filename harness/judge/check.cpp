#include "harness/judge/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "harness/hardware/datasheets.hpp"
#include "harness/hardware/usual_spread.hpp"
#include "harness/judge/health.hpp"
#include "harness/judge/missing.hpp"
#include "harness/judge/site.hpp"
#include "harness/statistics/sm_clock.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/resources.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Rates this many times those of healthy cards were measured wrongly. Multicast gains NCCL less,
// and PCIe, in which hosts differ, has its own limit.
constexpr double kImplausiblyFast = 2;

// Whether it is above its own theory, or far above healthy cards.
bool implausibly_fast(const RunFigure& figure, std::span<const Yardstick> yardsticks) {
  const std::string_view part = part_of(figure.resource);
  const double value = std::max(figure.value, figure.fastest);
  // Multicast moves less data than NCCL's theory assumes.
  if (figure.theory && !figure.beside_siblings && part != "nccl" &&
      value > kPlausibleMargin * *figure.theory * figure.clock_seen)
    return true;
  return part != "pcie" && std::ranges::any_of(yardsticks, [&](const Yardstick& y) {
           const bool healthy =
               y.kind == YardstickKind::kPopulation || y.kind == YardstickKind::kPrior;
           return healthy && y.may_pass && value > kImplausiblyFast * y.centre;
         });
}

bool below_floor(const RunFigure& figure, std::span<const Yardstick> yardsticks) {
  return std::ranges::any_of(yardsticks, [&](const Yardstick& y) {
    return y.kind == YardstickKind::kFloor && figure.value < y.centre;
  });
}

void judge_figure(const RunFigure& figure, const CardRun& run, const Known& known, double least,
                  Judged& rule) {
  const std::vector<Yardstick> yardsticks = yardsticks_for(known, run.facts, figure);
  const Assessment found =
      judge(reading_of(figure, run.facts, least), yardsticks, run.figures.size());
  rule.group = rule_group_of(figure.resource);
  rule.value = figure.value;
  rule.unit = figure.unit;
  rule.limit = found.limit;
  if (found.limit) rule.found = found;
  if (!found.distrusted.empty())
    rule.cause = fmt::format("the median of {} lies below {}, and is not trusted", found.distrusted,
                             found.by.source);
  // judge_coverage() reports what was not judged, or only by peers.
  rule.outcome = found.outcome == Outcome::kFail ? Outcome::kFail : Outcome::kPass;
  const PopulationFigure* f =
      known.population == nullptr ? nullptr : find_figure(*known.population, figure);
  if (f != nullptr && !same_method(*f, figure)) {
    rule.kind = RuleKind::kMethod;
    rule.outcome = Outcome::kCannotJudge;
    rule.value.reset();
    rule.found.reset();
    rule.text = fmt::format("{}: measured by method {}, the population by method {}", rule.label,
                            *figure.method_version, *f->method_version);
  } else if (implausibly_fast(figure, yardsticks)) {
    rule.outcome = Outcome::kCannotJudge;
    if (rule.found) rule.found->vouched = false;
    rule.cause = "implausibly fast";
  } else if (rule.outcome == Outcome::kFail && rule.found && !below_floor(figure, yardsticks) &&
             neighbours_may_slow(run.facts, figure.resource, rule.share(figure.value))) {
    rule.outcome = Outcome::kWarn;
    rule.cause = "others on the host can cause that";
  }
}

bool beside_siblings(const Judged& rule) {
  return rule.name.figure && rule.name.figure->beside_siblings;
}

// A precision that is faster than on healthy cards, as by another cuBLASLt, says nothing of its
// siblings.
void excuse_siblings(std::span<Judged> rules) {
  const auto fast = [&](Basis basis) {
    return std::ranges::find_if(rules, [&](const Judged& rule) {
      if (rule.group != RuleGroup::kTensor || !rule.value || !rule.found ||
          rule.by(YardstickKind::kFloor) || beside_siblings(rule))
        return false;
      const double centre = rule.found->by.centre;
      return rule.name.figure->basis == basis && *rule.value > centre * centre / *rule.limit;
    });
  };
  for (Judged& rule : rules) {
    if (!beside_siblings(rule) || rule.outcome != Outcome::kFail) continue;
    if (const auto found = fast(rule.name.figure->basis); found != rules.end()) {
      rule.outcome = Outcome::kWarn;
      rule.cause = fmt::format("{} is faster than on healthy cards", found->label);
    }
  }
}

void judge_ceilings(const DeviceView& view, const CardRun& run, double least, CheckedDevice& device,
                    RulesOf& rules) {
  const ResourceLabels labels(*view.profile);
  for (const RunFigure& figure : run.figures) {
    Judged& rule = rules.add(RuleKind::kFigure, figure, Outcome::kPass);
    rule.label = figure.label.empty() ? labels(figure) : figure.label;
    rule.measurement = figure.measurement;
    judge_figure(figure, run, device.known, least, rule);
  }
  excuse_siblings(device.rules);
  judge_sources(view, rules);
  judge_missing(view, run, device.known, labels, rules);
  const bool known = device.known.population != nullptr || device.known.donor != nullptr ||
                     device.known.peers != nullptr;
  std::set<FigureKey> seen;
  for (const Ceiling* row : view.ceilings) {
    const FigureKey key{row->resource, row->basis};
    if (!seen.insert(key).second)
      rules
          .add(RuleKind::kDuplicate, key, Outcome::kCannotJudge,
               fmt::format("{}: the profile has it twice", labels(key)))
          .name.aspect = RuleName::Aspect::kTwice;
    const OwnScatter own = own_scatter(view, *row);
    if (!own.excessive || row->measurement.empty()) continue;
    Judged& rule =
        rules.add(RuleKind::kUnsteady, key,
                  neighbours_may_slow(run.facts, row->resource, 1 - *own.excessive) ? Outcome::kWarn
                  : known                                                           ? Outcome::kFail
                          : Outcome::kCannotJudge,
                  fmt::format("{}: unsteady, scatters by {} within the run, a healthy card's by "
                              "less than {}",
                              labels(key), format_percent(*own.excessive),
                              format_percent(own.unsteady_from)));
    rule.name.aspect = RuleName::Aspect::kSteady;
    rule.label = labels(key) + " unsteady";
    rule.group = rule_group_of(row->resource);
    rule.measurement = row->measurement;
  }
}

// A group with more than one in so many figures whose limits vouch for nothing does not pass.
constexpr std::int64_t kMostTooWide = 3;

// For each group, whether yardsticks that know healthy devices judged most of its figures: one
// known figure does not vouch for a group.
void judge_coverage(std::span<const RuleGroup> groups, CheckedDevice& device) {
  RulesOf rules(device.name, device.rules);
  for (const RuleGroup group : groups) {
    std::int64_t measured = 0, vouched = 0, alike = 0, wide = 0;
    bool floor = false, known = false;
    for (const Judged& rule : device.rules) {
      if (rule.group != group || !rule.value) continue;
      ++measured;
      vouched += rule.vouched() ? 1 : 0;
      known = known || (rule.vouched() && !rule.limited_by_site);
      wide += rule.found && rule.found->too_wide && !rule.limited_by_site ? 1 : 0;
      alike += rule.by(YardstickKind::kPeers) ? 1 : 0;
      floor = floor || rule.by(YardstickKind::kFloor);
    }
    // Collectives are known by number of ranks, and have only floors at other numbers. Limits of a
    // site vouch for their figures alone.
    const std::int64_t needed = group == RuleGroup::kGpuLinks && known ? 1 : (measured + 1) / 2;
    const bool too_wide = group != RuleGroup::kGpuLinks && kMostTooWide * wide > measured;
    if (vouched > 0 && vouched >= needed && !too_wide) continue;
    const Population* const peers = device.known.peers;
    // If many stand apart, either level may be the healthy one.
    const bool two_levels = peers != nullptr && 2 * peers->left_out.size() > peers->cards;
    const bool by_peers = measured > 0 && !two_levels && alike >= needed;
    const std::string why =
        measured == 0 ? "not measured"
        : too_wide    ? fmt::format("{} of {} scatter so much that a loss of {:.0f} % could hide",
                                    wide, format_count(measured, "figure"), kWidestLimit * 100)
        : vouched > 0
            ? fmt::format("only {} of {} known", vouched, format_count(measured, "figure"))
        : two_levels ? fmt::format("{} of {} devices stand apart", peers->left_out.size(),
                                   peers->left_out.size() + peers->cards)
        : by_peers   ? "like its peers; no such GPU known"
        : floor      ? "none below its floor"
                     : "no such GPU known";
    Judged& rule = rules.add(RuleKind::kCoverage, fmt::format("coverage/{}", to_string(group)),
                             by_peers ? Outcome::kWarn : Outcome::kCannotJudge, why);
    rule.group = group;
    rule.label = label_of(group);
  }
}

// The card's own statements, for models of which no other card is known.
CardFacts stated_facts(const DeviceFacts& gpu, const Profile& profile) {
  CardFacts stated{.model = gpu.name, .power_limit_w = gpu.power_limit_default_w};
  if (const Datasheet* product = find_datasheet(gpu); product != nullptr && product->sm_count > 0)
    stated.sm_count = product->sm_count;
  // Without bridges, no link of any card is up.
  if (gpu.nvlinks.count > 0 && std::ranges::any_of(profile.devices, [&](const DeviceFacts& other) {
        return other.name == gpu.name && other.nvlinks.up() > 0;
      }))
    stated.nvlinks = gpu.nvlinks.count;
  if (gpu.integrated.value_or(false) || gpu.c2c) return stated;
  stated.pcie_generation = gpu.pcie.max_generation;
  stated.pcie_width = gpu.pcie.max_width;
  return stated;
}

void judge_card(const DeviceView& gpu, const Known& known, RulesOf& rules) {
  const CardFacts card = card_facts(gpu);
  CardFacts usual;
  if (known.population != nullptr)
    usual = known.population->facts;
  else if (known.peers != nullptr)
    usual = known.peers->facts;
  complete(usual, stated_facts(*gpu.facts, *gpu.profile));
  // A GPU alone in its machine has no links that are up.
  if (gpu.profile->devices.size() < 2 && card.nvlinks.value_or(0) == 0) usual.nvlinks.reset();
  const std::string_view whose = known.population != nullptr ? "other cards"
                                 : known.peers != nullptr    ? "peers"
                                                             : "should be";
  judge_facts(card, usual, whose,
              known.population != nullptr ? Usual::kOtherCards : Usual::kNoPopulation, rules);
}

// Another process may slow a healthy GPU.
void name_other_users(std::span<const DeviceFacts> gpus, CheckedDevice& device) {
  std::vector<std::string> users;
  for (const DeviceFacts& gpu : gpus)
    if (const std::vector<std::string> names = other_users(gpu); !names.empty())
      users.push_back(fmt::format("{} used GPU {} too", shortened(names), gpu.index));
  if (users.empty()) return;
  for (Judged& rule : device.rules)
    if (rule.outcome == Outcome::kFail && !rule.measurement.empty() && rule.cause.empty()) {
      rule.cause = fmt::format("{}", fmt::join(users, "; "));
      rule.disturbed = true;
    }
}

Known known_by(const CheckOptions& options, const CardRun& run) {
  Known known = known_of(options.populations, options.donors, run.facts, run.mode);
  known.peers = options.peers;
  return known;
}

CheckedDevice checked(const DeviceView& gpu, const DeviceView& node, const CheckOptions& options,
                      SiteRules* site) {
  const Profile& profile = *gpu.profile;
  CheckedDevice device{
      .name = gpu.key(), .model = gpu.facts->name, .uuid = gpu.facts->uuid, .rules = {}};
  RulesOf rules(device.name, device.rules);
  judge_health(gpu, rules);
  judge_pairs(gpu, node, rules);
  if (!gpu.facts->unusable.empty()) {
    rules.add(RuleKind::kUnusable, "", Outcome::kFail,
              "cannot be measured: " + gpu.facts->unusable);
    return device;
  }
  if (!profile.complete && profile.asked.filter.empty())
    rules.add(RuleKind::kEndedEarly, "complete", Outcome::kCannotJudge, "the run ended early");
  const CardRun run = card_run(gpu, "");
  device.known = known_by(options, run);
  judge_card(gpu, device.known, rules);
  judge_ceilings(gpu, run, options.least, device, rules);
  name_other_users({gpu.facts, 1}, device);
  if (site != nullptr) site->set_limits(gpu, device);
  std::vector<RuleGroup> groups = {RuleGroup::kMemory, RuleGroup::kCompute};
  if (gpu.facts->compute_major >= 7) groups.push_back(RuleGroup::kTensor);
  if (!gpu.facts->integrated.value_or(false)) groups.push_back(RuleGroup::kHostLink);
  judge_coverage(groups, device);
  if (site != nullptr) site->soften(device);
  return device;
}

// Links between GPUs, and their number.
CheckedDevice checked_node(const DeviceView& node, const CheckOptions& options, SiteRules* site) {
  const Profile& profile = *node.profile;
  CheckedDevice device{.name = node.key(), .model = node.model(), .uuid = "node", .rules = {}};
  RulesOf rules(device.name, device.rules);
  const auto measured = std::ranges::count_if(
      profile.devices, [](const DeviceFacts& gpu) { return gpu.unusable.empty(); });
  if (options.gpus) {
    Judged& rule = rules.add(
        RuleKind::kGpus, "gpus", measured < *options.gpus ? Outcome::kFail : Outcome::kPass,
        fmt::format("{} of {} measured", measured, format_count(*options.gpus, "GPU")));
    rule.group = RuleGroup::kDevices;
    if (rule.outcome == Outcome::kFail && options.some_hidden)
      rule.cause = "CUDA_VISIBLE_DEVICES hides the rest";
  }
  judge_machine(profile, rules);
  if (std::ranges::count_if(profile.devices, may_be_linked) < 2) return device;
  judge_findings(node, rules);
  const CardRun run = node_run(node, "");
  device.known = known_by(options, run);
  judge_ceilings(node, run, options.least, device, rules);
  judge_missing_pairs(node, rules);
  judge_omitted(node, run, device.rules);
  name_other_users(profile.devices, device);
  if (site != nullptr) site->set_limits(node, device);
  // Host links may share a switch, so only nodes of the same kind tell what is healthy.
  std::erase_if(device.rules, [](const Judged& rule) {
    return rule.kind == RuleKind::kFigure && rule.group == RuleGroup::kHostLink && !rule.found;
  });
  judge_results(node, rules);
  judge_coverage(std::array{RuleGroup::kGpuLinks}, device);
  if (site != nullptr) site->soften(device);
  return device;
}

bool waits_for_a_second(const Judged& rule) {
  return rule.outcome == Outcome::kFail && !rule.measurement.empty();
}

}  // namespace

void judge_among_peers(const DeviceView& host, const CardRun& run, const Population& peers,
                       double least, CheckedDevice& device) {
  device.known.peers = &peers;
  RulesOf rules(device.name, device.rules);
  judge_ceilings(host, run, least, device, rules);
}

CheckedDevice check_device(const DeviceView& device, const DeviceView& node,
                           const CheckOptions& options, SiteRules* site) {
  return device.is_node() ? checked_node(device, options, site)
                          : checked(device, node, options, site);
}

const Judged* CheckResult::worst(const CheckedDevice** device) const {
  const CheckedDevice* found = nullptr;
  for (const CheckedDevice& checked : devices) {
    const Judged* const own = peakline::worst(checked.rules);
    if (own == nullptr) continue;
    if (found == nullptr || more_severe(*own, *peakline::worst(found->rules))) found = &checked;
  }
  if (device != nullptr && found != nullptr) *device = found;
  return found == nullptr ? nullptr : peakline::worst(found->rules);
}

Outcome Checks::verdict() const {
  Outcome worst = why_none.empty() ? Outcome::kPass : Outcome::kCannotJudge;
  for (const CheckedFile& file : files) worst = std::max(worst, file.result.verdict());
  return worst;
}

std::vector<const CheckedDevice*> Checks::devices() const {
  std::vector<const CheckedDevice*> all;
  for (const CheckedFile& file : files)
    for (const CheckedDevice& device : file.result.devices) all.push_back(&device);
  return all;
}

std::string_view Checks::source_of(const CheckedDevice& device) const {
  return device.known.built_in ? kBuiltIn : std::string_view(source);
}

Outcome CheckResult::verdict() const {
  const Judged* const rule = worst();
  const bool no_gpu = std::ranges::none_of(
      devices, [](const CheckedDevice& device) { return device.uuid != kNodeDevice; });
  if (rule == nullptr || (no_gpu && rule->outcome < Outcome::kCannotJudge))
    return Outcome::kCannotJudge;
  return rule->outcome == Outcome::kExcused ? Outcome::kPass : rule->outcome;
}

CheckResult check(const Profile& profile, const CheckOptions& options) {
  CheckResult result{.mode = profile.mode,
                     .created = profile.created,
                     .devices = {},
                     .unused = {},
                     .gpus_given = options.gpus.has_value()};
  SiteRules site(options.changes, profile.mode);
  const std::vector<DeviceView> views = device_views(profile);
  const DeviceView& node = *std::ranges::find_if(views, &DeviceView::is_node);
  const DeviceView& host = *std::ranges::find_if(views, &DeviceView::is_host);
  for (const DeviceView& view : views) {
    if (view.is_host()) continue;
    CheckedDevice device = check_device(view, node, options, &site);
    if (RulesOf rules(host.key(), device.rules); view.is_node()) judge_failures(host, rules);
    if (!device.rules.empty()) result.devices.push_back(std::move(device));
  }
  result.unused = site.finish(result.devices);
  Allowed allowed(options.allowed);
  for (CheckedDevice& device : result.devices) allowed.excuse(device.rules);
  std::ranges::copy(allowed.unused(), std::back_inserter(result.unused));
  return result;
}

std::vector<std::string> ids_to_measure_again(const CheckResult& result) {
  std::set<std::string> ids;
  for (const CheckedDevice& device : result.devices) {
    for (const Judged& rule : device.rules) {
      if (!waits_for_a_second(rule)) continue;
      for (const Judged& other : device.rules)
        if (&other == &rule || (beside_siblings(rule) && beside_siblings(other) &&
                                rule.name.figure->basis == other.name.figure->basis))
          ids.insert(other.measurement.substr(0, other.measurement.find('/')));
    }
  }
  return {ids.begin(), ids.end()};
}

void confirm(CheckResult& result, const CheckResult& again) {
  for (CheckedDevice& device : result.devices) {
    const auto second = std::ranges::find(again.devices, device.uuid, &CheckedDevice::uuid);
    if (second == again.devices.end()) continue;
    for (Judged& rule : device.rules) {
      if (!waits_for_a_second(rule)) continue;
      const auto found = std::ranges::find(second->rules, rule.name, &Judged::name);
      if (!rule.value) {  // unsteady: present only if it fails
        const bool measured = std::ranges::any_of(second->rules, [&](const Judged& other) {
          return other.value && other.name.figure == rule.name.figure;
        });
        if (found == second->rules.end() && measured) rule.outcome = Outcome::kWarn;
        continue;
      }
      if (found == second->rules.end() || !found->value) continue;
      rule.first_value = rule.value;
      rule.value = found->value;
      if (*rule.value >= *rule.limit) rule.outcome = Outcome::kWarn;
    }
  }
}

CheckResult check_twice(const std::function<Attempt(const std::string& filter)>& attempt) {
  auto [result, stopped] = attempt("");
  const std::vector<std::string> ids = ids_to_measure_again(result);
  if (ids.empty()) return result;
  if (!stopped) {
    std::string filter;
    for (const std::string& id : ids) {
      filter += filter.empty() ? "^(" : "|";
      for (const char c : id) filter += c == '.' ? std::string("\\.") : std::string(1, c);
    }
    const Attempt second = attempt(filter + ")(/|$)");
    // A ceiling is the best of several points; a stopped attempt may lack some.
    stopped = second.stopped;
    if (!stopped) confirm(result, second.result);
  }
  if (!stopped) return result;
  for (CheckedDevice& device : result.devices) {
    for (Judged& rule : device.rules) {
      if (!waits_for_a_second(rule)) continue;
      rule.outcome = Outcome::kCannotJudge;
      rule.cause = "no time to confirm";
    }
  }
  return result;
}

}  // namespace peakline
