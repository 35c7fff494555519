#include "harness/show/check.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <string_view>

#include "harness/show/json_document.hpp"
#include "harness/show/verdict_line.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

std::string outcome_word(Outcome outcome) {
  static constexpr auto kPlain = [](Outcome o) { return spaced(to_string(o)); };
  switch (outcome) {
    case Outcome::kFail:
      return styled(Style::kRed, kPlain(outcome));
    case Outcome::kWarn:
    case Outcome::kCannotJudge:
      return styled(Style::kYellow, kPlain(outcome));
    default:
      return kPlain(outcome);
  }
}

// "tensor.bf16/burst 9.1 % low, limit 4.5 %"; of other rules their text.
std::string brief(const CheckedDevice& device, const JudgedRule& rule) {
  if (rule.outcome != Outcome::kFail || !rule.value || !rule.limit || rule.figure == nullptr)
    return rule.text;
  const auto below = [&](double value) { return (1 - value / rule.figure->lowest_state) * 100; };
  return fmt::format("{} {:.1f} % low, limit {:.1f} %", rule.name.substr(device.name.size() + 1),
                     below(*rule.value), below(*rule.limit));
}

struct Worst {
  const JudgedRule* rule = nullptr;
  const CheckedDevice* device = nullptr;
};
Worst worst_of(const Checks& checks) {
  Worst worst;
  const Outcome verdict = checks.verdict();
  for (const CheckedFile& file : checks.files) {
    Worst found;
    found.rule = file.result.worst(&found.device);
    if (file.result.verdict() != verdict) continue;
    if (worst.rule == nullptr ||
        (found.rule != nullptr && found.rule->outcome > worst.rule->outcome))
      worst = found;
  }
  return worst;
}

std::string percent_below(const JudgedRule& rule, double value) {
  const double share = value / rule.figure->lowest_state - 1;
  return fmt::format("{:+.1f} %", share * 100);
}

// "16 cards ± 0.98 %"
std::string population_text(const JudgedRule& rule) {
  return fmt::format("{} ± {:.2f} %", rule.figure->cards, scatter_of(*rule.figure) * 100);
}

std::string value_text(const JudgedRule& rule, double value) {
  return rule.unit == "1" ? fmt::format("{:.3f}", value) : format_value(value, rule.unit);
}

std::string all_rules(const CheckedDevice& device, std::size_t width) {
  TextTable table({left(2), left(2), right(2, 1), right(2), right(2), right(2, 2), right(2, 3)});
  table.row({"rule", "", "value", "of median", "limit", "median", "cards"});
  std::string others;
  for (const JudgedRule& rule : device.rules) {
    if (rule.figure == nullptr) {
      others += hanging(fmt::format("  {}  {}  ", outcome_word(rule.outcome), rule.name), rule.text,
                        width);
      continue;
    }
    table.row({rule.name, outcome_word(rule.outcome), value_text(rule, *rule.value),
               percent_below(rule, *rule.value), percent_below(rule, *rule.limit),
               value_text(rule, rule.figure->lowest_state), population_text(rule)});
    if (!rule.reason.empty()) table.heading("      by the rules: " + rule.reason);
  }
  return table.render(width) + others;
}

// Which runs a population is of.
std::string runs_text(const Population& population) {
  std::string text = fmt::format("{} in {} {} runs, driver {}",
                                 format_count(static_cast<std::int64_t>(population.cards), "card"),
                                 population.runs, population.mode,
                                 population.drivers.empty()
                                     ? "not known"
                                     : fmt::format("{}", fmt::join(population.drivers, ", ")));
  if (!population.last.empty())
    text +=
        fmt::format(", {} to {}", population.first.substr(0, 10), population.last.substr(0, 10));
  return text;
}

json document_of(const JudgedRule& rule) {
  json object = {{"code", rule.code},
                 {"name", rule.name},
                 {"outcome", to_string(rule.outcome)},
                 {"text", rule.text}};
  if (!rule.reason.empty()) object["reason"] = rule.reason;
  if (rule.figure == nullptr) return object;
  object.update({{"value", optional(rule.value)},
                 {"first_value", optional(rule.first_value)},
                 {"limit", optional(rule.limit)},
                 {"unit", rule.unit},
                 {"median", rule.figure->median},
                 {"lowest_state", rule.figure->lowest_state},
                 {"cards", rule.figure->cards},
                 {"runs", rule.figure->runs},
                 {"between_cards", rule.figure->between_cards},
                 {"between_runs", rule.figure->between_runs},
                 {"limit_deviations", optional(rule.deviations)}});
  return object;
}

json document_of(const Population* population) {
  if (population == nullptr) return nullptr;
  return {{"cards", population->cards},
          {"runs", population->runs},
          {"drivers", population->drivers},
          {"revisions", population->revisions},
          {"first", text_or_null(population->first)},
          {"last", text_or_null(population->last)}};
}

std::string xml(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// The value of a label of Prometheus.
std::string label(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// Seconds since 1970; 0 where it is no time.
std::int64_t timestamp(const std::string& created) {
  std::tm time{};
  if (strptime(created.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time) == nullptr) return 0;
  return timegm(&time);
}

class Metrics {
 public:
  void begin(std::string_view name, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
  }
  void add(const std::string& labels, double value) {
    text_ += fmt::format("{}{{{}}} {}\n", name_, labels, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string name_, text_;
};

}  // namespace

Outcome Checks::verdict() const {
  Outcome worst = why_none.empty() ? Outcome::kPass : Outcome::kCannotJudge;
  for (const CheckedFile& file : files) worst = std::max(worst, file.result.verdict());
  return worst;
}

bool Checks::warned() const {
  return std::ranges::any_of(files, [](const CheckedFile& f) { return f.result.warned(); });
}

std::string check_line(const Checks& checks) {
  const Outcome verdict = checks.verdict();
  std::size_t rules = 0, gpus = 0, warnings = 0, cards = 0;
  for (const CheckedFile& file : checks.files) {
    for (const CheckedDevice& device : file.result.devices) {
      ++gpus;
      rules += device.rules.size();
      if (device.population != nullptr) cards = std::max(cards, device.population->cards);
      warnings += static_cast<std::size_t>(
          std::ranges::count(device.rules, Outcome::kWarn, &JudgedRule::outcome));
    }
  }
  const Worst worst = worst_of(checks);
  std::string text;
  if (!checks.why_none.empty()) {
    text = checks.why_none;
  } else if (gpus == 0) {
    text = "no GPU in the profile";
  } else if (verdict == Outcome::kPass) {
    text = fmt::format(
        "{}, {}: {} against {}",
        gpus == 1 ? worst.device->name : format_count(static_cast<std::int64_t>(gpus), "GPU"),
        worst.device->model, format_count(static_cast<std::int64_t>(rules), "rule"),
        format_count(static_cast<std::int64_t>(cards), "card"));
    if (warnings > 0) text += ", " + format_count(static_cast<std::int64_t>(warnings), "warning");
  } else {
    text = fmt::format("{}, {}: {}", worst.device->name, worst.device->model,
                       brief(*worst.device, *worst.rule));
  }
  return verdict_line(verdict, text);
}

std::string check_advice(const Checks& checks) {
  bool any = false, all_known = true;
  for (const CheckedFile& file : checks.files) {
    for (const CheckedDevice& device : file.result.devices) {
      any = true;
      all_known = all_known && device.population != nullptr;
    }
  }
  if (!any) return {};
  switch (checks.verdict()) {
    case Outcome::kFail:
      return "peakline check FILE names all that fails";
    case Outcome::kCannotJudge:
      return all_known ? "peakline check FILE says what is missing"
                       : "peakline check FILE --against OTHERS holds it against profiles of yours";
    default:
      return checks.warned() ? "peakline check FILE tells the warnings" : "";
  }
}

std::string check_text(const Checks& checks, bool all, const ShowOptions& options) {
  std::string text = check_line(checks);
  for (const CheckedFile& file : checks.files) {
    if (checks.files.size() > 1)
      text += fmt::format("\n{}  {}\n", verdict_word(file.result.verdict()), file.file);
    for (const CheckedDevice& device : file.result.devices) {
      if (all) {
        text += '\n' + section(fmt::format("{}, {}", device.name, device.model), "", options.width);
        text += all_rules(device, options.width);
        if (device.population != nullptr)
          text +=
              hanging("  population  ",
                      fmt::format("{}; {}; a limit lies {:.1f} standard deviations, and at least "
                                  "{:.0f} %, below",
                                  runs_text(*device.population), checks.source,
                                  device.population->limit_deviations, kLeastLoss * 100),
                      options.width);
        continue;
      }
      for (const JudgedRule& rule : device.rules)
        if (rule.outcome != Outcome::kPass || !rule.reason.empty())
          text += hanging(fmt::format("  {}  {}  ", outcome_word(rule.outcome), rule.name),
                          rule.text, options.width);
    }
    for (const std::string& name : file.result.unused)
      text += fmt::format("  {}: allowed or in the rules, but there was nothing to excuse\n", name);
  }
  return terminal_text(text, options.color);
}

std::string explained_rule(const Checks& checks, std::string_view name, std::size_t width) {
  for (const CheckedFile& file : checks.files) {
    for (const CheckedDevice& device : file.result.devices) {
      for (const JudgedRule& rule : device.rules) {
        if (rule.name != name && rule.name != fmt::format("{}/{}", device.name, name)) continue;
        std::string text = hanging(rule.name + "  ", rule.text, width);
        if (rule.figure != nullptr && device.population != nullptr) {
          const PopulationFigure& f = *rule.figure;
          text += hanging(
              "  population  ",
              fmt::format("{}, {}; {}", device.model, runs_text(*device.population), checks.source),
              width);
          text += hanging("  scatter     ",
                          fmt::format("{:.2f} % between cards, {:.2f} % between runs of a card",
                                      f.between_cards * 100, f.between_runs * 100),
                          width);
          text += hanging(
              "  limit       ",
              fmt::format("{}: {:.1f} % below {}, {}", value_text(rule, *rule.limit),
                          (1 - *rule.limit / f.lowest_state) * 100,
                          f.lowest_state < f.median ? "the lower of two levels" : "the median",
                          rule.deviations
                              ? fmt::format("{:.1f} standard deviations", *rule.deviations)
                              : "the smallest loss that is reported"),
              width);
          text += hanging("  false alarm ",
                          "one healthy run in 1000 has any figure below its limit, as far as these "
                          "cards can tell",
                          width);
        }
        return terminal_text(text, false);
      }
    }
  }
  return "";
}

std::string check_json(const Checks& checks) {
  const json document = {
      {"schema", "peakline-check"},
      {"schema_version", 1},
      {"verdict", to_string(checks.verdict())},
      {"source", checks.source},
      {"why_none", text_or_null(checks.why_none)},
      {"profiles", array_of(checks.files, [](const CheckedFile& file) -> json {
         return {{"file", text_or_null(file.file)},
                 {"created", file.result.created},
                 {"mode", file.result.mode},
                 {"verdict", to_string(file.result.verdict())},
                 {"devices", array_of(file.result.devices,
                                      [](const CheckedDevice& device) -> json {
                                        return {{"name", device.name},
                                                {"model", device.model},
                                                {"uuid", device.uuid},
                                                {"population", document_of(device.population)},
                                                {"rules",
                                                 array_of(device.rules, [](const JudgedRule& rule) {
                                                   return document_of(rule);
                                                 })}};
                                      })},
                 {"unused", file.result.unused}};
       })}};
  return document_text(document);
}

std::string check_junit(const Checks& checks) {
  std::string suites;
  for (const CheckedFile& file : checks.files) {
    for (const CheckedDevice& device : file.result.devices) {
      std::string cases;
      std::size_t failures = 0, skipped = 0;
      for (const JudgedRule& rule : device.rules) {
        cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(device.name),
                             xml(rule.name));
        if (rule.outcome >= Outcome::kCannotJudge) {
          ++failures;
          cases += fmt::format(">\n      <failure type=\"{}\" message=\"{}\"/>\n    </testcase>\n",
                               to_string(rule.outcome), xml(rule.text));
        } else if (rule.outcome == Outcome::kExcused) {
          ++skipped;
          cases +=
              fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", xml(rule.text));
        } else {
          cases += fmt::format(">\n      <system-out>{}</system-out>\n    </testcase>\n",
                               xml(rule.text));
        }
      }
      suites += fmt::format(
          "  <testsuite name=\"peakline check {} {}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" "
          "timestamp=\"{}\">\n{}  </testsuite>\n",
          xml(device.name), xml(device.model), device.rules.size(), failures, skipped,
          xml(file.result.created), cases);
    }
  }
  return fmt::format("{}{}</testsuites>\n", kJunitBeginning, suites);
}

std::string check_prometheus(const Checks& checks) {
  Metrics metrics;
  const auto each = [&](auto visit) {
    for (const CheckedFile& file : checks.files)
      for (const CheckedDevice& device : file.result.devices)
        visit(file.result, device,
              fmt::format("gpu=\"{}\",uuid=\"{}\",model=\"{}\"", device.name, label(device.uuid),
                          label(device.model)));
  };
  metrics.begin("peakline_check_run_timestamp_seconds", "When the checked run was made.");
  each([&](const CheckResult& result, const CheckedDevice&, const std::string& gpu) {
    metrics.add(gpu, static_cast<double>(timestamp(result.created)));
  });
  metrics.begin("peakline_check_rules", "Rules of the GPU by their outcome.");
  each([&](const CheckResult&, const CheckedDevice& device, const std::string& gpu) {
    for (int i = 0; !to_string(static_cast<Outcome>(i)).empty(); ++i) {
      const auto outcome = static_cast<Outcome>(i);
      metrics.add(
          fmt::format("{},outcome=\"{}\"", gpu, to_string(outcome)),
          static_cast<double>(std::ranges::count(device.rules, outcome, &JudgedRule::outcome)));
    }
  });
  const auto figures = [&](std::string_view name, std::string_view help, auto value) {
    metrics.begin(name, help);
    each([&](const CheckResult&, const CheckedDevice& device, const std::string& gpu) {
      for (const JudgedRule& rule : device.rules)
        if (rule.figure != nullptr)
          metrics.add(
              fmt::format("{},rule=\"{}\",unit=\"{}\"", gpu,
                          label(rule.name.substr(device.name.size() + 1)), label(rule.unit)),
              value(rule));
    });
  };
  figures("peakline_check_figure", "Measured figure of the rule, in its unit.",
          [](const JudgedRule& rule) { return *rule.value; });
  figures("peakline_check_limit", "The figure that a healthy GPU reaches, in the rule's unit.",
          [](const JudgedRule& rule) { return *rule.limit; });
  figures("peakline_check_population_cards", "GPUs that the limit rests on.",
          [](const JudgedRule& rule) { return static_cast<double>(rule.figure->cards); });
  return metrics.text();
}

}  // namespace peakline
