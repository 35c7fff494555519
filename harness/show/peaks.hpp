#pragma once

#include <span>
#include <string>

#include "harness/hardware/datasheets.hpp"
#include "harness/show/text_table.hpp"

namespace peakline {

// What is known of products (harness/hardware/datasheets.hpp), for a person; and as a document
// (schema "peakline-peaks", version 2), one product a line.
std::string peaks_text(std::span<const Datasheet* const> sheets, const ShowOptions& options);
std::string peaks_json(std::span<const Datasheet* const> sheets);

}  // namespace peakline
