#pragma once

#include <string>
#include <vector>

#include "harness/core/measurement.hpp"

namespace peakline {

// What `peakline list --json` says of one benchmark.
struct CatalogPoint {
  Params params;
  bool quick = false;  // also part of --quick
  double seconds = 0;  // estimate
};
struct CatalogEntry {
  std::string id, what, work, unit;
  std::string device;  // "host" or "gpu"
  int method_version = 1;
  std::vector<CatalogPoint> points;
};
// A document of schema "peakline-catalog", version 1; one benchmark a line.
std::string list_json(const std::vector<CatalogEntry>& catalog);

}  // namespace peakline
