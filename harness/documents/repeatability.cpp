#include "harness/show/repeatability.hpp"

#include "harness/documents/documents.hpp"
#include "harness/documents/json.hpp"

namespace peakline {
namespace {

json encode(const CeilingStudy& row) {
  json document = {
      {"device", row.device}, {"resource", row.resource}, {"basis", to_string(row.basis)},
      {"unit", row.unit},     {"runs", row.runs},         {"median", row.median},
      {"spread", row.spread}};
  if (row.half_width) document["half_width"] = *row.half_width;
  if (row.inside) document["inside"] = *row.inside;
  return document;
}

}  // namespace

std::string repeatability_json(std::span<const Study> studies, std::span<const Profile> profiles) {
  json all = json::array();
  for (const Study& study : studies) {
    all.push_back({{"mode", study.mode},
                   {"created", study.created},
                   {"pairs", study.pairs},
                   {"alarms", study.alarms},
                   {"causes", study.causes},
                   {"ceilings", array_of(study.ceilings,
                                         [](const CeilingStudy& row) { return encode(row); })}});
  }
  return document_text({{"schema", "peakline-repeatability"},
                        {"schema_version", 1},
                        {"studies", all},
                        {"left_out", left_out(studies, profiles)}});
}

}  // namespace peakline
