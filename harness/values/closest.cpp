#include "harness/values/closest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/values/text.hpp"

namespace peakline {

std::string closest(std::string_view text, std::span<const std::string> names) {
  constexpr std::size_t kLongest = 100;  // a text longer than any name resembles none
  if (text.size() > kLongest) return {};
  std::string best;
  std::size_t fewest = kLongest;
  for (const std::string& name : names) {
    const std::size_t edits = edit_distance(text, name);
    if (2 * edits > std::max(text.size(), name.size()) || edits >= fewest) continue;
    best = name;
    fewest = edits;
  }
  return best;
}

std::string did_you_mean(std::string_view text, std::span<const std::string> names,
                         std::string_view before) {
  const std::string name = closest(text, names);
  return name.empty() ? "" : fmt::format("; did you mean {}{}?", before, name);
}

}  // namespace peakline
