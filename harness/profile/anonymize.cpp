// Anonymizing keeps what is known to be harmless and drops everything else.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "harness/profile/command.hpp"
#include "harness/profile/profile.hpp"
#include "harness/values/cards.hpp"

namespace peakline {

using namespace profile_format;

namespace {

// Environment variables that keep their name. NCCL's values name no address, host or interface;
// file names are dropped.
constexpr std::string_view kVariables =
    " CUBLASLT_LOG_LEVEL CUBLAS_WORKSPACE_CONFIG CUDA_AUTO_BOOST CUDA_DEVICE_MAX_CONNECTIONS "
    "CUDA_DISABLE_PTX_JIT CUDA_FORCE_PTX_JIT CUDA_INJECTION64_PATH CUDA_LAUNCH_BLOCKING "
    "CUDA_MODULE_LOADING CUDA_MPS_ACTIVE_THREAD_PERCENTAGE CUDA_MPS_PIPE_DIRECTORY "
    "CUDA_SCALE_LAUNCH_QUEUES GLIBC_TUNABLES LD_PRELOAD NCCL_ALGO NCCL_BUFFSIZE "
    "NCCL_CROSS_NIC NCCL_CUMEM_ENABLE NCCL_DEBUG NCCL_IB_DISABLE NCCL_LAUNCH_MODE "
    "NCCL_MAX_CTAS NCCL_MAX_NCHANNELS NCCL_MIN_CTAS NCCL_MIN_NCHANNELS NCCL_NET_GDR_LEVEL "
    "NCCL_NTHREADS NCCL_NVLS_ENABLE NCCL_P2P_DISABLE NCCL_P2P_LEVEL NCCL_PROTO "
    "NCCL_SHM_DISABLE NCCL_TOPO_FILE NVIDIA_TF32_OVERRIDE ";
// Harmless values, in lower case; numbers are harmless too.
constexpr std::string_view kValues =
    " all collnetchain collnetdirect default eager false group info lazy ll ll128 loc no node "
    "none nvl nvls nvlstree off on parallel pat phb pix pxb ring simple sys tree true "
    "version warn yes ";

bool is_one_of(std::string_view words, std::string_view word) {
  return word.find(' ') == word.npos && words.find(fmt::format(" {} ", word)) != words.npos;
}

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// True for lists of numbers and harmless words.
bool is_harmless(std::string_view value) {
  while (!value.empty()) {
    const auto end = std::min(value.find_first_of(",;^:"), value.size());
    std::string part(value.substr(0, end));
    std::ranges::transform(part, part.begin(), [](unsigned char c) { return std::tolower(c); });
    const bool number = part.find_first_not_of("0123456789.+-") == part.npos &&
                        std::ranges::count(part, '.') <= 1;  // more than one dot: an address
    if (!number && !is_one_of(kValues, part)) return false;
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return true;
}

class Anonymizer {
 public:
  explicit Anonymizer(const Profile& profile) : hosts_(names_of(profile.host.hostname)) {
    std::unordered_set<std::string> taken;
    for (const DeviceFacts& device : profile.devices) {
      std::string name = short_uuid(device.uuid);
      if (!taken.insert(name).second) name += fmt::format("-{}", device.index);
      uuids_[device.uuid] = name;
      for (const DeviceProcess& process : device.processes) processes_.push_back(process.name);
    }
  }

  // Maps a device's UUID; others, such as "host", stay.
  std::string uuid(const std::string& uuid) const {
    const auto found = uuids_.find(uuid);
    return found == uuids_.end() ? uuid : found->second;
  }

  std::vector<std::string> command(const std::vector<std::string>& words) const {
    if (words.empty()) return {};
    std::vector<std::string> kept = {"peakline"};
    for (const CommandWord& word : words_of(words)) {
      const bool option = is_known_option(word.name);
      if (!option && !is_known_flag(word.name)) {
        // An unknown option's value is a word of its own.
        kept.insert(kept.end(), word.value && !word.joined ? 2 : 1, std::string(kLeftOut));
        continue;
      }
      kept.emplace_back(word.name);
      if (!word.value) continue;
      const std::string harmless = value(word.name, *word.value);
      if (word.joined)
        kept.back() += '=' + harmless;
      else
        kept.push_back(harmless);
    }
    return kept;
  }

  // The same options, as facts.
  Asked asked(Asked asked) const {
    asked.filter = value("--filter", asked.filter);
    asked.devices = devices(asked.devices);
    return asked;
  }

  // Drops known names, and whatever looks like a path or an address, from free text.
  std::string text(const std::string& text) const {
    // A worker's last output may be anything.
    constexpr std::string_view kEnded = "the worker exited with code ";
    if (text.starts_with(kEnded)) return text.substr(0, text.find(':'));
    std::string kept = text;
    for (const auto& [from, to] : uuids_) replace(kept, from, to);
    for (const std::string& name : processes_) replace(kept, name, "(another process)");
    for (const std::string& name : hosts_) replace(kept, name, "localhost");
    std::string result;
    for (std::size_t at = 0; at < kept.size();) {
      const auto end = std::min(kept.find(' ', at), kept.size());
      const std::string_view word = std::string_view(kept).substr(at, end - at);
      result += is_place(word) ? kLeftOut : word;
      if (end < kept.size()) result += ' ';
      at = end + 1;
    }
    return result;
  }

 private:
  // Host name, its first label, and its domain.
  static std::vector<std::string> names_of(const std::string& hostname) {
    if (hostname.empty()) return {};
    const auto dot = hostname.find('.');
    if (dot == hostname.npos) return {hostname};
    return {hostname, hostname.substr(0, dot), hostname.substr(dot + 1)};
  }

  static bool is_place(std::string_view word) {
    const auto first = word.find_first_not_of("\"'([<");
    if (first == word.npos) return false;
    word.remove_prefix(first);
    const auto digits = word.find_first_not_of("0123456789.:");
    const bool address = std::ranges::count(word, '.') == 3 && digits == word.npos;
    return word.front() == '/' || word.starts_with("~") || word.find("://") != word.npos ||
           word.find('@') != word.npos || address;
  }

  // Replaces whole words that contain the name: "node7", "node7.example.org", "node7-ib".
  static void replace(std::string& text, const std::string& name, std::string_view by) {
    if (name.empty()) return;
    const auto belongs = [&](std::size_t at) {
      return is_letter_or_digit(text[at]) || text[at] == '_';
    };
    for (auto at = text.find(name); at != text.npos;) {
      auto begin = at, end = at + name.size();
      const bool whole =
          (begin == 0 || !belongs(begin - 1)) && (end == text.size() || !belongs(end));
      if (!whole) {
        at = text.find(name, end);
        continue;
      }
      const auto joins = [&](std::size_t i) { return text[i] == '.' || text[i] == '-'; };
      while (end + 1 < text.size() && (belongs(end) || (joins(end) && belongs(end + 1)))) ++end;
      if (end + 1 == text.size() && belongs(end)) ++end;
      while (begin > 1 && (belongs(begin - 1) || (joins(begin - 1) && belongs(begin - 2)))) --begin;
      if (begin == 1 && belongs(0)) begin = 0;
      text.replace(begin, end - begin, by);
      at = text.find(name, begin + by.size());
    }
  }

  std::string value(std::string_view option, std::string_view value) const {
    if (option == "--device") return devices(value);
    return std::string(is_harmless(value) ? value : kLeftOut);
  }

  // list: indices and possibly shortened UUIDs.
  std::string devices(std::string_view list) const {
    std::string kept;
    for (std::size_t at = 0; at <= list.size();) {
      const auto end = std::min(list.find(',', at), list.size());
      const std::string_view device = list.substr(at, end - at);
      const auto found = std::ranges::find_if(
          uuids_, [&](const auto& uuid) { return uuid.first.starts_with(device); });
      if (!kept.empty()) kept += ',';
      kept += is_harmless(device)     ? device
              : found != uuids_.end() ? std::string_view(found->second)
                                      : kLeftOut;
      at = end + 1;
    }
    return kept;
  }

  std::map<std::string, std::string> uuids_;  // to their replacements
  std::vector<std::string> processes_;
  std::vector<std::string> hosts_;
};

}  // namespace

Profile anonymized(Profile profile) {
  const Anonymizer anonymizer(profile);
  profile.host.hostname.clear();
  if (auto& storage = profile.host.storage) {
    storage->path.clear();
    storage->source.clear();
    // Network file systems' options name servers, users and keys.
    storage->mount_options.clear();
  }
  profile.command = anonymizer.command(profile.command);
  profile.asked = anonymizer.asked(std::move(profile.asked));
  std::erase_if(profile.software.environment,
                [](const auto& variable) { return !is_one_of(kVariables, variable.first); });
  for (auto& [name, value] : profile.software.environment)
    if (!is_harmless(value)) value = kLeftOut;
  for (DeviceFacts& device : profile.devices) {
    device.uuid = anonymizer.uuid(device.uuid);
    device.unusable = anonymizer.text(device.unusable);
    for (PeerFacts& peer : device.peers)
      if (!peer.refused.empty() &&
          std::ranges::find(kRefusals, peer.refused) == std::end(kRefusals))
        peer.refused = kLeftOut;
    for (DeviceProcess& process : device.processes) {
      process.name = is_mps_server(process) ? kMpsServer : "";
      process.pid = 0;
    }
  }
  for (Measurement& measurement : profile.measurements) {
    measurement.device = anonymizer.uuid(measurement.device);
    measurement.reason = anonymizer.text(measurement.reason);
  }
  return profile;
}

}  // namespace peakline
