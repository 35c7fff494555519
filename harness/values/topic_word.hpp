#pragma once

#include <string_view>
#include <vector>

namespace peakline {

// A word that a reader asks for, and the parts of a summary and topics of questions, by name, that
// it stands for: `nvlink` for "links", "GPU to GPU".
struct TopicWord {
  std::string_view word;
  std::vector<std::string_view> names;
};

}  // namespace peakline
