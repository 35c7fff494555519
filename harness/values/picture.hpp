#pragma once

// A picture as its question declares it: panels of lines, or rows of dots or bars, that show
// measured values or figures. The reports draw it and compute nothing.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/values/measurement.hpp"

namespace peakline {

// Numbers to draw: values of a benchmark's measurements, or figures of one name.
struct Numbers {
  std::string id;           // of the benchmark
  std::string figure = {};  // figure name; empty: measured values
  Params where = {};        // parameters to match

  bool operator==(const Numbers&) const = default;
};

struct PictureSeries {
  std::string label;  // may contain {}, filled with the value of `each`
  Numbers numbers;
  std::string each = {};  // one series per value of this parameter
  int group = 0;          // rows without `over`: a group shares a colour

  bool operator==(const PictureSeries&) const = default;
};

// Number formats of an axis.
enum class Written { kNumber, kSize, kTime, kInteger, kName };
std::string_view to_string(Written written);  // "number", "size", "time", "integer", "name"
enum class Scale { kLinear, kLog2, kLog10 };
std::string_view to_string(Scale scale);  // "linear", "log2", "log10"

struct Axis {
  std::string label;
  double per = 1;  // values are shown as multiples of this: 1e9 for GB/s
  Written written = Written::kNumber;
  Scale scale = Scale::kLinear;
  std::optional<double> low = {}, high = {};  // shown units; the axis spans at least these

  bool operator==(const Axis&) const = default;
};

Axis size_axis(std::string label);                  // bytes, doubling
Axis count_axis(std::string label);                 // integers, doubling
Axis percent_axis(std::string label, double high);  // 0 to at least `high`

// A reference line: at a ceiling, a figure, a number, or where x = y.
struct Mark {
  std::string label;
  bool upright = false;  // at an x value
  bool diagonal = false;
  std::string resource = {}, basis = {};  // of the ceiling
  std::optional<Numbers> figure = {};
  std::optional<double> value = {};  // in the axis's base unit

  bool operator==(const Mark&) const = default;
};

enum class PanelKind { kLines, kDots, kBars };
std::string_view to_string(PanelKind kind);  // "lines", "dots", "bars"
enum class Naming { kEnds, kEndsWithValue, kLegend };
std::string_view to_string(Naming naming);  // "ends", "ends_with_value", "legend"

struct Panel {
  PanelKind kind = PanelKind::kLines;
  // The parameter along the x axis of lines, or of the rows; empty: each series is a row.
  std::string over = {};
  std::string by = {};  // rows without `over`: the parameter that the marks distinguish
  Axis x = {}, y = {};  // rows have no y axis
  std::vector<PictureSeries> series;
  std::vector<Mark> marks = {};
  // Display names of parameter values, in display order.
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
