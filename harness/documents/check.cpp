#include <string_view>

#include "harness/documents/documents.hpp"
#include "harness/documents/json.hpp"

namespace peakline {
namespace {

json document_of(const Population* population, std::string_view source) {
  if (population == nullptr) return nullptr;
  return {
      {"source", source},
      {"cards", population->cards},
      {"runs", population->runs},
      {"drivers", population->drivers},
      {"left_out",
       array_of(
           population->left_out,
           [](const LeftOutCard& card) -> json {
             return {{"card", card.card}, {"figure", card.figure}, {"share", optional(card.share)}};
           })},
      {"revisions", population->revisions},
      {"first", text_or_null(population->first)},
      {"last", text_or_null(population->last)}};
}

}  // namespace

std::string check_json(const Checks& checks) {
  const json document = {
      {"schema", "peakline-check"},
      {"schema_version", 1},
      {"verdict", to_string(checks.verdict())},
      {"source", checks.source},
      {"why_none", text_or_null(checks.why_none)},
      {"profiles", array_of(checks.files, [&](const CheckedFile& file) -> json {
         return {{"file", text_or_null(file.file)},
                 {"created", file.result.created},
                 {"mode", file.result.mode},
                 {"verdict", to_string(file.result.verdict())},
                 {"devices",
                  array_of(file.result.devices,
                           [&](const CheckedDevice& device) -> json {
                             return {{"name", device.name},
                                     {"model", device.model},
                                     {"uuid", device.uuid},
                                     {"population", document_of(device.known.population,
                                                                checks.source_of(device))},
                                     {"rules", array_of(device.rules, [](const Judged& rule) {
                                        return document_of(rule);
                                      })}};
                           })},
                 {"unused", file.result.unused}};
       })}};
  return document_text(document);
}

}  // namespace peakline
