#pragma once

// A picture as its question declares it: panels of lines, or of dots or bars in rows, whose numbers
// are measured values or figures. The reports draw it; nothing is computed there.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/values/measurement.hpp"

namespace peakline {

// The source of numbers: the values of a benchmark's measurements, or its figures of one name.
struct Numbers {
  std::string id;           // of the benchmark
  std::string figure = {};  // its name; empty: the measurements' values
  Params where = {};        // only those that have all of these parameters

  bool operator==(const Numbers&) const = default;
};

struct PictureSeries {
  std::string label;  // "{} bytes" with `each`, whose value it takes in
  Numbers numbers;
  std::string each = {};  // a series for each value of this parameter
  int group = 0;          // of rows without `over`: those of one group share a colour

  bool operator==(const PictureSeries&) const = default;
};

// How the values along an axis are written.
enum class Written { kNumber, kSize, kTime, kInteger, kName };
std::string_view to_string(Written written);  // "number", "size", "time", "integer", "name"
enum class Scale { kLinear, kLog2, kLog10 };
std::string_view to_string(Scale scale);  // "linear", "log2", "log10"

struct Axis {
  std::string label;
  double per = 1;  // values are shown as multiples of this: 1e9 of GB/s
  Written written = Written::kNumber;
  Scale scale = Scale::kLinear;
  std::optional<double> low = {}, high = {};  // as shown; the axis reaches at least here

  bool operator==(const Axis&) const = default;
};

// Axes that many pictures have.
Axis size_axis(std::string label);                  // of bytes, doubling
Axis count_axis(std::string label);                 // of whole numbers, doubling
Axis percent_axis(std::string label, double high);  // from 0 to at least `high`

// A line across a panel: at a ceiling, at a figure, at a number, or where both axes are equal.
struct Mark {
  std::string label;
  bool upright = false;  // at a value of the x axis
  bool diagonal = false;
  std::string resource = {}, basis = {};  // of the ceiling
  std::optional<Numbers> figure = {};
  std::optional<double> value = {};  // in the axis's base unit

  bool operator==(const Mark&) const = default;
};

enum class PanelKind { kLines, kDots, kBars };
std::string_view to_string(PanelKind kind);  // "lines", "dots", "bars"
// The places where lines are named.
enum class Naming { kEnds, kEndsWithValue, kLegend };
std::string_view to_string(Naming naming);  // "ends", "ends_with_value", "legend"

struct Panel {
  PanelKind kind = PanelKind::kLines;
  // Lines have a parameter along the x axis. Rows have one whose values are the rows; empty: each
  // series is a row.
  std::string over = {};
  std::string by = {};  // of rows without `over`: the parameter whose values the marks stand for
  Axis x = {}, y = {};  // rows have no y axis
  std::vector<PictureSeries> series;
  std::vector<Mark> marks = {};
  // How values of parameters are called, in the order in which they are shown.
  std::vector<std::pair<std::string, std::string>> names = {};
  Naming naming = Naming::kEnds;
  std::string heading = {};

  bool operator==(const Panel&) const = default;
};

struct Picture {
  std::string key;      // of its file: "host-memory"
  std::string subject;  // "Divergence: threads that take different paths"
  std::string how;      // how to read it, in a sentence or two
  std::vector<Panel> panels;

  bool operator==(const Picture&) const = default;
};

}  // namespace peakline
