#pragma once

// The profile's JSON form, of which the schema is part of the Python package
// (reports/peakline/profile.schema.json). It leaves out what is not known or empty.

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline {

inline constexpr std::string_view kProfileSchema = "peakline-profile";
inline constexpr int kProfileSchemaVersion = 4;
// The last revision that reads the versions before.
inline constexpr std::string_view kReadsEarlierVersions = "a4b10e9";

// A profile or a record that cannot be read: names the file and the field and what would be right.
struct ProfileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The JSON Schema (draft 7) of what to_json writes. Readers of both languages keep to it.
std::string profile_schema();

std::string to_json(const Profile& profile);
Profile profile_from_json(std::string_view text, std::string_view name);  // name: for messages

// Whether the name is that of a profile, which ends in .json or .json.gz.
bool is_profile_name(const std::filesystem::path& file);

// Gzipped or not. Throws ProfileError, also where memory does not suffice.
Profile read_profile(const std::filesystem::path& file);
// Gzipped where the name ends in .json.gz. Writes beside the target and renames, so that the file
// is either whole or untouched; what an earlier call wrote is then still there. Throws ProfileError
// with the reason.
void write_profile(const Profile& profile, const std::filesystem::path& file);
// Creates a new file, which no other run can take then. False if it exists.
bool create_profile(const Profile& profile, const std::filesystem::path& file);

// Rounds to the precision of a profile.
Measurement rounded(Measurement measurement);

// Leaves out what a reader would refuse, so that one figure that breaks a rule (a rate of 0, a time
// of 1e40 s, a count below 0) does not take the profile with it. What is left out of a record or a
// row is the field at fault where it may be missing, else all of it.
// - Of a measurement: its reason says what is missing; where no value is left, it is an error.
Measurement readable(Measurement measurement);
// - Of facts and of what follows from measurements: a finding "left_out" each is appended to
//   `left_out`. A ceiling that goes is among the missing ones.
void leave_out_unreadable(Profile& profile, std::vector<Finding>& left_out);
// Throws ProfileError, beginning with `name`, for what a reader of the written profile would
// refuse.
void require_readable(Profile profile, std::string_view name);

// One record in one line, as a worker answers; and back.
std::string to_json_line(const Measurement& measurement);
std::string to_json_line(const DeviceFacts& facts);
Measurement measurement_from_json_line(std::string_view line);
DeviceFacts device_facts_from_json_line(std::string_view line);

// Leaves out everything that names the machine or its owner: host name, full UUIDs (the first eight
// hex digits stay), other processes' names and pids, paths on the command line; the VBIOS stays.
// Conclusions have to be derived anew from the result, since they name devices too.
Profile anonymized(Profile profile);

}  // namespace peakline
