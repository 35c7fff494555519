#pragma once

#include <string_view>
#include <vector>

namespace peakline {

// A word for topics and sections: `nvlink` selects "links" and "GPU to GPU".
struct TopicWord {
  std::string_view word;
  std::vector<std::string_view> names;
};

}  // namespace peakline
