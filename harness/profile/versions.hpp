#pragma once

// Versions of files, and what makes an earlier one the newest.

#include <span>
#include <string_view>
#include <vector>

#include "harness/profile/document.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"

namespace peakline::profile_format {

// Makes a file of version `from` one of the next. The result is checked afterwards, so it may leave
// malformed values alone. New texts must outlive the document.
struct Conversion {
  int from;
  void (*convert)(Object& file);
};

struct Versions {
  int newest;
  // From the oldest version that is read to the one before `newest`. Each new version adds one,
  // here and in reports/peakline/profile/versions.py.
  std::span<const Conversion> conversions = {};
};

inline constexpr Versions kProfileVersions{.newest = kProfileSchemaVersion};
inline constexpr Versions kPopulationVersions{.newest = kPopulationSchemaVersion};

// As the functions without `versions`, which read those above.
Profile profile_from_json(std::string_view text, std::string_view name, const Versions& versions);
std::vector<Population> populations_from_json(std::string_view text, std::string_view name,
                                              const Versions& versions);

}  // namespace peakline::profile_format
