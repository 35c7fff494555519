#pragma once

// The fields of a population; see fields.hpp.

#include <vector>

#include "harness/profile/field_rule.hpp"
#include "harness/values/population.hpp"

namespace peakline::profile_format {

// A file without its schema and version.
struct PopulationFile {
  std::vector<Population> populations;
};

void fields(auto& a, Like<CardFacts> auto& v) {
  a("model", v.model, {.min_length = 1});
  a("sm_count", v.sm_count);
  a("memory_bytes", v.memory_bytes);
  a("power_limit_w", v.power_limit_w);
  a("sm_clock_max_hz", v.sm_clock_max_hz);
  a("memory_clock_max_hz", v.memory_clock_max_hz);
  a("ecc_enabled", v.ecc_enabled);
  a("mig_enabled", v.mig_enabled);
  a("pcie_generation", v.pcie_generation, {.what = "PCIe generation of the link under load"});
  a("pcie_width", v.pcie_width, {.what = "PCIe lanes of the link under load"});
  a("nvlinks", v.nvlinks, {.what = "NVLinks that are up"});
  a("virtual_machine", v.virtual_machine);
  a("compute_capability", v.compute_capability,
    {.what = "Compute capability without the dot: 90 for 9.0"});
  a("memory_bus_bits", v.memory_bus_bits);
  a("l2_bytes", v.l2_bytes);
  a("gpus", v.gpus,
    {.what = "Number of GPUs of a node, whose other facts are those of its first GPU"});
}

void fields(auto& a, Like<PopulationFigure> auto& v) {
  a("resource", v.resource, {.min_length = 1});
  a("basis", v.basis);
  a.maybe("beside_siblings", v.beside_siblings,
          {.what = "Whether the figure is the ceiling over the geometric mean of the part's other "
                   "ceilings of the basis"});
  a("unit", v.unit,
    {.what = "Unit of the figure; 1 for a ceiling beside siblings", .one_of = kPopulationUnits});
  a("method_version", v.method_version, {.range = Range::kPositive});
  a("cards", v.cards, {.range = Range::kPositive});
  a("runs", v.runs, {.range = Range::kPositive});
  a("median", v.median, {.what = "Median of the cards' medians", .range = Range::kPositive});
  a("lowest_state", v.lowest_state,
    {.what =
         "Median of the lower group of cards where cards form two levels; else the median of all",
     .range = Range::kPositive});
  a("highest_state", v.highest_state,
    {.what =
         "Median of the upper group of cards where cards form two levels; else the median of all",
     .range = Range::kPositive});
  a("between_cards", v.between_cards,
    {.what = "Standard deviation of the cards' medians as a share, within a level where cards form "
             "two"});
  a("between_runs", v.between_runs,
    {.what = "Standard deviation of one run of a card, as a share"});
  a("limit", v.limit,
    {.what = "Lowest value of a healthy run: at least 3 %, and limit_deviations standard "
             "deviations, below lowest_state",
     .range = Range::kPositive});
  a("theory", v.theory, {.what = "Theoretical peak of the cards", .range = Range::kPositive});
  a("datasheet", v.datasheet, {.range = Range::kPositive});
  a.rule(Ascending{{"limit", "lowest_state", "median", "highest_state"}});
  a.rule(Ascending{{"cards", "runs"}});
}

void fields(auto& a, Like<LeftOutCard> auto& v) {
  a("card", v.card, {.min_length = 1});
  a("figure", v.figure, {.min_length = 1});
  a.maybe(
      "share", v.share,
      {.what = "Value of the figure as a share of the cards' median", .range = Range::kPositive});
}

void fields(auto& a, Like<Population> auto& v) {
  a("facts", v.facts, {.what = "Facts that the cards share"});
  a("mode", v.mode, {.one_of = kModes});
  a("cards", v.cards, {.range = Range::kPositive});
  a("runs", v.runs, {.range = Range::kPositive});
  a.maybe("drivers", v.drivers);
  a.maybe("revisions", v.revisions, {.what = "Revisions of peakline that made the runs"});
  a.maybe("first", v.first, described(kUtcTime, "Start of the earliest run, UTC"));
  a.maybe("last", v.last, kUtcTime);
  a.maybe("left_out", v.left_out, {.what = "Cards that are faulty or stand apart from the others"});
  a("limit_deviations", v.limit_deviations,
    {.what = "Distance of a limit below the median in standard deviations; one healthy run in 1000 "
             "has a figure below its limit"});
  a("figures", v.figures, {.min_items = 1});
  a.rule(Ascending{{"cards", "runs"}});
  a.rule(Unique{.rows = "figures", .keys = {"resource", "basis", "beside_siblings"}});
}

void fields(auto& a, Like<PopulationFile> auto& v) {
  a("populations", v.populations, {.min_items = 1});
  a.rule(Unique{.rows = "populations", .keys = {"facts", "mode"}});
}

}  // namespace peakline::profile_format
