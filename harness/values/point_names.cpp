#include "harness/values/point_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <variant>

#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

constexpr std::string_view kSizes[] = {"block",     "bytes",     "chunk", "element",
                                       "footprint", "in_flight", "limit", "piece",
                                       "offset",    "tile",      "width"};

bool in_bytes(std::string_view param) {
  return std::ranges::find(kSizes, param) != std::end(kSizes);
}

}  // namespace

std::string parameter_text(const std::string& name, const ParamValue& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  if (number == nullptr) return spaced(to_string(value));
  return in_bytes(name) ? format_size(static_cast<double>(*number)) : to_string(value);
}

std::string params_text(const Params& by) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : by) parts.push_back(parameter_text(name, value));
  return joined(parts);
}

std::vector<std::string> words_of_id(std::string_view id) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < id.size();) {
    const std::size_t end = std::min(id.find_first_of("._", at), id.size());
    words.emplace_back(id.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string name_of_id(std::string_view id) {
  // A sweep of a benchmark is named by its parameter.
  if (const std::size_t at = id.find('/'); at != id.npos)
    return fmt::format("{} by {}", name_of_id(id.substr(0, at)), spaced(id.substr(at + 1)));
  constexpr std::string_view kAcronyms[] = {"ce",  "dsmem", "fma", "gemm", "hbm",
                                            "mma", "nccl",  "sm",  "tma"};
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"nvlink", "NVLink"}, {"pcie", "PCIe"}, {"sms", "SMs"}};
  std::vector<std::string> words = words_of_id(id);
  for (std::string& word : words) {
    const bool shouted = word.find_first_of("0123456789") != std::string::npos ||
                         std::ranges::find(kAcronyms, word) != std::end(kAcronyms);
    const auto name =
        std::ranges::find(kNames, word, &std::pair<std::string_view, std::string_view>::first);
    word = name != std::end(kNames) ? std::string(name->second) : shouted ? upper(word) : word;
  }
  return joined(words, " ");
}

std::string name_of_point(const Measurement& m) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : m.params) {
    if (name == "sms") {  // a number, or "all"
      parts.push_back(parameter_text(name, value) + " SMs");
      continue;
    }
    const bool bare = std::holds_alternative<std::string>(value) || in_bytes(name);
    parts.push_back((bare ? "" : spaced(name) + " ") + parameter_text(name, value));
  }
  return name_of_id(m.id) + (parts.empty() ? "" : fmt::format(" ({})", joined(parts)));
}

}  // namespace peakline
