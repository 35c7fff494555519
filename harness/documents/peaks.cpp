#include "harness/show/peaks.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "harness/documents/documents.hpp"
#include "harness/documents/json.hpp"
#include "harness/hardware/datasheets.hpp"

namespace peakline {
namespace {

json encode(const Document& document) {
  return {{"title", document.title}, {"url", document.url}, {"date", document.date}};
}

json encode(const std::vector<const Document*>& documents) {
  json all = json::array();
  for (const Document* document : documents) all.push_back(encode(*document));
  return all;
}

std::string_view name_of_rate(TensorRate rate) {
  switch (rate) {
    case TensorRate::kFull:
      return "full";
    case TensorRate::kHalfWithFp32Sums:
      return "half_with_fp32_sums";
    case TensorRate::kHalf:
      return "half";
    case TensorRate::kUnknown:
      break;
  }
  return "unknown";
}

// null: not stated.
json positive(double value) { return value > 0 ? json(value) : json(nullptr); }

json encode(const Datasheet& sheet) {
  json ids = json::array(), figures = json::array(), disputed = json::array();
  for (const PciId& id : sheet.ids)
    ids.push_back({{"device", id.device}, {"subsystems", id.subsystems}});
  for (const DatasheetFigure& figure : sheet.figures)
    figures.push_back({{"resource", figure.resource},
                       {"value", figure.value},
                       {"unit", unit_of_figure(figure.resource)},
                       {"sm_clock_hz", positive(figure.clock_hz)}});
  for (const Dispute& dispute : sheet.disputed) {
    json statements = json::array();
    for (const auto& [value, document] : dispute.statements)
      statements.push_back({{"value", value}, {"document", encode(*document)}});
    disputed.push_back({{"resource", dispute.resource},
                        {"unit", unit_of_figure(dispute.resource)},
                        {"statements", std::move(statements)}});
  }
  return {{"product", sheet.product},
          {"name", sheet.name},
          {"pci_ids", std::move(ids)},
          {"compute_major", sheet.compute_major},
          {"compute_minor", sheet.compute_minor},
          {"sm_count", sheet.sm_count > 0 ? json(sheet.sm_count) : json(nullptr)},
          {"boost_clock_hz", positive(sheet.boost_clock_hz)},
          {"tensor_rate", name_of_rate(sheet.tensor_rate)},
          {"cut", sheet.cut},
          {"figures", std::move(figures)},
          {"documents", encode(sheet.documents)},
          {"compared_with", encode(sheet.compared_with)},
          {"disputed", std::move(disputed)}};
}

}  // namespace

std::string peaks_json(std::string_view name) {
  const std::vector<const Datasheet*> sheets = products_called(name);
  return sheets.empty() ? std::string()
                        : rows_document("peakline-peaks", 2, "products", sheets,
                                        [](const Datasheet* sheet) { return encode(*sheet); });
}

}  // namespace peakline
