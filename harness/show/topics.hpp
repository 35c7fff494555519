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
  std::string_view needs = {};         // what measures the topics, where not every run does
};

// wanted: a word, a synonym, the beginning of a word, or a full name, ignoring case; "-" and "_"
// stand for blanks. own: the profile's names, including some that `words` lacks.
ChosenTopics choose_topics(std::span<const TopicWord> words, std::span<const std::string> own,
                           std::string_view wanted);

// "PCIe copies" equals "pcie-copies".
bool same_topic(std::string_view a, std::string_view b);

// "; did you mean nvlink?": the word that was likely meant, if only by a synonym like it; else "".
std::string meant_topic(std::span<const TopicWord> words, std::string_view wanted);

// A topic's figures: those of benchmarks as a whole, then those by parameters, a column a figure.
struct TopicFigures {
  std::vector<Table> tables;
  std::vector<std::string> in_words;  // of tables with more rows
};
TopicFigures topic_figures(const Curve& curve, std::size_t most_rows);
// The rows of a table beyond which it is put into words, so that all topics fill two screens.
std::size_t rows_that_fit(std::span<const Curve* const> topics);

}  // namespace peakline
