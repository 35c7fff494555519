#include "harness/show/make_screen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/conclude/findings.hpp"
#include "harness/show/check.hpp"
#include "harness/show/screen_sections.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

void add_findings(const Profile& profile, Screen& screen) {
  struct Kind {
    const Finding* first = nullptr;
    std::vector<std::string> devices = {};
  };
  std::vector<Kind> kinds;
  for (const Finding& finding : profile.findings) {
    if (!matters(finding)) {
      ++screen.more_notes;
      continue;
    }
    auto kind = std::ranges::find_if(kinds, [&](const Kind& k) {
      return k.first->code == finding.code && k.first->severity == finding.severity;
    });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {.first = &finding});
    if (!finding.device.empty()) kind->devices.push_back(device_label(profile, finding.device));
  }
  for (const auto& [finding, devices] : kinds) {
    // A single GPU needs no name.
    const bool named = !devices.empty() && (profile.devices.size() > 1 || devices[0] != "GPU 0");
    std::string message = named ? devices[0] + ": " + finding->message : finding->message;
    if (devices.size() > 1)
      message += fmt::format(" Likewise: {}.", shortened({devices.begin() + 1, devices.end()}));
    screen.matters.push_back({finding->severity, std::move(message)});
  }
}

}  // namespace

Screen make_screen(const Profile& profile, const Checks& checks) {
  const Overview content = overview(profile);
  const ResourceLabels labels(profile);
  Screen screen{.verdict = checks.verdict(), .sentence = check_sentence(checks, false)};
  if (std::string advice = check_advice(checks); !advice.empty())
    screen.reasons.push_back(std::move(advice));
  const auto add = [&](Screen::Section section) {
    if (section.rows.empty() && section.notes.empty()) return;
    screen.sections.push_back(std::move(section));
  };
  add(machine_section(profile, content));
  for (const DeviceOverview& device : content.devices)
    if (device.device == kNodeDevice) add(links_section(profile, checks, device));
  const std::vector<Alike> groups = alike_gpus(content, false);
  for (const Alike& group : groups) {
    Screen::Section figures = gpus_section(profile, checks, group, labels);
    if (groups.size() > 1) figures.title = group.names;
    add(std::move(figures));
    add(mfu_section(group, labels));
    add(memory_map_section(group));
    add(host_link_section(checks, group, labels));
  }
  for (const DeviceOverview& device : content.devices)
    if (device.device == kHostDevice && groups.empty()) add(host_section(profile, device));
  add(storage_section(profile, content, labels));
  add_findings(profile, screen);
  return screen;
}

}  // namespace peakline
