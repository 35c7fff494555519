#include "harness/show/screen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/conclude/findings.hpp"
#include "harness/show/check.hpp"
#include "harness/show/machine.hpp"
#include "harness/show/screen_tables.hpp"
#include "harness/show/show.hpp"
#include "harness/show/verdict_line.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

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
      message += fmt::format(" Same for {}.", shortened({devices.begin() + 1, devices.end()}));
    screen.matters.push_back({finding->severity, std::move(message)});
  }
}

std::size_t most_lines(std::size_t gpus) { return gpus < 2 ? 60 : 70; }

// Findings that matter, in at most `lines` lines.
std::string findings_text(const Screen& screen, std::size_t lines, std::size_t width) {
  std::string text = section("What matters here", "", width);
  if (screen.matters.empty()) text += "  nothing stands out\n";
  std::size_t used = 0, printed = 0;
  for (const auto& [severity, message] : screen.matters) {
    const std::string entry = finding_text(severity, message, width);
    const auto height = static_cast<std::size_t>(std::ranges::count(entry, '\n'));
    if (printed > 0 && used + height > lines) break;
    used += height;
    text += entry;
    ++printed;
  }
  const std::size_t more = screen.matters.size() - printed;
  if (more + screen.more_notes == 0) return text;
  return text +
         hanging("  ",
                 styled(Style::kDim, fmt::format("{}{}: peakline show FILE --topic findings",
                                                 more > 0 ? fmt::format("{} more that matter{}, ",
                                                                        more, more == 1 ? "s" : "")
                                                          : std::string(),
                                                 format_count(screen.more_notes, "other note"))),
                 width);
}

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

}  // namespace

std::string finding_text(Severity severity, std::string_view message, std::size_t width) {
  const auto [label, style] = severity == Severity::kError ? std::pair{"error", Style::kRed}
                              : severity == Severity::kWarning
                                  ? std::pair{"warning", Style::kYellow}
                                  : std::pair{"note", Style::kGreen};
  return hanging("  " + pad_right(styled(style, label), 9), message, width);
}

Screen make_screen(const Profile& profile, const Checks& checks) {
  const std::vector<DeviceView> devices = measured_devices(profile);
  const ResourceLabels labels(profile);
  Screen screen{.verdict = checks.verdict(), .sentence = check_sentence(checks, false)};
  if (std::string advice = check_advice(checks); !advice.empty())
    screen.reasons.push_back(std::move(advice));
  const auto add = [&](Table table) {
    if (!table.empty()) screen.tables.push_back(std::move(table));
  };
  add(machine_table(profile, devices));
  for (const DeviceView& device : devices)
    if (device.is_node()) add(links_table(checks, device, labels));
  const std::vector<Alike> groups = alike_gpus(devices, false);
  for (const Alike& group : groups) {
    Table figures = gpus_table(checks, group, labels);
    if (groups.size() > 1) figures.title = group.names;
    add(std::move(figures));
    add(gemm_sizes(group));
    add(mfu_choice(checks, group));
    add(levels_table(checks, group));
    add(host_link_table(checks, group, labels));
  }
  for (const DeviceView& device : devices)
    if (device.is_host() && groups.empty()) add(host_figures(checks, device));
  add(storage_table(checks, devices, labels));
  add_findings(profile, screen);
  return screen;
}

std::string first_screen(const Profile& profile, const Checks& checks, const ShowOptions& options) {
  const Screen screen = make_screen(profile, checks);
  const std::size_t width = options.width;
  std::string text = hanging(verdict_word(screen.verdict) + "  ", screen.sentence, width);
  for (const std::string& reason : screen.reasons)
    text += hanging("  ", styled(Style::kDim, reason), width);
  for (const Table& table : screen.tables) text += '\n' + text_of(table, width);
  const std::vector<std::string> topics = topics_of(profile);
  const std::string more =
      '\n' + hanging("More: ",
                     fmt::format("peakline show FILE --all, --topic {}; pictures: peakline-report "
                                 "FILE",
                                 topics[topics.size() > 1]),
                     width);
  // Findings get the remaining lines besides a heading and a last line, at least kFewest.
  constexpr std::size_t kFewest = 4;
  const std::size_t taken = line_count(text) + line_count(more) + 3;
  const std::size_t room = std::max(most_lines(profile.devices.size()), taken + kFewest) - taken;
  text += '\n' + findings_text(screen, room, width) + more;
  return terminal_text(text, options.color);
}

}  // namespace peakline
