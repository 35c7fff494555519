#include "harness/cli/rules_file.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "harness/profile/file.hpp"
#include "harness/run/plan.hpp"
#include "harness/values/closest.hpp"
#include "harness/values/text.hpp"

namespace peakline::bench {
namespace {

constexpr std::size_t kShown = 80;  // characters of the file's text

// Checking takes each rule against each of a device: about 1 s for this many.
constexpr std::size_t kMostRules = 10'000;

// The parser builds and destroys nested tables recursively. Rules need two levels, and a number's
// point counts as one.
constexpr int kMostLevels = 8;

// Where a string that begins here ends: behind its quotes, or at the end of its line.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const bool escapes = quote == '"';
  const std::string_view three = quote == '"' ? R"(""")" : "'''";
  const bool many_lines = text.substr(begin).starts_with(three);
  for (std::size_t i = begin + (many_lines ? 3 : 1); i < text.size(); ++i) {
    if (escapes && text[i] == '\\') {
      ++i;
    } else if (many_lines && text.substr(i).starts_with(three)) {
      // Up to two more quotes belong to the text.
      const std::size_t end = std::min(text.find_first_not_of(quote, i), text.size());
      return std::min(end, i + 5);
    } else if (!many_lines && (text[i] == quote || text[i] == '\n')) {
      return text[i] == quote ? i + 1 : i;
    }
  }
  return text.size();
}

// Refuses keys of many parts (a.b.c) and nested brackets.
void require_flat(std::string_view text, const std::string& file) {
  std::size_t line = 1;
  int parts = 0, brackets = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      const std::size_t end = end_of_string(text, i);
      line += static_cast<std::size_t>(std::ranges::count(text.substr(i, end - i), '\n'));
      i = end;
      continue;
    }
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '\n') {
      ++line;
      parts = 0;
    }
    parts += c == '.';
    brackets += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (parts > kMostLevels || brackets > kMostLevels)
      throw UsageError(fmt::format(
          "{}, line {}: nested too deep: expected [[rule]] tables of plain keys", file, line));
    ++i;
  }
}

class RuleTable {
 public:
  RuleTable(const std::string& file, const toml::table& table) : file_(file), table_(table) {}

  std::map<std::string, std::size_t> lines() const {
    std::map<std::string, std::size_t> lines;
    for (const auto& [key, value] : table_)
      lines.emplace(std::string(key.str()), key.source().begin.line);
    return lines;
  }

  [[noreturn]] void fail(std::string_view what) const { fail(line(), what); }
  // key: locates the error.
  [[noreturn]] void fail(std::string_view key, std::string_view what) const {
    const toml::node* node = table_.get(key);
    fail(node == nullptr ? line() : node->source().begin.line, fmt::format("{}: {}", key, what));
  }

  std::optional<std::string> text(std::string_view key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return std::nullopt;
    const auto value = node->value_exact<std::string>();
    if (!value || value->empty()) fail(key, "expected a text");
    return value;
  }

  std::string required_text(std::string_view key, std::string_view expected) const {
    auto value = text(key);
    if (!value) fail(fmt::format("{} is missing: expected {}", key, expected));
    return *value;
  }

  // A number in (0, most).
  std::optional<double> number(std::string_view key, double most) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return std::nullopt;
    const auto value = node->is_number() ? node->value<double>() : std::nullopt;
    if (!value || !(*value > 0) || !(*value < most))
      fail(key, fmt::format("expected a number above 0{}",
                            most < INFINITY ? fmt::format(" and below {:g}", most) : ""));
    return value;
  }

  void expect_only(std::span<const std::string> keys) const {
    for (const auto& [key, value] : table_) {
      if (std::ranges::find(keys, key.str()) != keys.end()) continue;
      const std::string meant = did_you_mean(key.str(), keys);
      fail(
          key.source().begin.line,
          fmt::format("{}: no such key{}", printable(key.str(), kShown),
                      meant.empty() ? fmt::format("; expected {}", fmt::join(keys, ", ")) : meant));
    }
  }

 private:
  std::size_t line() const { return table_.source().begin.line; }
  [[noreturn]] void fail(std::size_t line, std::string_view what) const {
    throw UsageError(fmt::format("{}, line {}: {}", file_, line, what));
  }

  const std::string& file_;
  const toml::table& table_;
};

std::optional<Outcome> outcome_of(const RuleTable& table) {
  const auto word = table.text("outcome");
  if (!word) return std::nullopt;
  if (*word == "warn") return Outcome::kWarn;
  if (*word == "ignore") return Outcome::kExcused;
  table.fail("outcome", "expected \"warn\" or \"ignore\"");
}

RuleChange rule_of(const RuleTable& table) {
  static const std::array<std::string, 6> kKeys = {"name",    "limit", "loss_percent",
                                                   "outcome", "mode",  "reason"};
  table.expect_only(kKeys);
  RuleChange rule{.name = table.required_text("name", "that of a rule, see check --all")};
  rule.limit = table.number("limit", INFINITY);
  if (const auto percent = table.number("loss_percent", 100)) rule.loss = *percent / 100;
  rule.outcome = outcome_of(table);
  rule.mode = table.text("mode").value_or("");
  if (!rule.mode.empty() && rule.mode != "quick" && rule.mode != "full")
    table.fail("mode", "expected \"quick\" or \"full\"");
  if (rule.limit && rule.loss) table.fail("loss_percent", "expected it or limit, not both");
  if (!rule.limit && !rule.loss && !rule.outcome)
    table.fail("expected one of limit, loss_percent and outcome");
  rule.reason = table.required_text("reason", "why the rule differs, which is printed with it");
  rule.lines = table.lines();
  return rule;
}

}  // namespace

std::vector<RuleChange> rules_from_toml(std::string_view text, const std::string& file) {
  require_flat(text, file);
  toml::table root;
  try {
    root = toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    throw UsageError(fmt::format("{}, line {}: not TOML: {}", file, error.source().begin.line,
                                 printable(error.description(), kShown)));
  }
  for (const auto& [key, value] : root)
    if (key.str() != "rule")
      throw UsageError(fmt::format("{}, line {}: {}: expected [[rule]] tables and nothing else",
                                   file, key.source().begin.line, printable(key.str(), kShown)));
  const toml::array* rows = root["rule"].as_array();
  if (rows == nullptr) throw UsageError(file + ": expected [[rule]] tables");
  if (rows->size() > kMostRules)
    throw UsageError(
        fmt::format("{}: expected up to {} rules, found {}", file, kMostRules, rows->size()));
  std::vector<RuleChange> rules;
  std::set<std::pair<std::string, std::string>> known;
  for (const toml::node& row : *rows) {
    if (!row.is_table())
      throw UsageError(
          fmt::format("{}, line {}: expected a [[rule]] table", file, row.source().begin.line));
    const RuleTable table(file, *row.as_table());
    rules.push_back(rule_of(table));
    if (!known.emplace(rules.back().name, rules.back().mode).second)
      table.fail("name", fmt::format("a second rule for {}", printable(rules.back().name, kShown)));
  }
  return rules;
}

std::vector<RuleChange> read_rules(const std::string& file) {
  return rules_from_toml(profile_format::read_text(file), file);
}

}  // namespace peakline::bench
