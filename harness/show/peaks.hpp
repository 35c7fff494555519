#pragma once

#include <string>
#include <string_view>

#include "harness/show/text_table.hpp"

namespace peakline {

// The table of products (harness/hardware/datasheets.hpp), for a person; and as a document (schema
// "peakline-peaks", version 2), one product a line. name: only products that are called so, as
// products_called has it; empty: all. Both are empty where no product is called so.
std::string peaks_text(std::string_view name, const ShowOptions& options);
std::string peaks_json(std::string_view name);

}  // namespace peakline
