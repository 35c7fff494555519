#pragma once

// The first screen as data: first_screen() prints it as text, show_json() as its member `screen`.
// Texts may carry markers of style (text_table.hpp).

#include <cstddef>
#include <string>
#include <vector>

#include "harness/judge/rules.hpp"
#include "harness/show/text_table.hpp"
#include "harness/values/measurement.hpp"

namespace peakline {

struct Screen {
  struct Column {
    std::string head;
    TextTable::Column shape;
  };
  struct Row {
    std::string label;
    std::vector<std::string> cells;  // one a column
  };
  // A table with a title above it and notes below it, each of which may be missing.
  struct Section {
    std::string name;  // "gpus", "host_link": stable, and what a program looks it up by
    std::string title = {};
    std::vector<Column> columns = {};
    std::vector<Row> rows = {};
    std::vector<std::string> notes = {};  // a paragraph each
  };
  struct Matter {
    Severity severity = Severity::kInfo;
    std::string text;
  };

  Outcome verdict = Outcome::kPass;
  std::string sentence;                   // what the verdict rests on
  std::vector<std::string> reasons = {};  // what stands below the verdict
  std::vector<Section> sections = {};
  std::vector<Matter> matters = {};  // each kind of finding once
  std::size_t more_notes = 0;        // findings that are for the record alone
};

}  // namespace peakline
