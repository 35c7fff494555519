#pragma once

// A GPU, or the links between GPUs, with its rules.

#include <string>
#include <vector>

#include "harness/judge/rules.hpp"
#include "harness/judge/yardsticks.hpp"

namespace peakline {

struct CheckedDevice {
  std::string name, model;  // "gpu0", "NVIDIA H200"; "node", "2 x NVIDIA H200"
  std::string uuid = {};
  Known known = {};  // of the populations given
  std::vector<Judged> rules;
};

}  // namespace peakline
