#include "harness/values/labels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "harness/values/text.hpp"

namespace peakline {

std::string basis_label(Basis basis) {
  switch (basis) {
    case Basis::kDatasheet:
      return "published";
    case Basis::kSustained:
      return "achievable";
    case Basis::kModelShaped:
      return "model";
    default:
      return spaced(to_string(basis));
  }
}

std::string ceiling_label(std::string resource_label, Basis basis) {
  if (basis == Basis::kMeasured) return resource_label;
  return std::move(resource_label) + ' ' + basis_label(basis);
}

ResourceLabels::ResourceLabels(const Profile& profile) {
  for (const Resource& resource : profile.resources) labels_.emplace(resource.name, resource.label);
  for (const Resource& resource : known_resources()) {
    labels_.emplace(resource.name, resource.label);
  }
}

std::string ResourceLabels::operator()(std::string_view resource) const {
  const auto found = labels_.find(resource);
  return std::string(found == labels_.end() ? resource : found->second);
}

std::string ResourceLabels::operator()(const FigureKey& figure) const {
  return ceiling_label((*this)(figure.resource), figure.basis) +
         (figure.beside_siblings ? " beside other precisions" : "");
}

std::string device_label(const Profile& profile, std::string_view device) {
  const auto found = std::ranges::find(profile.devices, device, &DeviceFacts::uuid);
  return found == profile.devices.end() ? std::string(device) : gpus_label({found->index});
}

std::string short_model(std::string_view model) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < model.size();) {
    const std::size_t end = std::min(model.find(' ', begin), model.size());
    const std::string word(model.substr(begin, end - begin));
    begin = end + 1;
    if (word.empty()) continue;
    if (word == "NVIDIA" || word == "GeForce" || word == "Tesla" || word == "Quadro") continue;
    const bool memory = word.starts_with("HBM") ||
                        (word.ends_with("GB") && word.front() >= '0' && word.front() <= '9');
    if (memory) break;
    words.push_back(word.substr(0, word.find("-SXM")));
  }
  return words.empty() ? std::string(model) : joined(words, " ");
}

std::string gpus_label(std::vector<int> indices) {
  if (indices.size() == 1) return fmt::format("GPU {}", indices[0]);
  std::ranges::sort(indices);
  const bool in_a_row = indices.back() - indices.front() == std::ssize(indices) - 1;
  return in_a_row && indices.size() > 2 ? fmt::format("GPUs {}-{}", indices.front(), indices.back())
                                        : fmt::format("GPUs {}", fmt::join(indices, ", "));
}

}  // namespace peakline
