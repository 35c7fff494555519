#include "harness/documents/json.hpp"

namespace peakline {

json document_of(const Judged& rule) {
  json object = {{"code", to_string(rule.kind)},
                 {"name", to_string(rule.name)},
                 {"outcome", to_string(rule.outcome)},
                 {"text", describe(rule)}};
  if (rule.group) object["group"] = to_string(*rule.group);
  if (!rule.reason.empty()) object["reason"] = rule.reason;
  if (!rule.cause.empty()) object["cause"] = rule.cause;
  if (!rule.value) return object;
  object.update({{"value", optional(rule.value)},
                 {"first_value", optional(rule.first_value)},
                 {"limit", optional(rule.limit)},
                 {"unit", rule.unit}});
  if (!rule.found) return object;
  const Yardstick& y = rule.found->by;
  object.update({{"yardstick", to_string(y.kind)},
                 {"source", y.source},
                 {"median", y.centre},
                 {"cards", y.cards},
                 {"between_cards", y.between_cards},
                 {"between_runs", y.between_runs}});
  if (rule.found->deviations > 0 && !rule.limited_by_site)
    object["limit_deviations"] = rule.found->deviations;
  return object;
}

namespace {

json document_of(const Cell& cell) {
  json object = json::object();
  if (cell.format == Format::kText) {
    object["text"] = terminal_text(cell.text, false);
  } else {
    object = {{"format", to_string(cell.format)}, {"value", optional(cell.value)}};
    if (!cell.unit.empty()) object["unit"] = cell.unit;
  }
  if (cell.mark != CellMark::kNone) object["mark"] = to_string(cell.mark);
  if (cell.low) object["low"] = *cell.low;
  if (cell.high) object["high"] = *cell.high;
  if (cell.clock_hz) object["clock_hz"] = *cell.clock_hz;
  if (!cell.suffix.empty()) object["suffix"] = cell.suffix;
  if (cell.absence) object["absence"] = to_string(*cell.absence);
  if (!cell.missing.empty()) object["missing"] = cell.missing;
  return object;
}

json document_of(const Column& column) {
  json object = {{"key", column.key}, {"head", column.head}};
  if (column.is_text) object["is_text"] = true;
  if (column.bare) object["bare"] = true;
  if (column.attached) object["attached"] = true;
  return object;
}

// kept: the table's columns that are.
json document_of(const Row& row, const std::vector<Column>& columns,
                 const std::vector<std::size_t>& kept) {
  if (row.heading) return {{"heading", row.label}};
  json cells = json::object();
  for (const std::size_t i : kept) {
    const Cell cell = i < row.cells.size() ? row.cells[i] : Cell();
    if (cell.format != Format::kText || !cell.text.empty())
      cells[columns[i].key] = document_of(cell);
  }
  json object = {{"key", row.key}, {"label", row.label}, {"cells", std::move(cells)}};
  if (!row.remark.empty()) object["remark"] = row.remark;
  return object;
}

}  // namespace

json document_of(const Table& table) {
  const std::vector<std::size_t> kept = kept_columns(table);
  return {{"key", table.key},
          {"title", table.title},
          {"remark", table.remark},
          {"columns", array_of(kept, [&](std::size_t i) { return document_of(table.columns[i]); })},
          {"rows", array_of(table.rows,
                            [&](const Row& row) { return document_of(row, table.columns, kept); })},
          {"notes", table.notes}};
}

}  // namespace peakline
