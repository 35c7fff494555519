#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "harness/values/profile.hpp"

namespace peakline {

// "burst", "published", "achievable", "model".
std::string basis_label(Basis basis);
// "BF16 Tensor Cores burst", "HBM read".
std::string ceiling_label(std::string resource_label, Basis basis);

// The labels of a profile's resources. The profile must outlive this.
class ResourceLabels {
 public:
  explicit ResourceLabels(const Profile& profile);
  // "HBM read", "BF16 Tensor Cores"; the name of an unknown resource.
  std::string operator()(std::string_view resource) const;
  // "BF16 Tensor Cores burst", "... beside other precisions".
  std::string operator()(const FigureKey& figure) const;

 private:
  std::unordered_map<std::string_view, std::string_view> labels_;  // by name
};

// "GPU 0", "host", "node"; "" for the whole machine; an unknown UUID unchanged.
std::string device_label(const Profile& profile, std::string_view device);

// "H100" of "NVIDIA H100 80GB HBM3", "A100" of "NVIDIA A100-SXM4-80GB", "RTX 4090" of "NVIDIA
// GeForce RTX 4090"; for first lines.
std::string short_model(std::string_view model);

// "GPU 3", "GPUs 0-7", "GPUs 0, 2, 5". indices: at least one, in any order.
std::string gpus_label(std::vector<int> indices);

}  // namespace peakline
