#pragma once

#include <string>
#include <string_view>

#include "harness/show/terminal_text.hpp"

namespace peakline {

// The table of products (harness/hardware/datasheets.hpp) as text, and as JSON (schema
// "peakline-peaks", version 2), one product per line. name: as in products_called; "": all. Both
// are empty without a match.
std::string peaks_text(std::string_view name, const ShowOptions& options);
std::string peaks_json(std::string_view name);

}  // namespace peakline
