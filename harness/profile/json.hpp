#pragma once

// Text to JSON values and back, as every reader of text from outside has to do it.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace peakline::profile_format {

// Keeps keys in the order in which they were declared, which params and launch depend on.
using json = nlohmann::ordered_json;

// A text beyond these is not a profile: they bound memory and time on hostile input. A profile has
// at most 1 MiB a device, five levels and some forty keys an object.
inline constexpr std::size_t kMaxBytes = 32u << 20;
inline constexpr std::size_t kMaxDepth = 32;
inline constexpr std::size_t kMaxKeys = 4096;

inline constexpr std::size_t kShown = 40;  // characters of a key or a value in a message

// A value with all that is in it. The library's own destructor needs memory, and ends the process
// where there is none: this one takes the value apart first, which needs none.
struct Document {
  json root;

  Document() = default;
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
  ~Document();
};

// Throws ProfileError, beginning with `name`, for what is not one JSON value in UTF-8, nested no
// deeper than kMaxDepth levels, with no more than kMaxKeys different keys in an object.
void parse(std::string_view text, std::string_view name, Document& document);

// On one line. What is not UTF-8 (text from outside, such as names of hosts and processes, need not
// be) becomes U+FFFD.
std::string dump(const json& value);

}  // namespace peakline::profile_format
