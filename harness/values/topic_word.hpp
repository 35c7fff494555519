#pragma once

#include <string_view>
#include <vector>

namespace peakline {

// A word for topics and sections: `nvlink` selects "links" and "GPU to GPU", whose answers stand in
// the order of `names`.
struct TopicWord {
  std::string_view word;
  std::vector<std::string_view> names;
  std::vector<std::string_view> also = {};  // what users call it: "p2p", "peer"
  std::string_view needs = {};              // what measures it, where not every run does
};

}  // namespace peakline
