#pragma once

// `show --topic`: its words, for parts of a summary and questions' topics, and a topic's figures.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/show/table.hpp"
#include "harness/values/profile.hpp"
#include "harness/values/topic_word.hpp"

namespace peakline {

// Both lists are empty without a match.
struct ChosenTopics {
  std::vector<std::string> names;      // parts and topics to print
  std::vector<std::string> ambiguous;  // words with this beginning
};

// wanted: a word or its beginning, or a full name, ignoring case; "-" and "_" stand for blanks.
// own: the profile's names, including some that `words` lacks.
ChosenTopics choose_topics(std::span<const TopicWord> words, std::span<const std::string> own,
                           std::string_view wanted);

// "PCIe copies" equals "pcie-copies".
bool same_topic(std::string_view a, std::string_view b);

// A topic's figures: those of benchmarks as a whole, then those by parameters, a column a figure.
std::vector<Table> topic_tables(const Curve& curve);

}  // namespace peakline
