#pragma once

#include <string>

#include "harness/core/comparison.hpp"

namespace peakline {

struct CompareTextOptions {
  bool color = false;
  int width = 100;  // columns
};
// A table for each pair of devices. With many pairs, rows that are the same are only counted.
std::string compare_text(const CompareResult& result, const CompareTextOptions& options);

// The same as a document (schema "peakline-comparison", version 1).
std::string compare_json(const CompareResult& result);

}  // namespace peakline
