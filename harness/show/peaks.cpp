#include "harness/show/peaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "harness/hardware/datasheets.hpp"
#include "harness/show/table.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

using Sheets = std::vector<const Datasheet*>;
using SheetsShown = std::span<const Datasheet* const>;

// BF16 equals FP16 wherever it is supported.
struct ShownFigure {
  const char* head;
  std::string_view resource;
  double unit;
  int dispensable;  // the order in which columns are dropped
};
constexpr std::array kShownFigures = {
    ShownFigure{"FP64", "cuda_core.fp64", 1e12, 5}, ShownFigure{"FP32", "cuda_core.fp32", 1e12, 2},
    ShownFigure{"TF32", "tensor.tf32", 1e12, 3},    ShownFigure{"FP16", "tensor.fp16", 1e12, 0},
    ShownFigure{"FP8", "tensor.fp8", 1e12, 0},      ShownFigure{"INT8", "tensor.int8", 1e12, 4},
    ShownFigure{"FP4", "tensor.fp4", 1e12, 1},      ShownFigure{"GB/s", "hbm", 1e9, 0}};
constexpr int kClocks = 6;

Cell figure_cell(const Datasheet& sheet, const ShownFigure& column) {
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
  for (const ShownFigure& column : kShownFigures)
    table.columns.push_back({.key = std::string(column.resource),
                             .head = column.head,
                             .dispensable = column.dispensable});
  table.columns.push_back({.key = "clocks", .head = "MHz", .dispensable = kClocks});
  for (const Datasheet* sheet : sheets) {
    Row row{.key = std::string(sheet->product), .label = std::string(sheet->product)};
    for (const ShownFigure& column : kShownFigures)
      row.cells.push_back(figure_cell(*sheet, column));
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

}  // namespace

std::string_view unit_of_figure(std::string_view resource) {
  if (resource == "hbm") return "B/s";
  if (resource == kMemoryBus) return "bit";
  return resource == "tensor.int8" ? "OP/s" : "FLOP/s";
}

std::string peaks_text(std::string_view name, const ShowOptions& options) {
  const Sheets sheets = products_called(name);
  if (sheets.empty()) return {};
  const std::string text = text_of(figures_table(sheets), options.width) +
                           disputes(sheets, options.width) + sources(sheets, options.width);
  return terminal_text(text, options.color);
}

}  // namespace peakline
