#pragma once

#include <string>
#include <string_view>

#include "harness/show/terminal_text.hpp"

namespace peakline {

// The unit of a datasheet's figure.
std::string_view unit_of_figure(std::string_view resource);

// The table of products (harness/hardware/datasheets.hpp). name: as in products_called; "": all.
// Empty without a match.
std::string peaks_text(std::string_view name, const ShowOptions& options);

}  // namespace peakline
