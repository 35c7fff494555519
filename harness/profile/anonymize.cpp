#include <fmt/format.h>

#include <cctype>
#include <map>
#include <string>
#include <unordered_set>

#include "harness/profile/profile.hpp"
#include "harness/values/cards.hpp"

namespace peakline {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Every whole-word occurrence of `from` in the text.
void replace_word(std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) return;
  for (auto at = text.find(from); at != text.npos;) {
    const auto end = at + from.size();
    const bool whole =
        (at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]));
    if (whole) text.replace(at, from.size(), to);
    at = text.find(from, whole ? at + to.size() : end);
  }
}

// Keeps what follows the last slash of a path, or of the path behind "--option=".
std::string without_folders(const std::string& text) {
  const auto slash = text.rfind('/');
  if (slash == text.npos) return text;
  const auto equals = text.find('=');
  const bool option = text.starts_with('-') && equals != text.npos && equals < slash;
  return (option ? text.substr(0, equals + 1) : std::string()) + text.substr(slash + 1);
}

}  // namespace

Profile anonymized(Profile profile) {
  std::map<std::string, std::string> words;  // what is told from whom -> what may be
  if (!profile.host.hostname.empty()) words[profile.host.hostname] = "localhost";
  profile.host.hostname.clear();
  if (auto& storage = profile.host.storage) {
    storage->path.clear();
    storage->source.clear();
    // Servers, users and keys stand among the options of network file systems.
    storage->mount_options.clear();
  }

  std::map<std::string, std::string> uuids;
  std::unordered_set<std::string> taken;
  for (DeviceFacts& device : profile.devices) {
    std::string name = short_uuid(device.uuid);
    if (!taken.insert(name).second) name += fmt::format("-{}", device.index);
    words[device.uuid] = uuids[device.uuid] = name;
    device.uuid = name;
    for (DeviceProcess& process : device.processes) {
      words[process.name] = "(another process)";
      process.name.clear();
      process.pid = 0;
    }
  }
  const auto scrub = [&](std::string& text) {
    for (const auto& [from, to] : words) replace_word(text, from, to);
  };

  for (std::size_t i = 0; i < profile.command.size(); ++i) {
    std::string& argument = profile.command[i];
    // A filter is matched with "id/name:value": its slashes are no folders.
    const bool filter =
        argument.starts_with("--filter") || (i > 0 && profile.command[i - 1] == "--filter");
    if (!filter) argument = without_folders(argument);
    scrub(argument);
  }
  for (auto& [name, value] : profile.software.environment) {
    value = without_folders(value);
    scrub(value);
  }
  for (DeviceFacts& device : profile.devices) scrub(device.unusable);
  for (Measurement& measurement : profile.measurements) {
    if (const auto found = uuids.find(measurement.device); found != uuids.end())
      measurement.device = found->second;
    scrub(measurement.reason);
  }
  return profile;
}

}  // namespace peakline
