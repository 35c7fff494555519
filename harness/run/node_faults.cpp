#include "harness/run/node_faults.hpp"

#include <fmt/format.h>

namespace peakline::bench {
namespace {

constexpr int kMostFailures = 2;
constexpr std::size_t kMostFailedPartners = 2;

std::pair<std::string, std::set<int>> key_of(std::string_view area, const std::vector<int>& gpus) {
  return {std::string(area), {gpus.begin(), gpus.end()}};
}

}  // namespace

void NodeFaults::add(std::string_view area, const std::vector<int>& gpus) {
  if (gpus.size() < 2) return;
  ++failures_[key_of(area, gpus)];
  if (gpus.size() != 2) return;
  partners_[gpus[0]].insert(gpus[1]);
  partners_[gpus[1]].insert(gpus[0]);
}

std::string NodeFaults::why_not(std::string_view area, const std::vector<int>& gpus) const {
  for (const int gpu : gpus) {
    const auto failed = partners_.find(gpu);
    if (failed != partners_.end() && failed->second.size() >= kMostFailedPartners)
      return fmt::format("not tried: GPU {} failed with GPUs {}", gpu,
                         fmt::join(failed->second, ", "));
  }
  const auto same = failures_.find(key_of(area, gpus));
  if (same == failures_.end() || same->second < kMostFailures) return {};
  return fmt::format("not tried: {} failed {} times with GPUs {}", area, same->second,
                     fmt::join(same->first.second, ", "));
}

}  // namespace peakline::bench
