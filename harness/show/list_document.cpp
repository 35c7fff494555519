#include "harness/show/list_document.hpp"

#include <nlohmann/json.hpp>

namespace peakline {
namespace {

using json = nlohmann::ordered_json;

json encode(const CatalogPoint& point) {
  json params = json::object();
  for (const auto& [name, value] : point.params) {
    std::visit([&, &key = name](const auto& v) { params[key] = v; }, value);
  }
  return {{"params", params}, {"quick", point.quick}, {"seconds", point.seconds}};
}

json encode(const CatalogEntry& entry) {
  json points = json::array();
  for (const CatalogPoint& point : entry.points) points.push_back(encode(point));
  return {{"id", entry.id},     {"what", entry.what},     {"work", entry.work},
          {"unit", entry.unit}, {"device", entry.device}, {"method_version", entry.method_version},
          {"points", points}};
}

}  // namespace

std::string list_json(const std::vector<CatalogEntry>& catalog) {
  std::string text =
      "{\n\"schema\": \"peakline-catalog\",\n\"schema_version\": 1,\n\"benchmarks\": [";
  for (const CatalogEntry& entry : catalog) {
    text += (&entry == &catalog.front() ? "\n" : ",\n") + encode(entry).dump();
  }
  return text + "\n]\n}\n";
}

}  // namespace peakline
