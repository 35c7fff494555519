#pragma once

// The first screen as data, for first_screen() and the member `screen` of show_json(). Texts may
// contain style markers (text_table.hpp).

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
    std::vector<std::string> cells;  // one per column
  };
  struct Section {
    std::string name;  // "gpus", "host_link": stable, for programs
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
  std::string sentence;                   // reason for the verdict
  std::vector<std::string> reasons = {};  // below the verdict
  std::vector<Section> sections = {};
  std::vector<Matter> matters = {};  // one per kind of finding
  std::size_t more_notes = 0;        // findings only for the record
};

}  // namespace peakline
