#include "harness/show/json_document.hpp"
#include "harness/show/make_screen.hpp"
#include "harness/show/overview.hpp"
#include "harness/show/show.hpp"
#include "harness/show/text_table.hpp"
#include "harness/show/verdict_line.hpp"

namespace peakline {
namespace {

json share(const std::optional<double>& value, const std::optional<double>& of) {
  return value && of && *of > 0 ? json(*value / *of) : json(nullptr);
}

json encode(const std::optional<RunSpread>& s) {
  if (!s) return nullptr;
  return {{"within", s->within},
          {"sittings", optional(s->sittings)},
          {"runs", s->runs},
          {"step", optional(s->step)},
          {"runs_measured", s->runs_measured},
          {"kept_degrees", s->kept_degrees},
          {"assumed_from", text_or_null(s->assumed_from)}};
}

json encode(const HeadlineFigure& h) {
  return {{"label", h.label},
          {"value", optional(h.value)},
          {"unit", text_or_null(h.unit)},
          {"reference", optional(h.reference)},
          {"reference_basis", text_or_null(h.reference_name)},
          {"share", share(h.value, h.reference)},
          {"missing", text_or_null(h.missing)}};
}

json encode(const ComputeRow& r) {
  return {{"resource", r.resource},
          {"basis", to_string(r.basis)},
          {"unit", r.unit},
          {"measured", optional(r.measured)},
          {"ci_low", optional(r.next_run.ci_low)},
          {"ci_high", optional(r.next_run.ci_high)},
          {"spread", encode(r.next_run.spread)},
          {"varies", r.next_run.varies},
          {"max_clock_hz", optional(r.max_clock_hz)},
          {"theoretical", optional(r.peak_at_max_clock)},
          {"share_of_theoretical", share(r.measured, r.peak_at_max_clock)},
          {"datasheet", optional(r.datasheet)},
          {"datasheet_clock_hz", optional(r.datasheet_clock_hz)},
          {"share_of_datasheet", share(r.measured, r.datasheet)},
          {"observed_clock_hz", optional(r.observed_clock_hz)},
          {"theoretical_at_observed_clock", optional(r.peak_at_observed_clock)},
          {"share_at_observed_clock", share(r.measured, r.peak_at_observed_clock)},
          {"power_w", optional(r.power_w)},
          {"temperature_c", optional(r.temperature_c)},
          {"ops_per_clock_per_sm", optional(r.ops_per_clock_per_sm)},
          {"flops_per_joule", optional(r.flops_per_joule)},
          {"why", text_or_null(r.why)}};
}

json encode(const BandwidthRow& r) {
  return {{"resource", r.resource},
          {"unit", "B/s"},
          {"measured", optional(r.measured)},
          {"ci_low", optional(r.next_run.ci_low)},
          {"ci_high", optional(r.next_run.ci_high)},
          {"spread", encode(r.next_run.spread)},
          {"varies", r.next_run.varies},
          {"theoretical", optional(r.theoretical)},
          {"share_of_theoretical", share(r.measured, r.theoretical)},
          {"data_rate", optional(r.data_rate)},
          {"datasheet", optional(r.datasheet)},
          {"share_of_datasheet", share(r.measured, r.datasheet)},
          {"how", text_or_null(r.how)}};
}

json encode(const RidgePoint& r) {
  return {{"compute", r.compute},
          {"compute_basis", to_string(r.compute_basis)},
          {"memory", r.memory},
          {"memory_basis", to_string(r.memory_basis)},
          {"intensity_flop_per_byte", r.intensity}};
}

json encode(const MemoryLevel& l) {
  return {{"level", l.level},
          {"label", l.label},
          {"per_sm", l.per_sm},
          {"size_bytes", optional(l.size_bytes)},
          {"held_bytes", optional(l.held_bytes)},
          {"near_bytes", optional(l.near_bytes)},
          {"line_bytes", optional(l.line_bytes)},
          {"sector_bytes", optional(l.sector_bytes)},
          {"latency_s", optional(l.latency_s)},
          {"far_latency_s", optional(l.far_latency_s)},
          {"bytes_per_s", optional(l.bytes_per_s)}};
}

json encode(const Figure& f) {
  return {{"id", f.id},       {"name", f.name}, {"by", object(f.by)},
          {"value", f.value}, {"unit", f.unit}, {"role", f.role}};
}

json encode(const Curve& c) {
  return {{"topic", c.topic},
          {"sentence", c.sentence},
          {"title", c.title},
          {"figures", array_of(c.figures, [](const Figure& f) { return encode(f); })}};
}

json encode(const Finding& f) {
  json evidence = json::array();
  for (const auto& [name, value] : f.evidence) {
    evidence.push_back({{"name", name}, {"value", value}});
  }
  return {{"code", f.code},
          {"severity", to_string(f.severity)},
          {"device", text_or_null(f.device)},
          {"message", f.message},
          {"evidence", std::move(evidence)}};
}

// The text is that of the screen, without style.
json encode(const std::string& text) { return terminal_text(text, false); }
json encode(const Screen::Column& c) { return c.head; }
json encode(const Screen::Row& r);
json encode(const Screen::Section& s);

json encode(const Screen::Matter& m) {
  return {{"severity", m.severity == Severity::kInfo ? "note" : to_string(m.severity)},
          {"text", encode(m.text)}};
}

template <class T>
json encode(const std::vector<T>& values) {
  return array_of(values, [](const T& value) { return encode(value); });
}

json encode(const Screen::Row& r) {
  return {{"label", encode(r.label)}, {"cells", encode(r.cells)}};
}

json encode(const Screen::Section& s) {
  return {{"name", s.name},
          {"title", encode(s.title)},
          {"columns", encode(s.columns)},
          {"rows", encode(s.rows)},
          {"notes", encode(s.notes)}};
}

json encode(const Screen& s) {
  return {{"verdict",
           {{"code", to_string(s.verdict)},
            {"text", encode(verdict_word(s.verdict))},
            {"sentence", encode(s.sentence)},
            {"reasons", encode(s.reasons)}}},
          {"sections", encode(s.sections)},
          {"matters", encode(s.matters)},
          {"more_notes", s.more_notes}};
}

}  // namespace

std::string show_json(const Profile& profile, const Checks& checks) {
  const Overview content = overview(profile);
  json devices = json::array();
  for (const DeviceOverview& device : content.devices) {
    devices.push_back({{"device", device.device},
                       {"title", device.title()},
                       {"headlines", encode(device.headlines)},
                       {"compute", encode(device.compute)},
                       {"bandwidth", encode(device.bandwidth)},
                       {"memory_map", encode(device.memory_map)},
                       {"ridge_points", encode(device.ridge_points)},
                       {"curves", encode(device.curves)}});
  }
  const json document = {
      {"schema", "peakline-summary"},
      {"schema_version", 1},
      {"created", profile.created},
      {"tool", profile.tool},
      {"mode", profile.mode},
      {"complete", profile.complete},
      {"duration_s", profile.duration_s},
      {"hostname", text_or_null(profile.host.hostname)},
      {"measurements",
       {{"ok", content.ok}, {"skipped", content.skipped}, {"failed", content.failed}}},
      {"screen", encode(make_screen(profile, checks))},
      {"devices", std::move(devices)},
      {"findings", encode(profile.findings)}};
  return document_text(document);
}

}  // namespace peakline
