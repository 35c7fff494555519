#pragma once

// Files as a whole.

#include <filesystem>
#include <string>
#include <string_view>

namespace peakline::profile_format {

// Unpacked where it is gzipped. Throws ProfileError, also for what is too large to be a profile.
std::string read_text(const std::filesystem::path& file);

// Writes beside the target and renames, so that the file is either whole or untouched. Throws
// ProfileError with the reason.
void write_text(std::string_view text, const std::filesystem::path& file);

// Writes a new file, which is either whole or not there, also where the process is killed
// meanwhile. False where it exists. Throws ProfileError with the reason.
bool create_text(std::string_view text, const std::filesystem::path& file);

// Writes a report, which may take the place of an earlier one. Pipes and character devices, among
// them the terminal, are written to; a file that is new, empty or begins as reports of this kind
// do is replaced as a whole. Throws ProfileError for any other file, so that a profile is safe.
void write_report(std::string_view text, const std::filesystem::path& file,
                  std::string_view beginning);

// Throws ProfileError where write_report would, as far as that shows before there is a report.
void require_report_file(const std::filesystem::path& file, std::string_view beginning);

// The start of this machine's temporary file names: ".peakline-HOST-". On a file system that
// machines share, locks may not be shared.
std::string temporary_prefix();

}  // namespace peakline::profile_format
