#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace peakline::profile_format {

bool is_gzip(std::string_view data);

// Reproducible: without time or name.
std::string zipped(std::string_view text);

// nullopt beyond `most` bytes. Throws ProfileError, beginning with `name`, for broken data.
std::optional<std::string> unzipped(std::string_view data, std::size_t most, std::string_view name);

}  // namespace peakline::profile_format
