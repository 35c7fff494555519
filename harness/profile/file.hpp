#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace peakline::profile_format {

// Reads a plain or gzipped text. Throws ProfileError, also above the size limit of a profile.
std::string read_text(const std::filesystem::path& file);

// Replaces the target atomically. Throws ProfileError.
void write_text(std::string_view text, const std::filesystem::path& file);

// Creates a whole file or none, even if killed (but an empty one on file systems such as NFS).
// False if it exists. Throws ProfileError.
bool create_text(std::string_view text, const std::filesystem::path& file);

// Writes a report to a pipe or character device, or replaces a file that is new, empty or begins as
// reports of this kind do. Throws ProfileError for any other file, such as a profile.
void write_report(std::string_view text, const std::filesystem::path& file,
                  std::string_view beginning);

// The report that write_report would replace; "" for a new file or a stream. Throws ProfileError.
std::string earlier_report(const std::filesystem::path& file, std::string_view beginning);

// Throws ProfileError in advance where write_report would.
void require_report_file(const std::filesystem::path& file, std::string_view beginning);

}  // namespace peakline::profile_format
