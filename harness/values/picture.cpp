#include "harness/values/picture.hpp"

#include "harness/values/text.hpp"

namespace peakline {

std::string_view to_string(Written written) {
  return name_of({"number", "size", "time", "integer", "name"}, written);
}
std::string_view to_string(Scale scale) { return name_of({"linear", "log2", "log10"}, scale); }
std::string_view to_string(PanelKind kind) { return name_of({"lines", "dots", "bars"}, kind); }
std::string_view to_string(Naming naming) {
  return name_of({"ends", "ends_with_value", "legend"}, naming);
}

Axis size_axis(std::string label) {
  return {.label = std::move(label), .written = Written::kSize, .scale = Scale::kLog2};
}
Axis count_axis(std::string label) {
  return {.label = std::move(label), .written = Written::kInteger, .scale = Scale::kLog2};
}
Axis percent_axis(std::string label, double high) {
  return {.label = std::move(label), .per = 0.01, .low = 0, .high = high};
}

}  // namespace peakline
