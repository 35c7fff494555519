#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace peakline::bench {

// GPUs at which workers crashed or hung. Such points cost their time limit, so GPUs that failed
// twice together are given up, and a GPU whose pairs with two others failed.
class NodeFaults {
 public:
  // area: start of the benchmark's id ("nccl"), as NCCL's failures say nothing about copies. gpus:
  // the point's; host points have none. A failure of more than two incriminates none of them alone.
  void add(std::string_view area, const std::vector<int>& gpus);
  // Why such a point is not tried, or "".
  std::string why_not(std::string_view area, const std::vector<int>& gpus) const;

 private:
  std::map<std::pair<std::string, std::set<int>>, int> failures_;
  std::map<int, std::set<int>> partners_;
};

}  // namespace peakline::bench
