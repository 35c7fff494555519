#pragma once

#include <string>

#include "harness/show/text_table.hpp"

namespace peakline {

// What is known of products (harness/hardware/datasheets.hpp), for a person; and as a document
// (schema "peakline-peaks", version 2), one product a line.
std::string peaks_text(const ShowOptions& options);
std::string peaks_json();

}  // namespace peakline
