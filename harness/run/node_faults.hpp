#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace peakline::bench {

// Pairs of GPUs at which workers crashed or hung. Each such point costs its time limit, so a pair
// that has failed twice is given up, and a GPU that has failed with two others.
class NodeFaults {
 public:
  // gpus: those of the point. More than two tell nothing: any of them may be to blame.
  void add(const std::vector<int>& gpus);
  // Why a point of these GPUs is not tried; empty: it may be.
  std::string why_not(const std::vector<int>& gpus) const;

 private:
  std::map<std::pair<int, int>, int> pairs_;
  std::map<int, std::set<int>> partners_;
};

}  // namespace peakline::bench
