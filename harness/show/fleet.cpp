#include "harness/show/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "harness/show/json_document.hpp"
#include "harness/show/verdict_line.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

std::string label_of(const FleetGroup& group, const std::string& resource, Basis basis) {
  return ceiling_label(group.labels.at(resource), basis);
}

std::string distributions(const FleetGroup& group, std::size_t width) {
  TextTable table({left(2), right(2), right(2), right(2), right(2, 1), right(2, 1), right(2)});
  table.row({"", "median", "scatter", "lowest", "p5", "p95", "highest"});
  for (const Distribution& row : group.ceilings) {
    const bool alone = row.devices < 2;
    const auto share = [&](double value) {
      return alone ? not_known() : format_signed_percent(value / row.median - 1);
    };
    std::string name = label_of(group, row.resource, row.basis);
    if (row.devices < group.members.size()) name += fmt::format(" ({})", row.devices);
    table.row({name, format_value(row.median, row.unit),
               alone ? not_known() : fmt::format("{:.2f} %", row.deviation * 100),
               share(row.lowest), share(row.p5), share(row.p95), share(row.highest)});
  }
  return table.render(width);
}

// "slow" where a reason of that kind is not excused.
bool any(const FleetMember& member, std::string_view code) {
  return std::ranges::any_of(member.reasons, [&](const JudgedRule& reason) {
    return reason.code == code && !reason.passes();
  });
}

std::string verdict_of(const FleetGroup& group, const FleetMember& member) {
  for (const auto& [code, word] : {std::pair{"health", "faulty"}, std::pair{"fact", "lesser"},
                                   std::pair{"slow", "slow"}, std::pair{"unsteady", "unsteady"}})
    if (any(member, code)) return styled(Style::kRed, word);
  if (!member.sound()) return styled(Style::kYellow, "incomplete");
  return group.judged ? styled(Style::kGreen, "fine") : styled(Style::kDim, "undecided");
}

// Ceilings that share a cause are one reason: "a, b, c and 2 more: why".
std::vector<std::string> reasons_of(const FleetMember& member) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_cause;
  for (const JudgedRule& reason : member.reasons) {
    const std::size_t colon = reason.text.rfind(": ");
    const bool shared =
        (reason.code == "slow" || reason.code == "unsteady" || reason.code == "missing") &&
        colon != std::string::npos;
    std::string cause = shared ? reason.text.substr(colon) : std::string();
    std::string what = reason.text.substr(0, shared ? colon : std::string::npos);
    if (reason.passes()) cause += " (allowed)";
    const auto found = std::ranges::find(by_cause, cause, &decltype(by_cause)::value_type::first);
    if (shared && found != by_cause.end())
      found->second.push_back(std::move(what));
    else
      by_cause.push_back({std::move(cause), {std::move(what)}});
  }
  std::vector<std::string> lines;
  for (const auto& [cause, what] : by_cause) lines.push_back(shortened(what) + cause);
  return lines;
}

std::string members(const FleetGroup& group, bool all, std::size_t width) {
  TextTable table({left(2), left(2), left(2), left(2)});
  std::size_t rows = 0;
  for (const FleetMember& member : group.members) {
    // There is nothing to say of a virtual machine's host but what is wrong.
    const bool nothing_to_say = !all || (group.is_host && !group.judged);
    if (member.reasons.empty() && nothing_to_say) continue;
    ++rows;
    table.row({member.node, member.device, verdict_of(group, member),
               fmt::format("{}", fmt::join(reasons_of(member), "; "))});
  }
  return rows == 0 ? std::string() : table.render(width);
}

std::string_view kind_of(const FleetGroup& group) {
  return group.is_host ? "host" : group.is_node ? "node" : "GPU";
}

std::string headline(const FleetGroup& group) {
  const auto sound =
      static_cast<std::int64_t>(std::ranges::count_if(group.members, &FleetMember::sound));
  const auto all = static_cast<std::int64_t>(group.members.size());
  const std::string_view what = kind_of(group);
  std::string text =
      fmt::format("{} · {} runs · {}", group.model, group.mode, format_count(all, what));
  if (!group.judged) {
    return text + (all < static_cast<std::int64_t>(kFewestPeers)
                       ? fmt::format(", too few to tell which is slow (at least {})", kFewestPeers)
                       : ", not judged: virtual machines' hosts are shared");
  }
  return text + (sound == all ? ", all fine" : fmt::format(", {} not fine", all - sound));
}

// "GPU", "node", "host": of the groups that were judged, else of all.
std::string counted(const Fleet& fleet, bool judged) {
  std::map<std::string_view, std::int64_t> count;
  for (const FleetGroup& group : fleet.groups)
    if (group.judged || !judged) count[kind_of(group)] += std::ssize(group.members);
  std::vector<std::string> parts;
  for (const std::string_view kind : {"GPU", "node", "host"})
    if (count[kind] > 0) parts.push_back(format_count(count[kind], kind));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string first_line(const Fleet& fleet) {
  const FleetMember* worst = nullptr;
  std::int64_t bad = 0;
  for (const FleetGroup& group : fleet.groups) {
    for (const FleetMember& member : group.members) {
      if (member.sound()) continue;
      ++bad;
      if (worst == nullptr) worst = &member;
    }
  }
  switch (fleet.verdict()) {
    case Outcome::kFail: {
      const auto reason = std::ranges::find(worst->reasons, false, &JudgedRule::passes);
      return verdict_line(
          Outcome::kFail,
          fmt::format("{} of {}; {}: {}", bad,
                      format_count(static_cast<std::int64_t>(fleet.devices), "device"),
                      reason->name.substr(0, reason->name.find('/', worst->node.size() + 1)),
                      reason->text));
    }
    case Outcome::kPass:
      return verdict_line(Outcome::kPass, counted(fleet, true) + ": none stands out");
    default:
      return verdict_line(Outcome::kCannotJudge,
                          fmt::format("{}: it takes {} of a model in one mode",
                                      counted(fleet, false), kFewestPeers));
  }
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

json encode(const FleetMember& member) {
  return {{"node", member.node},
          {"device", member.device},
          {"uuid", member.uuid},
          {"file", member.file},
          {"created", member.created},
          {"sound", member.sound()},
          {"reasons", reasons_of(member)},
          {"rules", array_of(member.reasons,
                             [](const JudgedRule& reason) {
                               return json{{"code", reason.code},
                                           {"name", reason.name},
                                           {"outcome", to_string(reason.outcome)},
                                           {"text", reason.text}};
                             })},
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
          {"members", array_of(group.members, [](const auto& member) { return encode(member); })}};
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

std::string fleet_text(const Fleet& fleet, bool all, const ShowOptions& options) {
  const std::size_t width = options.width;
  std::string text = first_line(fleet);
  for (const FleetGroup& group : fleet.groups) {
    const std::string table = members(group, all, width);
    text += (all ? "\n" : "") + hanging("", styled(Style::kBold, headline(group)), width);
    if (all) text += distributions(group, width) + (table.empty() ? "" : "\n");
    text += table;
  }
  for (const std::string& name : fleet.unused)
    text += hanging("  ", fmt::format("--allow {}: no reason has that name", name), width);
  text += hanging(
      "",
      fmt::format(
          "{}, {}{}.{}", format_count(static_cast<std::int64_t>(fleet.profiles), "profile"),
          format_count(static_cast<std::int64_t>(fleet.devices), "device"),
          fleet.superseded == 0
              ? std::string()
              : fmt::format("; {} of these devices left out",
                            format_count(static_cast<std::int64_t>(fleet.superseded), "older run")),
          all ? " scatter: the peers' median deviation, scaled to a standard deviation; "
                "lowest to highest and percentiles against the median."
              : " --all shows every device, and how the ceilings are distributed."),
      width);
  return terminal_text(text, options.color);
}

std::string fleet_json(const Fleet& fleet) {
  return document_text(
      {{"schema", "peakline-fleet"},
       {"schema_version", 1},
       {"verdict", to_string(fleet.verdict())},
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
