#include "harness/run/node_faults.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace peakline::bench {
namespace {

constexpr int kMostFailuresOfPair = 2;
constexpr std::size_t kMostFailedPartners = 2;

}  // namespace

void NodeFaults::add(const std::vector<int>& gpus) {
  if (gpus.size() != 2) return;
  ++pairs_[std::minmax(gpus[0], gpus[1])];
  partners_[gpus[0]].insert(gpus[1]);
  partners_[gpus[1]].insert(gpus[0]);
}

std::string NodeFaults::why_not(const std::vector<int>& gpus) const {
  for (const int gpu : gpus) {
    const auto failed = partners_.find(gpu);
    if (failed != partners_.end() && failed->second.size() >= kMostFailedPartners)
      return fmt::format("not tried: GPU {} failed with GPUs {}", gpu,
                         fmt::join(failed->second, ", "));
  }
  if (gpus.size() != 2) return {};
  const auto pair = pairs_.find(std::minmax(gpus[0], gpus[1]));
  if (pair == pairs_.end() || pair->second < kMostFailuresOfPair) return {};
  return fmt::format("not tried: GPUs {} and {} failed {} times", gpus[0], gpus[1], pair->second);
}

}  // namespace peakline::bench
