#include "harness/show/peaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "harness/hardware/datasheets.hpp"
#include "harness/show/json_document.hpp"
#include "harness/show/table.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

using Sheets = std::vector<const Datasheet*>;
using SheetsShown = std::span<const Datasheet* const>;

// BF16 equals FP16 wherever it is supported.
struct Shown {
  const char* head;
  std::string_view resource;
  double unit;
  int dispensable;  // the order in which columns are dropped
};
constexpr std::array kShown = {
    Shown{"FP64", "cuda_core.fp64", 1e12, 5}, Shown{"FP32", "cuda_core.fp32", 1e12, 2},
    Shown{"TF32", "tensor.tf32", 1e12, 3},    Shown{"FP16", "tensor.fp16", 1e12, 0},
    Shown{"FP8", "tensor.fp8", 1e12, 0},      Shown{"INT8", "tensor.int8", 1e12, 4},
    Shown{"FP4", "tensor.fp4", 1e12, 1},      Shown{"GB/s", "hbm", 1e9, 0}};
constexpr int kClocks = 6;

std::string_view unit_of_figure(std::string_view resource) {
  if (resource == "hbm") return "B/s";
  if (resource == kMemoryBus) return "bit";
  return resource == "tensor.int8" ? "OP/s" : "FLOP/s";
}

Cell figure_cell(const Datasheet& sheet, const Shown& column) {
  const auto figure = std::ranges::find(sheet.figures, column.resource, &DatasheetFigure::resource);
  if (figure != sheet.figures.end())
    return number_cell(Format::kExact, figure->value / column.unit);
  const bool disputed = std::ranges::find(sheet.disputed, column.resource, &Dispute::resource) !=
                        sheet.disputed.end();
  return disputed ? text_cell("?") : number_cell(Format::kExact, {});
}

// "1830, 1980": Hopper's Tensor Core figures assume another clock.
Cell clocks_cell(const Datasheet& sheet) {
  std::vector<double> found;
  for (const DatasheetFigure& figure : sheet.figures) {
    const double mhz = figure.clock_hz / 1e6;
    if (mhz > 0 && std::ranges::find(found, mhz) == found.end()) found.push_back(mhz);
  }
  std::ranges::sort(found);
  return found.empty() ? number_cell(Format::kExact, {})
                       : text_cell(fmt::format("{:g}", fmt::join(found, ", ")));
}

Table figures_table(SheetsShown sheets) {
  Table table{.key = "figures",
              .title = "Datasheet peaks, TFLOP/s, TOP/s",
              .remark = "dense; BF16 as FP16"};
  for (const Shown& column : kShown)
    table.columns.push_back({.key = std::string(column.resource),
                             .head = column.head,
                             .dispensable = column.dispensable});
  table.columns.push_back({.key = "clocks", .head = "MHz", .dispensable = kClocks});
  for (const Datasheet* sheet : sheets) {
    Row row{.key = std::string(sheet->product), .label = std::string(sheet->product)};
    for (const Shown& column : kShown) row.cells.push_back(figure_cell(*sheet, column));
    row.cells.push_back(clocks_cell(*sheet));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string names(const Sheets& sheets) {
  std::vector<std::string_view> all;
  for (const Datasheet* sheet : sheets) all.push_back(sheet->product);
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string disputes(SheetsShown sheets, std::size_t width) {
  std::string text;
  for (const Datasheet* sheet : sheets) {
    for (const Dispute& dispute : sheet->disputed) {
      std::vector<std::string> values;
      for (const auto& [value, document] : dispute.statements)
        values.push_back(fmt::format("{} ({})",
                                     dispute.resource == kMemoryBus
                                         ? fmt::format("{:.0f} bit", value)
                                         : format_rate(value, unit_of_figure(dispute.resource)),
                                     document->title));
      text += hanging(
          "  ",
          fmt::format("{}, {}: {}", sheet->product, dispute.resource, fmt::join(values, " or ")),
          width);
    }
  }
  if (text.empty()) return text;
  return section("Contradictory documents (?)", "not used", width) + text;
}

// Appends documents of one kind, with the products that cite them.
void cite(SheetsShown sheets, std::vector<const Document*> Datasheet::*kind, const char* for_whom,
          std::size_t width, std::string& text) {
  std::vector<std::pair<const Document*, Sheets>> cited;
  for (const Datasheet* sheet : sheets) {
    for (const Document* document : sheet->*kind) {
      auto entry = std::ranges::find(cited, document, &std::pair<const Document*, Sheets>::first);
      if (entry == cited.end()) entry = cited.insert(cited.end(), {document, {}});
      entry->second.push_back(sheet);
    }
  }
  for (const auto& [document, citing] : cited) {
    text += hanging("  ", fmt::format("{}, {}", document->title, document->date), width);
    text += hanging("    ", for_whom + names(citing), width);
    text += hanging("    ", document->url, width);
  }
}

std::string sources(SheetsShown sheets, std::size_t width) {
  std::string text = section("Sources", "", width);
  cite(sheets, &Datasheet::documents, "for ", width, text);
  cite(sheets, &Datasheet::compared_with, "compared with it: ", width, text);
  Sheets without;
  for (const Datasheet* sheet : sheets)
    if (sheet->documents.empty()) without.push_back(sheet);
  if (!without.empty())
    text += hanging("  ", "No NVIDIA document is known for " + names(without) + ".", width);
  return text +
         hanging("  ", "Check the document before you rely on a figure; links may move.", width);
}

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

std::string peaks_text(std::string_view name, const ShowOptions& options) {
  const Sheets sheets = products_called(name);
  if (sheets.empty()) return {};
  const std::string text = text_of(figures_table(sheets), options.width) +
                           disputes(sheets, options.width) + sources(sheets, options.width);
  return terminal_text(text, options.color);
}

std::string peaks_json(std::string_view name) {
  const Sheets sheets = products_called(name);
  return sheets.empty() ? std::string()
                        : rows_document("peakline-peaks", 2, "products", sheets,
                                        [](const Datasheet* sheet) { return encode(*sheet); });
}

}  // namespace peakline
