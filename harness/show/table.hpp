#pragma once

// Tables of typed cells, which all commands build. A figure becomes text once, when its table is
// printed; documents hold its number and unit.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/show/terminal_text.hpp"
#include "harness/values/measurement.hpp"

namespace peakline {

// How a number is printed; tests/formats.json has examples.
enum class Format {
  kText,       // no number
  kValue,      // with its unit: "4617 GB/s", "208 KiB", "142 ns", "1980 MHz"
  kShare,      // of 1: "96.2 %"
  kChange,     // relative: "-3.4 %", "+0.2 %"
  kFineShare,  // "0.34 %", "13 %"
  kHalfWidth,  // of an interval, relative: "±0.3 %"
  kRatio,      // "0.987"
  kExact,      // as stated: "1979", "66.91"
};
std::string_view to_string(Format format);  // "text", "value", ...

enum class CellMark {
  kNone,
  kComputed,  // not published: "(1071 TFLOP/s)"
  kAtLeast,   // "at least 208 KiB"
  kAbout,     // the next run may differ by half: "about 30 GB/s"
  kVaries,    // no number tells how far: "varies"
};
std::string_view to_string(CellMark mark);  // "", "computed", "at_least", ...

struct Cell {
  Format format = Format::kText;
  std::string text = {};  // of kText; empty: blank
  std::optional<double> value = {};
  std::string unit = {};  // of kValue: "B/s", "s"
  CellMark mark = CellMark::kNone;
  Style style = Style::kPlain;
  std::optional<double> low = {}, high = {};  // 95 % interval for the next run, in `unit`
  std::optional<double> clock_hz = {};        // that a peak assumes: "989 @1830"
  std::string suffix = {};                    // "/SM"
  // Why there is no value.
  std::optional<Absence> absence = {};
  std::string missing = {};
};

Cell text_cell(std::string text, Style style = Style::kPlain);
Cell value_cell(const std::optional<double>& value, std::string_view unit, CellMark mark = {});
Cell number_cell(Format format, const std::optional<double>& number);
// A share of something positive.
Cell share_cell(const std::optional<double>& value, const std::optional<double>& of);

struct Column {
  std::string key;  // "measured": stable, for programs
  std::string head = {};
  bool is_text = false;  // aligned left, and may wrap
  std::size_t gap = 2;   // spaces before it
  // If the terminal is too narrow, columns of the highest rank are dropped first; 0: never.
  int dispensable = 0;
  bool bare = false;      // numbers without the unit, which title or head names
  bool if_any = false;    // left out if all its cells are blank or unknown
  bool attached = false;  // continues the column before it: "GPU 1" beside its figure
};

struct Row {
  std::string key = {};  // "tensor.bf16/burst": stable, for programs
  std::string label = {};
  std::vector<Cell> cells = {};  // one a column; blank beyond the last
  std::string remark = {};       // below it
  std::string verdict = {};      // after the label, with style markers: "FAIL"
  bool heading = false;          // only a label, across the table
};
Row heading(std::string label);

struct Table {
  std::string key;  // "host_link": stable, for programs
  std::string title = {}, remark = {};
  std::string label_head = {};
  std::vector<Column> columns = {};  // besides the labels
  std::vector<Row> rows = {};
  std::vector<std::string> notes = {};  // a paragraph each, below
  std::size_t indent = 2, heading_indent = 2;
  Style label_style = Style::kPlain;
  bool labels_once = false;  // not printed again in the next row

  bool empty() const { return rows.empty() && notes.empty(); }
};

// The places of the columns besides those that are left out.
std::vector<std::size_t> kept_columns(const Table& table);
// A cell's text, with style markers.
std::string text_of(const Cell& cell, const Column& column);
// Columns are as wide as their widest cell. If the terminal is too narrow, dispensable columns are
// dropped; then text columns wrap, last one first. The reason for a missing figure stands below its
// row. "" for an empty table.
std::string text_of(const Table& table, std::size_t width);

}  // namespace peakline
