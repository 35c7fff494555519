#pragma once

// JSON Schemas of the documents that --json prints, by this program and by the Python commands.

#include <span>
#include <string_view>

namespace peakline {

struct DocumentSchema {
  std::string_view kind;  // "summary": what follows "peakline-" in the document's `schema`
  std::string_view text;
};

// From the files of harness/documents/schemas, by kind.
std::span<const DocumentSchema> document_schemas();

}  // namespace peakline
