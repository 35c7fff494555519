#pragma once

// What `show --topic` takes: words for parts of a summary and for the questions' topics.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/values/topic_word.hpp"

namespace peakline {

// The topics that were asked for. Both lists are empty where there is no such topic.
struct ChosenTopics {
  std::vector<std::string> names;      // the parts and topics to print
  std::vector<std::string> ambiguous;  // words that begin alike
};

// wanted: a word or how it begins, or a name in full, in any case; for blanks "-" and "_" do.
// own: the names that the profile has, of which `words` may lack some.
ChosenTopics choose_topics(std::span<const TopicWord> words, std::span<const std::string> own,
                           std::string_view wanted);

// Whether these name the same topic: "PCIe copies" and "pcie-copies".
bool same_topic(std::string_view a, std::string_view b);

}  // namespace peakline
