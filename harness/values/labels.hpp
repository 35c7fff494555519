#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "harness/values/profile.hpp"

namespace peakline {

// "burst", "model-shaped".
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

// "GPU 3", "GPUs 0-7", "GPUs 0, 2, 5". indices: at least one, in any order.
std::string gpus_label(std::vector<int> indices);

}  // namespace peakline
