#include "harness/judge/health.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "harness/conclude/findings.hpp"
#include "harness/values/resources.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

bool found_wrong(const DeviceView& device) {
  return std::ranges::any_of(device.findings, [](const Finding* finding) {
    return finding->severity == Severity::kError &&
           (finding->code == "unverified" || finding->code == kWrongResults);
  });
}

// Stored findings, and those that facts and failed measurements add to them.
std::vector<Finding> all_findings(const DeviceView& device) {
  std::vector<Finding> all;
  for (const Finding* finding : device.findings) all.push_back(*finding);
  const auto stored = [&](std::string_view code, Severity least) {
    return std::ranges::any_of(device.findings, [&](const Finding* finding) {
      return finding->code == code && finding->severity >= least;
    });
  };
  for (Finding& finding : findings_of_facts(device)) {
    const bool excused = finding.code == kXid && stored(kXidOfPeakline, Severity::kInfo);
    if (!excused && !stored(finding.code, finding.severity)) all.push_back(std::move(finding));
  }
  return all;
}

bool warns(std::string_view code) {
  return code == kFabricNotReady || code == kNvLinkErrors || code == kPcieReplays;
}

// Names measurements that failed: "2 measurements failed: hbm.read/bytes:1024, hbm.copy".
std::string short_form(const Finding& finding) {
  if (finding.code != kMeasurementsFailed) return {};
  std::vector<std::string> names;
  for (const auto& [name, why] : finding.evidence) names.push_back(name);
  return fmt::format("{} failed: {}", format_count(std::ssize(names), "measurement"),
                     shortened(names));
}

void add_finding(Finding& finding, Outcome outcome, RulesOf& rules) {
  Judged& rule =
      rules.add(RuleKind::kHealth, "health/" + finding.code, outcome, std::move(finding.message));
  rule.group = RuleGroup::kHealth;
  rule.label = short_form(finding);
}

}  // namespace

void judge_findings(const DeviceView& device, RulesOf& rules) {
  std::set<std::string> seen;
  for (Finding& finding : all_findings(device)) {
    const auto add = [&](Outcome outcome) {
      if (seen.insert(finding.code).second) add_finding(finding, outcome, rules);
    };
    if (finding.code == kMemoryUntested) add(Outcome::kCannotJudge);
    // The room may be to blame rather than the GPU, and links are judged by their figures.
    else if (finding.code == kThermalLimit ||
             (warns(finding.code) && finding.severity < Severity::kError))
      add(Outcome::kWarn);
    // A mistake in peakline is none of the device.
    else if (finding.severity == Severity::kError && finding.code != "broken_topic")
      add(Outcome::kFail);
  }
}

void judge_failures(const DeviceView& host, RulesOf& rules) {
  for (Finding& finding : all_findings(host))
    if (finding.code == kMeasurementsFailed) add_finding(finding, Outcome::kWarn, rules);
}

void judge_machine(const Profile& profile, RulesOf& rules) {
  for (const Finding& finding : profile.findings)
    if (finding.device.empty() && finding.severity == Severity::kError)
      rules.add(RuleKind::kHealth, "health/" + finding.code, Outcome::kFail, finding.message)
          .group = RuleGroup::kHealth;
}

void judge_results(const DeviceView& device, RulesOf& rules) {
  std::vector<std::string> wrong, impossible, unknown;
  for (const MeasuredPoint& point : *device.points) {
    const Measurement& m = *point.what;
    if (m.status != Status::kOk) continue;
    // Each GPU of a pair reports wrong results between the two.
    if (m.verified == false && !(device.is_node() && second_gpu(m.params)))
      wrong.push_back(m.name());
    if (m.flags.implausible) impossible.push_back(m.name());
    if (lacks_verification(m)) unknown.push_back(m.name());
  }
  if (!wrong.empty() && !found_wrong(device))
    rules
        .add(RuleKind::kHealth, "health/unverified", Outcome::kFail,
             "wrong results: " + shortened(wrong))
        .group = RuleGroup::kHealth;
  if (const bool verify = device.profile->asked.verify; !verify || !unknown.empty())
    rules
        .add(RuleKind::kHealth, "health/not_verified", Outcome::kCannotJudge,
             "results were not verified" + (verify ? ": " + shortened(unknown) : " (--no-verify)"))
        .group = RuleGroup::kHealth;
  if (!impossible.empty())
    rules
        .add(RuleKind::kImplausible, "implausible", Outcome::kCannotJudge,
             "above what the hardware can do: " + shortened(impossible))
        .group = RuleGroup::kHealth;
}

void judge_health(const DeviceView& gpu, RulesOf& rules) {
  judge_findings(gpu, rules);
  const auto found = [&](std::string_view code) {
    return std::ranges::any_of(all_findings(gpu), [&](const Finding& finding) {
      return finding.severity == Severity::kError && (code.empty() || finding.code == code);
    });
  };
  const auto add = [&](std::string_view name, Outcome outcome, std::string text) {
    rules.add(RuleKind::kHealth, std::string(name), outcome, std::move(text)).group =
        RuleGroup::kHealth;
  };
  const DeviceHealth &before = gpu.facts->before, &health = gpu.facts->after;
  const bool remapped = before.remapped_rows_correctable && health.remapped_rows_correctable &&
                        *health.remapped_rows_correctable > *before.remapped_rows_correctable;
  if (remapped || health.remap_pending.value_or(before.remap_pending.value_or(false)))
    add("health/remap_pending", Outcome::kFail,
        "a memory row is to be remapped: the GPU needs a reset");
  if (health.ecc.uncorrected.value_or(0) > 0 && !found("ecc_errors"))
    add("health/ecc_errors", Outcome::kFail,
        fmt::format("{} since the driver was loaded",
                    format_count(*health.ecc.uncorrected, "uncorrected ECC error")));
  if (gpu.facts->ecc_enabled.value_or(false) && !health.ecc.uncorrected)
    add("health/counters", Outcome::kCannotJudge, "the driver's error counters could not be read");
  if (!found("") && gpu.facts->unusable.empty())
    add("health", Outcome::kPass, "no errors were reported");
  judge_results(gpu, rules);
}

void judge_pairs(const DeviceView& gpu, const DeviceView& node, RulesOf& rules) {
  std::vector<std::string> points;
  std::set<int> others;
  for (const MeasuredPoint& point : *node.points) {
    const Measurement& m = *point.what;
    if (m.status == Status::kSkipped || m.verified != false) continue;
    const auto first = first_gpu(m.params), second = second_gpu(m.params);
    if (!first || !second || (gpu.facts->index != *first && gpu.facts->index != *second)) continue;
    points.push_back(m.name());
    others.insert(gpu.facts->index == *first ? *second : *first);
  }
  if (points.empty()) return;
  rules
      .add(RuleKind::kHealth, "health/pairs", Outcome::kFail,
           fmt::format("copies between this GPU and GPU {} arrive with wrong data: either of the "
                       "two or the link is faulty ({})",
                       fmt::join(others, ", "), shortened(points)))
      .group = RuleGroup::kHealth;
}

}  // namespace peakline
