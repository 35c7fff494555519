#include "harness/show/topics.hpp"

#include <algorithm>
#include <cctype>

namespace peakline {
namespace {

std::string plain(std::string_view topic) {
  std::string text(topic);
  for (char& c : text)
    c = c == '-' || c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

bool same_topic(std::string_view a, std::string_view b) { return plain(a) == plain(b); }

ChosenTopics choose_topics(std::span<const TopicWord> words, std::span<const std::string> own,
                           std::string_view wanted) {
  const std::string name = plain(wanted);
  if (name.empty()) return {};
  const auto all_of = [](const TopicWord& word) {
    return ChosenTopics{.names = {word.names.begin(), word.names.end()}, .ambiguous = {}};
  };
  for (const TopicWord& word : words) {
    if (word.word != name) continue;
    ChosenTopics chosen = all_of(word);
    // A topic of the profile named like the word, which the word does not list.
    for (const std::string& full : own)
      if (plain(full) == name && std::ranges::find(word.names, full) == word.names.end())
        chosen.names.push_back(full);
    return chosen;
  }
  for (const TopicWord& word : words)
    for (const std::string_view full : word.names)
      if (plain(full) == name) return {.names = {std::string(full)}, .ambiguous = {}};
  for (const std::string& full : own)
    if (plain(full) == name) return {.names = {full}, .ambiguous = {}};

  std::vector<const TopicWord*> begin_so;
  for (const TopicWord& word : words)
    if (word.word.starts_with(name)) begin_so.push_back(&word);
  if (begin_so.empty()) return {};
  // Several words for one thing are unambiguous.
  if (std::ranges::all_of(begin_so,
                          [&](const TopicWord* word) { return word->names == begin_so[0]->names; }))
    return all_of(*begin_so[0]);
  ChosenTopics chosen;
  for (const TopicWord* word : begin_so) chosen.ambiguous.emplace_back(word->word);
  return chosen;
}

}  // namespace peakline
