#include "harness/show/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "harness/show/json_document.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

std::string signed_percent(double share) {
  const double rounded = std::round(share * 1000) / 10;
  return rounded == 0 ? "0.0 %" : fmt::format("{:+.1f} %", rounded);
}

std::string ceiling_label(const FleetGroup& group, const std::string& resource, Basis basis) {
  const std::string& label = group.labels.at(resource);
  return basis == Basis::kMeasured ? label : label + ' ' + basis_label(basis);
}

std::string distributions(const FleetGroup& group, std::size_t width) {
  // Narrower ones leave the percentiles out, and the longest names just fit.
  constexpr std::size_t kRoomForPercentiles = 100;
  const bool percentiles = width >= kRoomForPercentiles;
  std::vector<TextTable::Column> columns = {left(2)};
  columns.insert(columns.end(), percentiles ? 6 : 4, right(percentiles ? 2 : 1));
  TextTable table(columns);
  table.row(percentiles ? std::vector<std::string>{"", "median", "scatter", "lowest", "p5", "p95",
                                                   "highest"}
                        : std::vector<std::string>{"", "median", "scatter", "lowest", "highest"});
  for (const Distribution& row : group.ceilings) {
    const bool alone = row.devices < 2;
    const auto share = [&](double value) {
      return alone ? not_known() : signed_percent(value / row.median - 1);
    };
    std::string name = ceiling_label(group, row.resource, row.basis);
    if (row.devices < group.members.size()) name += fmt::format(" ({})", row.devices);
    std::vector<std::string> cells = {
        name, format_value(row.median, row.unit),
        alone ? not_known() : fmt::format("{:.2f} %", row.deviation * 100), share(row.lowest)};
    if (percentiles) cells.insert(cells.end(), {share(row.p5), share(row.p95)});
    cells.push_back(share(row.highest));
    table.row(std::move(cells));
  }
  return table.render(width);
}

// "a, b, c and 2 more: why", in the order of the reasons' first ceiling.
class Reasons {
 public:
  void add(const std::string& why, std::string ceiling) {
    auto found = std::ranges::find(reasons_, why, &Reason::why);
    if (found == reasons_.end()) found = reasons_.insert(reasons_.end(), {why, {}});
    found->ceilings.push_back(std::move(ceiling));
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const Reason& reason : reasons_)
      lines.push_back(shortened(reason.ceilings) + ": " + reason.why);
    return lines;
  }

 private:
  struct Reason {
    std::string why;
    std::vector<std::string> ceilings;
  };
  std::vector<Reason> reasons_;
};

std::vector<std::string> reasons_of(const FleetGroup& group, const FleetMember& member) {
  std::vector<const FleetCeiling*> bad;
  for (const FleetCeiling& row : member.ceilings)
    if (row.standing == Standing::kLow || row.standing == Standing::kUnsteady) bad.push_back(&row);
  std::ranges::stable_sort(bad, {}, &FleetCeiling::deviation);
  Reasons reasons;
  for (const FleetCeiling* row : bad) {
    reasons.add(
        row->cause.empty() ? "no cause known" : row->cause,
        ceiling_label(group, row->resource, row->basis) + ' ' + signed_percent(row->deviation));
  }
  for (const MissingCeiling& row : member.missing)
    reasons.add(row.reason, "no " + ceiling_label(group, row.resource, row.basis));
  std::vector<std::string> lines = member.errors;
  if (member.gpus)
    lines.push_back(fmt::format("{}; most machines with this CPU have {}",
                                format_count(static_cast<std::int64_t>(*member.gpus), "GPU"),
                                member.usual_gpus));
  for (std::string& line : reasons.lines()) lines.push_back(std::move(line));
  return lines;
}

std::string verdict_of(const FleetGroup& group, const FleetMember& member) {
  if (!member.errors.empty()) return styled(Style::kRed, "faulty");
  if (member.any(Standing::kLow)) return styled(Style::kRed, "slow");
  if (member.any(Standing::kUnsteady)) return styled(Style::kRed, "unsteady");
  if (!member.missing.empty() || member.gpus) return styled(Style::kYellow, "incomplete");
  return group.judged ? styled(Style::kGreen, "fine") : styled(Style::kDim, "undecided");
}

std::string members(const FleetGroup& group, std::size_t width) {
  TextTable table({left(2), left(2), left(2), left(2)});
  for (const FleetMember& member : group.members) {
    // There is nothing to say of a virtual machine's host but what is wrong.
    if (group.is_host && !group.judged && member.sound()) continue;
    table.row({member.node, member.device, verdict_of(group, member),
               fmt::format("{}", fmt::join(reasons_of(group, member), "; "))});
  }
  return table.render(width);
}

std::string headline(const FleetGroup& group) {
  const auto sound =
      static_cast<std::int64_t>(std::ranges::count_if(group.members, &FleetMember::sound));
  const auto all = static_cast<std::int64_t>(group.members.size());
  const std::string what = group.is_host ? "host" : group.is_node ? "node" : "GPU";
  std::string text =
      fmt::format("{} · {} runs · {}", group.model, group.mode, format_count(all, what));
  if (!group.judged) {
    return text + (all < static_cast<std::int64_t>(kFewestPeers)
                       ? fmt::format(", too few to tell which is slow (at least {})", kFewestPeers)
                       : ", not judged: virtual machines' hosts are shared");
  }
  return text + (sound == all ? ", all fine" : fmt::format(", {} not fine", all - sound));
}

json encode(const FleetCeiling& row) {
  json document = {{"resource", row.resource},
                   {"basis", to_string(row.basis)},
                   {"value", row.value},
                   {"deviation", row.deviation},
                   {"standing", to_string(row.standing)}};
  if (row.ci_low) document["ci_low"] = *row.ci_low;
  if (row.ci_high) document["ci_high"] = *row.ci_high;
  if (!row.cause.empty()) document["cause"] = row.cause;
  return document;
}

json encode(const FleetGroup& group, const FleetMember& member) {
  return {{"node", member.node},
          {"device", member.device},
          {"uuid", member.uuid},
          {"file", member.file},
          {"created", member.created},
          {"sound", member.sound()},
          {"reasons", reasons_of(group, member)},
          {"errors", member.errors},
          {"missing", array_of(member.missing,
                               [](const MissingCeiling& row) {
                                 return json{{"resource", row.resource},
                                             {"basis", to_string(row.basis)},
                                             {"reason", row.reason}};
                               })},
          {"ceilings", array_of(member.ceilings, [](const auto& row) { return encode(row); })}};
}

json encode(const Distribution& row) {
  return {{"resource", row.resource}, {"basis", to_string(row.basis)},
          {"unit", row.unit},         {"devices", row.devices},
          {"median", row.median},     {"deviation", row.deviation},
          {"lowest", row.lowest},     {"p5", row.p5},
          {"p25", row.p25},           {"p75", row.p75},
          {"p95", row.p95},           {"highest", row.highest},
          {"low", row.low},           {"high", row.high}};
}

json encode(const FleetGroup& group) {
  return {{"model", group.model},
          {"mode", group.mode},
          {"judged", group.judged},
          {"labels", group.labels},
          {"ceilings", array_of(group.ceilings, [](const auto& row) { return encode(row); })},
          {"members",
           array_of(group.members, [&](const auto& member) { return encode(group, member); })}};
}

// A cell of a CSV file, quoted where it has to be.
std::string cell(std::string_view text) {
  const std::string clean = printable(text, text.size());
  if (clean.find_first_of(",\"") == std::string::npos) return clean;
  std::string quoted = "\"";
  for (const char c : clean) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace

std::string fleet_text(const Fleet& fleet, const ShowOptions& options) {
  const std::size_t width = options.width;
  std::string text = hanging(
      "",
      fmt::format("{}, {}{}.", format_count(static_cast<std::int64_t>(fleet.profiles), "profile"),
                  format_count(static_cast<std::int64_t>(fleet.devices), "device"),
                  fleet.superseded == 0
                      ? std::string()
                      : fmt::format("; {} of these devices left out",
                                    format_count(static_cast<std::int64_t>(fleet.superseded),
                                                 "older run"))) +
          " scatter: the peers' median deviation, scaled to a standard deviation; lowest to "
          "highest "
          "and percentiles against the median.",
      width);
  for (const FleetGroup& group : fleet.groups) {
    text += '\n' + hanging("", styled(Style::kBold, headline(group)), width);
    text += distributions(group, width);
    const std::string table = members(group, width);
    if (!table.empty()) text += '\n' + table;
  }
  return terminal_text(text, options.color);
}

std::string fleet_json(const Fleet& fleet) {
  return document_text(
      {{"schema", "peakline-fleet"},
       {"schema_version", 1},
       {"profiles", fleet.profiles},
       {"devices", fleet.devices},
       {"superseded", fleet.superseded},
       {"groups", array_of(fleet.groups, [](const auto& group) { return encode(group); })}});
}

std::string fleet_csv(const Fleet& fleet) {
  std::string text =
      "node,device,uuid,model,mode,created,resource,basis,value,unit,ci_low,ci_high,deviation,"
      "standing,cause,file\r\n";
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.9g}", *value) : std::string();
  };
  for (const FleetGroup& group : fleet.groups) {
    std::map<std::pair<std::string, Basis>, std::string> units;
    for (const Distribution& row : group.ceilings) units[{row.resource, row.basis}] = row.unit;
    for (const FleetMember& member : group.members) {
      for (const FleetCeiling& row : member.ceilings) {
        text += fmt::format(
            "{},{},{},{},{},{},{},{},{},{},{},{},{:.6f},{},{},{}\r\n", cell(member.node),
            cell(member.device), cell(member.uuid), cell(group.model), cell(group.mode),
            cell(member.created), cell(row.resource), to_string(row.basis), number(row.value),
            cell(units.at({row.resource, row.basis})), number(row.ci_low), number(row.ci_high),
            row.deviation, to_string(row.standing), cell(row.cause), cell(member.file));
      }
    }
  }
  return text;
}

}  // namespace peakline
