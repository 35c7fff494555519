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

// Rounds to the precision of a profile.
Measurement rounded(Measurement measurement);

// readable() and leave_out_unreadable() keep one figure that breaks a rule (a rate of 0, a time of
// 1e40 s, a count below 0) from spoiling the profile: they drop the field at fault if it may be
// missing, else the record or row. A measurement without value becomes an error with its reason.
Measurement readable(Measurement measurement);
// Adds a finding "left_out" for each omission. A dropped ceiling becomes a missing one.
void leave_out_unreadable(Profile& profile, std::vector<Finding>& left_out);
// Throws ProfileError, beginning with `name`, if a reader would refuse the written profile.
void require_readable(Profile profile, std::string_view name);

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
