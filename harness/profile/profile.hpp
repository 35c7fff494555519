#pragma once

// The profile as JSON. Unknown and empty fields are left out. Schema:
// reports/peakline/profile.schema.json.

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline {

inline constexpr std::string_view kProfileSchema = "peakline-profile";
inline constexpr int kProfileSchemaVersion = 4;
// The last revision that reads earlier versions.
inline constexpr std::string_view kReadsEarlierVersions = "a4b10e9";

// A file cannot be read or written; the message names file, field and valid values.
struct ProfileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// JSON Schema (draft 7) of what to_json writes.
std::string profile_schema();

std::string to_json(const Profile& profile);
Profile profile_from_json(std::string_view text, std::string_view name);  // name: for messages

// Whether the name ends in .json or .json.gz.
bool is_profile_name(const std::filesystem::path& file);

// Plain or gzipped. Throws ProfileError, also if memory does not suffice.
Profile read_profile(const std::filesystem::path& file);
// Replaces the file atomically; gzipped if its name ends in .json.gz. Throws ProfileError.
void write_profile(const Profile& profile, const std::filesystem::path& file);
// False if the file exists.
bool create_profile(const Profile& profile, const std::filesystem::path& file);

// The measurement rounded to the precision of a profile, as a reader takes it; an error with its
// reason if none does.
Measurement readable(const Measurement& measurement);
// Keeps a value that no reader takes (a rate of 0, a count below 0) from spoiling the profile:
// facts lose the field, other rows go, each with a finding. A dropped ceiling becomes a missing
// one.
void leave_out_unreadable(Profile& profile, std::vector<Finding>& left_out);

// One record per line, as workers answer.
std::string to_json_line(const Measurement& measurement);
std::string to_json_line(const DeviceFacts& facts);
Measurement measurement_from_json_line(std::string_view line);
DeviceFacts device_facts_from_json_line(std::string_view line);

// Removes what names the machine or its owner: host name, UUIDs beyond eight hex digits, other
// processes' names and pids, paths on the command line; the VBIOS stays. Conclusions name devices
// too, so derive them anew from the result.
Profile anonymized(Profile profile);

}  // namespace peakline
