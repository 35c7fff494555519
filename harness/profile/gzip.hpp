#pragma once

// Text as a gzip file and back.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace peakline::profile_format {

bool is_gzip(std::string_view data);

// Equal texts give equal bytes: they hold neither a time nor a name.
std::string zipped(std::string_view text);

// nullopt where it is more than `most` bytes. Throws ProfileError, beginning with `name`, for what
// is broken.
std::optional<std::string> unzipped(std::string_view data, std::size_t most, std::string_view name);

}  // namespace peakline::profile_format
