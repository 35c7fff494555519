#pragma once

// The profile's JSON form (profile.schema.json beside this file). Measurements and ceilings leave
// out what is not known, empty or 0, a summary that is that of the samples, and what most
// measurements have in common, which stands once.

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/profile.hpp"

namespace peakline {

inline constexpr std::string_view kProfileSchema = "peakline-profile";
inline constexpr int kProfileSchemaVersion = 1;

// A profile or a record that cannot be read: names the file and the field and what would be right.
struct ProfileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string to_json(const Profile& profile);
Profile profile_from_json(std::string_view text, std::string_view name);  // name: for messages

// Throws ProfileError. A newer schema_version is refused.
Profile read_profile(const std::filesystem::path& file);
// Writes beside the target and renames, so that the file is either whole or untouched. Throws
// ProfileError with the reason.
void write_profile(const Profile& profile, const std::filesystem::path& file);

// One record in one line, as a worker answers; and back.
std::string to_json_line(const Measurement& measurement);
std::string to_json_line(const DeviceFacts& facts);
Measurement measurement_from_json_line(std::string_view line);
DeviceFacts device_facts_from_json_line(std::string_view line);

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
// A document of schema "peakline-catalog", version 1.
std::string to_json(const std::vector<CatalogEntry>& catalog);

// The same without what names the machine or its owner: host name, full UUIDs (the first eight hex
// digits stay, in every place a device is named), other processes' names and pids, paths on the
// command line, VBIOS kept.
Profile anonymized(Profile profile);

}  // namespace peakline
