#pragma once

// Command lines of `run` and `check`, as a profile stores them.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline::profile_format {

// A word of a command line, with its value. Refers to the words.
struct CommandWord {
  std::string_view name;                       // "run", "--filter", "-q"
  std::optional<std::string_view> value = {};  // of "--filter=x" or "--filter x"
  bool joined = false;                         // by "="
};

// Splits the words behind the program's name as the command line's parser does: an option that
// needs a value takes the next word, whatever it looks like.
std::vector<CommandWord> words_of(std::span<const std::string> command);

// Whether anonymized profiles keep the word, or the option's name.
bool is_known_flag(std::string_view name);
bool is_known_option(std::string_view name);

// What older versions asked of a run, whose profiles have only the command line.
Asked asked_of(std::span<const std::string> command);

}  // namespace peakline::profile_format
