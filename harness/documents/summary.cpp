#include <algorithm>

#include "harness/documents/documents.hpp"
#include "harness/documents/json.hpp"
#include "harness/show/device_tables.hpp"
#include "harness/show/machine.hpp"
#include "harness/show/screen.hpp"
#include "harness/show/show.hpp"
#include "harness/show/verdict_line.hpp"

namespace peakline {
namespace {

json encode(const Figure& f) {
  return {{"id", f.id},
          {"name", f.name},
          {"by", object(f.by)},
          {"value", f.value},
          {"unit", f.unit},
          {"role", f.role},
          {"number", f.number ? json(to_string(*f.number)) : json()}};
}

json encode(const Curve* c) {
  return {{"topic", c->topic},
          {"title", c->title},
          {"figures", array_of(c->figures, [](const Figure& f) { return encode(f); })}};
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

json encode(const Screen::Matter& m) {
  return {{"severity", m.severity == Severity::kInfo ? "note" : to_string(m.severity)},
          {"text", m.text}};
}

template <class T>
json encode(const std::vector<T>& values) {
  return array_of(values, [](const T& value) { return encode(value); });
}

json encode(const Screen& s) {
  return {{"verdict",
           {{"code", to_string(s.verdict)},
            {"text", terminal_text(verdict_word(s.verdict), false)},
            {"sentence", s.sentence},
            {"reasons", s.reasons}}},
          {"tables", array_of(s.tables, [](const Table& table) { return document_of(table); })},
          {"matters", encode(s.matters)},
          {"more_notes", s.more_notes}};
}

// By their keys.
json tables_document(const DeviceView& device, const ResourceLabels& labels, const Checks& checks) {
  std::vector<Table> tables = tables_of(device, labels, &checks);
  tables.insert(tables.begin(), headlines_table(device));
  json object = json::object();
  for (const Table& table : tables) object[table.key] = document_of(table);
  return object;
}

json encode(const Point& point) {
  return {{"params", object(point.params)}, {"quick", point.quick}, {"seconds", point.seconds}};
}

json encode(const Benchmark& benchmark) {
  return {{"id", benchmark.id},
          {"what", benchmark.what},
          {"work", benchmark.work},
          {"unit", unit_of(benchmark.quantity)},
          {"device", measured_on(benchmark)},
          {"method_version", benchmark.method_version},
          {"never_run", benchmark.never_run},
          {"points", array_of(benchmark.points, [](const Point& p) { return encode(p); })}};
}

}  // namespace

std::string show_json(const Profile& profile, const Checks& checks) {
  const ResourceLabels labels(profile);
  json devices = json::array();
  for (const DeviceView& device : measured_devices(profile))
    devices.push_back({{"device", device.name()},
                       {"title", title_of(device)},
                       {"tables", tables_document(device, labels, checks)},
                       {"curves", encode(device.curves)}});
  const auto [ok, skipped, failed] = count_points(profile);
  const json document = {{"schema", "peakline-summary"},
                         {"schema_version", 2},
                         {"created", profile.created},
                         {"tool", profile.tool},
                         {"mode", profile.mode},
                         {"complete", profile.complete},
                         {"duration_s", profile.duration_s},
                         {"hostname", text_or_null(profile.host.hostname)},
                         {"measurements", {{"ok", ok}, {"skipped", skipped}, {"failed", failed}}},
                         {"screen", encode(make_screen(profile, checks))},
                         {"devices", std::move(devices)},
                         {"findings", encode(profile.findings)}};
  return document_text(document);
}

std::string_view measured_on(const Benchmark& benchmark) {
  if (std::ranges::any_of(benchmark.points, is_node_point)) return kNodeDevice;
  return benchmark.loads == Loads::kHost ? kHostDevice : "gpu";
}

std::string list_json(Benchmarks benchmarks) {
  return rows_document("peakline-catalog", 1, "benchmarks", benchmarks,
                       [](const Benchmark& benchmark) { return encode(benchmark); });
}

}  // namespace peakline
