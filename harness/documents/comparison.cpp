#include "harness/documents/documents.hpp"
#include "harness/documents/json.hpp"
#include "harness/show/compare.hpp"
#include "harness/values/point_names.hpp"

namespace peakline {
namespace {

json encode(const SideValue& s) {
  return {{"value", s.value},
          {"runs", s.runs},
          {"sm_clock_hz", optional(s.sm_clock_hz)},
          {"power_w", optional(s.power_w)},
          {"limit", text_or_null(s.limit)}};
}

json encode(const CeilingComparison& c) {
  return {{"resource", c.resource},
          {"basis", to_string(c.basis)},
          {"label", c.label},
          {"unit", c.unit},
          {"base", encode(c.base)},
          {"new", encode(c.next)},
          {"ratio", c.ratio},
          {"ratio_low", c.ratio_low},
          {"ratio_high", c.ratio_high},
          {"ratio_per_clock", optional(c.ratio_per_clock)},
          {"verdict", to_string(c.verdict)},
          {"between_cards", optional(c.between_cards)},
          {"slow_runs", c.slow_runs},
          {"slowest_run", c.slow_runs > 0 ? json(c.slowest_run) : json(nullptr)},
          {"runs_to_settle", optional(c.runs_to_settle)},
          {"threshold_to_settle", optional(c.threshold_to_settle)},
          {"why", text_or_null(explanation(c))}};
}

json encode(const CurveComparison::Point& p) { return {{"params", p.name}, {"ratio", p.ratio}}; }

json encode(const Difference& d) { return {{"what", d.what}, {"base", d.base}, {"new", d.next}}; }

json encode(const Judged& r) {
  return {{"code", to_string(r.kind)},
          {"name", to_string(r.name)},
          {"outcome", to_string(r.outcome)},
          {"text", describe(r)}};
}

json encode(const CurveComparison& c);
json encode(const FleetShift& s);
json encode(const DeviceComparison& d);

json encode(const Lean& lean) {
  return {{"figures", lean.figures}, {"inconclusive", lean.inconclusive}, {"ratio", lean.ratio}};
}

json reason(const Judged& r) {
  json document = encode(r);
  document["allowed"] = r.passes();
  return document;
}

template <class T>
json encode(const std::vector<T>& values) {
  return array_of(values, [](const T& value) { return encode(value); });
}

json encode(const CurveComparison& c) {
  json part = nullptr;
  if (const auto& of = c.part())
    part = {{"from", c.points[of->begin].name},
            {"to", c.points[of->end - 1].name},
            {"points", of->end - of->begin}};
  return {{"id", c.id},
          {"label", name_of_id(c.id)},
          {"median_ratio", c.median_ratio},
          {"ratio_low", c.ratio_low},
          {"ratio_high", c.ratio_high},
          {"verdict", to_string(c.verdict)},
          {"median_ratio_per_clock", optional(c.median_ratio_per_clock)},
          {"parts", std::move(part)},
          {"points", encode(c.points)}};
}

json encode(const FleetShift& s) {
  return {
      {"model", s.model},         {"resource", s.resource},     {"basis", to_string(s.basis)},
      {"label", s.label},         {"cards", s.cards},           {"ratio", s.ratio},
      {"ratio_low", s.ratio_low}, {"ratio_high", s.ratio_high}, {"verdict", to_string(s.verdict)}};
}

json encode(const DeviceComparison& d) {
  json curves = encode(d.curves);
  for (std::size_t i = 0; i < d.curves.size(); ++i)
    curves[i]["repeats_ceiling"] = d.told_by_ceiling(d.curves[i]);
  return {{"machine", text_or_null(d.machine)},
          {"device", d.key},
          {"base_card", text_or_null(d.base_card)},
          {"new_card", text_or_null(d.next_card)},
          {"moved_from", text_or_null(d.moved_from)},
          {"base", d.base_name},
          {"new", d.next_name},
          {"same_model", d.same_model},
          {"shared_host", d.shared_host()},
          {"ceilings", encode(d.ceilings)},
          {"curves", std::move(curves)},
          {"differences", encode(d.differences)},
          {"only_base", d.only_base},
          {"only_new", d.only_next}};
}

}  // namespace

std::string compare_json(const CompareResult& result) {
  const json document = {{"schema", "peakline-comparison"},
                         {"schema_version", 2},
                         {"verdict", result.verdict()},
                         {"sentence", main_point(result)},
                         {"base_files", result.base_files},
                         {"new_files", result.next_files},
                         {"base_profiles", result.base_runs},
                         {"new_profiles", result.next_runs},
                         {"threshold", result.threshold},
                         {"populations", result.kept_in},
                         {"gate",
                          {{"passed", result.gate.passed()},
                           {"reasons", array_of(result.gate.reasons, reason)},
                           {"warnings", encode(result.gate.warnings)},
                           {"unused", result.gate.unused}}},
                         {"machines", result.machines},
                         {"cards", result.cards},
                         {"fleet", encode(result.shifts)},
                         {"lean", result.lean ? encode(*result.lean) : json(nullptr)},
                         {"devices", encode(result.devices)},
                         {"only_base", result.only_base},
                         {"only_new", result.only_next}};
  return document_text(document);
}

}  // namespace peakline
