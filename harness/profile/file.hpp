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

// What the names of this machine's temporary files begin with: ".peakline-HOST-". On a file system
// that machines share, their locks may not be.
std::string temporary_prefix();

}  // namespace peakline::profile_format
