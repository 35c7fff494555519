#pragma once

// What was likely meant by a name that is not known.

#include <span>
#include <string>
#include <string_view>

namespace peakline {

// The name that differs least from a text, in no more than half of the letters; empty if there is
// none.
std::string closest(std::string_view text, std::span<const std::string> names);

// "; did you mean --quick?", with `before` ahead of the closest name; empty if there is none.
std::string did_you_mean(std::string_view text, std::span<const std::string> names,
                         std::string_view before = "");

}  // namespace peakline
