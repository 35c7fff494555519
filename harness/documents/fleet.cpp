#include "harness/show/fleet.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/documents/documents.hpp"
#include "harness/documents/json.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

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

std::vector<const Judged*> deviating(const FleetMember& member) {
  std::vector<const Judged*> rules;
  for (const Judged& rule : member.rules)
    if (rule.outcome != Outcome::kPass) rules.push_back(&rule);
  return rules;
}

json encode(const FleetMember& member) {
  return {
      {"node", member.node},
      {"device", member.device},
      {"uuid", member.uuid},
      {"file", member.file},
      {"created", member.created},
      {"sound", member.sound()},
      {"reasons", reasons_of(member)},
      {"verdict", to_string(member.verdict())},
      {"rules", array_of(deviating(member), [](const Judged* rule) { return document_of(*rule); })},
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

json encode(const FactHolder& holder) {
  json document = {{"node", holder.machine}};
  if (!holder.device.empty()) document["device"] = holder.device;
  return document;
}

json encode(const Drift& drift) {
  const auto holders = [](const std::vector<FactHolder>& of) {
    return array_of(of, [](const FactHolder& holder) { return encode(holder); });
  };
  json document = {{"fact", drift.fact}, {"of", drift.of_gpus ? "gpu" : "machine"}};
  if (!drift.model.empty()) document["model"] = drift.model;
  document["majority"] = drift.majority ? json(*drift.majority) : json();
  for (const auto& [value, of] : drift.values)
    document["values"].push_back({{"value", value}, {"on", holders(of)}});
  document["unknown"] = holders(drift.unknown);
  document["sentence"] = drift_sentence(drift);
  return document;
}

json encode(const FleetGroup& group) {
  return {{"model", group.model},
          {"mode", group.mode},
          {"judged", group.judged},
          {"labels", group.labels},
          {"ceilings", array_of(group.ceilings, [](const auto& row) { return encode(row); })},
          {"members", array_of(group.members, [](const auto& member) { return encode(member); })}};
}

// A CSV cell, quoted if necessary. With an apostrophe, spreadsheets take no text for a formula.
std::string cell(std::string_view text) {
  constexpr std::string_view kFormula = "=+-@\t\r";
  const bool is_formula = !text.empty() && kFormula.find(text.front()) != kFormula.npos;
  const std::string clean = (is_formula ? "'" : "") + printable(text);
  if (clean.find_first_of(",\"") == std::string::npos) return clean;
  std::string quoted = "\"";
  for (const char c : clean) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace

std::string fleet_json(const Fleet& fleet) {
  return document_text(
      {{"schema", "peakline-fleet"},
       {"schema_version", 2},
       {"verdict", to_string(fleet.verdict())},
       {"sentence", fleet_sentence(fleet)},
       {"profiles", fleet.profiles},
       {"devices", fleet.devices},
       {"superseded", fleet.superseded},
       {"in_future", fleet.in_future},
       {"drift", array_of(fleet.drift, [](const auto& drift) { return encode(drift); })},
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
