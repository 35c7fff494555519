#include "harness/show/repeatability.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/show/table.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

constexpr std::size_t kCausesShown = 8;

Table table_of(const Study& study, const Profile& names) {
  const ResourceLabels labels(names);
  Table table{.key = "ceilings", .heading_indent = 0};
  // Gaps for the longest names in 80 columns, or 60 without medians.
  table.columns = {{.key = "basis", .is_text = true, .gap = 1},
                   {.key = "median", .head = "median", .gap = 1, .dispensable = 1},
                   {.key = "spread", .head = "spread", .gap = 1},
                   {.key = "half_width", .head = "interval ±", .gap = 1},
                   {.key = "inside", .head = "inside", .gap = 1}};
  std::string device;
  for (const CeilingStudy& row : study.ceilings) {
    if (row.device != device) table.rows.push_back(heading(device_label(names, row.device)));
    device = row.device;
    std::string label = labels(row.resource);
    if (row.runs < study.created.size()) label += fmt::format(" ({} runs)", row.runs);
    table.rows.push_back(
        {.key = to_string(FigureKey{row.resource, row.basis}),
         .label = std::move(label),
         .cells = {text_cell(row.basis == Basis::kMeasured ? "" : basis_label(row.basis)),
                   value_cell(row.median, row.unit), number_cell(Format::kFineShare, row.spread),
                   number_cell(Format::kFineShare, row.half_width),
                   number_cell(Format::kFineShare, row.inside)}});
  }
  return table;
}

std::string alarms(const Study& study, std::size_t width) {
  std::vector<std::pair<std::string, std::size_t>> causes(study.causes.begin(), study.causes.end());
  std::ranges::stable_sort(causes, std::greater(), &std::pair<std::string, std::size_t>::second);
  std::string text = fmt::format("compare --fail-on regression fails in {} of {} ordered pairs",
                                 study.alarms, study.pairs);
  for (std::size_t i = 0; i < std::min(causes.size(), kCausesShown); ++i) {
    text += fmt::format("{} {} ({})", i == 0 ? ":" : ",", causes[i].first, causes[i].second);
  }
  if (causes.size() > kCausesShown) text += " and others";
  return hanging("", text + ".", width);
}

}  // namespace

std::size_t left_out(std::span<const Study> studies, std::span<const Profile> profiles) {
  std::size_t studied = 0;
  for (const Study& study : studies) studied += study.created.size();
  return profiles.size() - studied;
}

std::string repeatability_text(std::span<const Study> studies, std::span<const Profile> profiles,
                               const ShowOptions& options) {
  const std::size_t width = options.width;
  std::string text = hanging(
      "",
      "spread: highest minus lowest run, as a share of the median; interval: the printed one, "
      "median of the runs; inside: how often a second run lies inside a first one's interval.",
      width);
  for (const Study& study : studies) {
    // The first profile names the devices.
    const auto of_study = std::ranges::find_if(profiles, [&](const Profile& p) {
      return p.mode == study.mode &&
             std::ranges::find(study.created, p.created) != study.created.end();
    });
    text +=
        '\n' + hanging("",
                       styled(Style::kBold,
                              fmt::format("{} {} runs, {} to {}", study.created.size(), study.mode,
                                          study.created.front(), study.created.back())),
                       width);
    text += text_of(table_of(study, *of_study), width) + alarms(study, width);
  }
  if (const std::size_t alone = left_out(studies, profiles); alone > 0) {
    text += '\n' +
            hanging("",
                    fmt::format("{} left out: no other run of the same devices in the same mode.",
                                format_count(alone, "profile")),
                    width);
  }
  return terminal_text(text, options.color);
}

}  // namespace peakline
