#pragma once

// The first screen as data, for first_screen() and the member `screen` of show_json().

#include <cstddef>
#include <string>
#include <vector>

#include "harness/judge/rules.hpp"
#include "harness/show/table.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

struct Checks;  // harness/judge/check.hpp

struct Screen {
  struct Matter {
    Severity severity = Severity::kInfo;
    std::string text;
  };

  Outcome verdict = Outcome::kPass;
  std::string sentence;                   // reason for the verdict
  std::vector<std::string> reasons = {};  // below the verdict
  std::vector<Table> tables = {};
  std::vector<Matter> matters = {};  // one per kind of finding
  std::size_t more_notes = 0;        // findings only for the record
};

// checks: those of this profile.
Screen make_screen(const Profile& profile, const Checks& checks);

// "warning  The GPU ...", wrapped.
std::string finding_text(Severity severity, std::string_view message, std::size_t width);

}  // namespace peakline
