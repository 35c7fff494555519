#include "harness/profile/command.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

namespace peakline::profile_format {
namespace {

constexpr auto kFlags = std::to_array<std::string_view>(
    {"run", "check", "-q", "-v", "--all", "--anonymize", "--dry-run", "--full", "--if-idle",
     "--json", "--no-verify", "--profile", "--quick", "--quiet", "--strict", "--verbose",
     "--verify"});
constexpr auto kOptions = std::to_array<std::string_view>(
    {"-o",           "--against",      "--allow",     "--device",    "--exit-codes",  "--explain",
     "--filter",     "--gpus",         "--junit",     "--max-noise", "--min-samples", "--output",
     "--population", "--prometheus",   "--rules",     "--runs",      "--seed",        "--soak",
     "--storage",    "--storage-size", "--time-limit"});

bool is_long(std::string_view word) { return word.starts_with("--") && word.size() > 2; }

// Whether the word is, or ends in, an option that takes the next word: "-o", "-qo".
bool takes_next(std::string_view word) {
  if (is_long(word)) return is_known_option(word);
  return word.size() > 1 && word.front() == '-' && word.find('o') == word.size() - 1;
}

// Anything else that a flag is given turns it on, or is refused.
bool turns_off(std::string_view value) {
  static constexpr auto kWords =
      std::to_array<std::string_view>({"0", "-", "f", "n", "false", "no", "off", "disable"});
  std::string lower(value);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(kWords, lower) != kWords.end();
}

}  // namespace

bool is_known_flag(std::string_view name) {
  return std::ranges::find(kFlags, name) != kFlags.end();
}
bool is_known_option(std::string_view name) {
  return std::ranges::find(kOptions, name) != kOptions.end();
}

std::vector<CommandWord> words_of(std::span<const std::string> command) {
  std::vector<CommandWord> words;
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string_view word = command[i];
    const auto equals = is_long(word) ? word.find('=') : word.npos;
    if (equals != word.npos)
      words.push_back(
          {.name = word.substr(0, equals), .value = word.substr(equals + 1), .joined = true});
    else if (takes_next(word) && i + 1 < command.size())
      words.push_back({.name = word, .value = command[++i]});
    else
      words.push_back({.name = word});
  }
  return words;
}

Asked asked_of(std::span<const std::string> command) {
  Asked asked;
  for (const CommandWord& word : words_of(command)) {
    if (word.name == "--filter") asked.filter = word.value.value_or("");
    if (word.name == "--device") asked.devices = word.value.value_or("");
    if (word.name == "--no-verify") asked.verify = word.value && turns_off(*word.value);
  }
  if (asked.devices == kAllDevices) asked.devices.clear();
  return asked;
}

}  // namespace peakline::profile_format
