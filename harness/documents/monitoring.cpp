// A check for monitoring: JUnit and Prometheus.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "harness/documents/documents.hpp"
#include "harness/show/check.hpp"
#include "harness/values/clock.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

std::string xml(std::string_view text) {
  static constexpr std::array kEntities = {std::pair{'&', "&amp;"}, std::pair{'<', "&lt;"},
                                           std::pair{'>', "&gt;"}, std::pair{'"', "&quot;"}};
  std::string escaped;
  for (const char c : printable(text)) {
    const auto entity = std::ranges::find(kEntities, c, &std::pair<char, const char*>::first);
    if (entity == kEntities.end())
      escaped += c;
    else
      escaped += entity->second;
  }
  return escaped;
}

std::string label(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c;
  }
  return escaped;
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

std::string check_junit(const Checks& checks) {
  std::string suites;
  // Without a test case, a check that could not be made would look like one that passes.
  if (checks.devices().empty())
    suites = fmt::format(
        "  <testsuite name=\"peakline check\" tests=\"1\" failures=\"1\" skipped=\"0\">\n"
        "    <testcase classname=\"peakline\" name=\"check\">\n"
        "      <failure type=\"{}\" message=\"{}\"/>\n    </testcase>\n  </testsuite>\n",
        to_string(checks.verdict()), xml(check_sentence(checks)));
  for (const CheckedFile& file : checks.files) {
    for (const CheckedDevice& device : file.result.devices) {
      std::string cases;
      std::size_t failures = 0, skipped = 0;
      for (const Judged& rule : device.rules) {
        cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(device.name),
                             xml(to_string(rule.name)));
        if (rule.outcome >= Outcome::kCannotJudge) {
          ++failures;
          cases += fmt::format(">\n      <failure type=\"{}\" message=\"{}\"/>\n    </testcase>\n",
                               to_string(rule.outcome), xml(describe(rule)));
        } else if (rule.outcome == Outcome::kExcused) {
          ++skipped;
          cases += fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
                               xml(describe(rule)));
        } else {
          cases += fmt::format(">\n      <system-out>{}</system-out>\n    </testcase>\n",
                               xml(describe(rule)));
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

namespace {

constexpr std::string_view kRunTimestamp = "peakline_check_run_timestamp_seconds";

std::string results_of(const Checks& checks) {
  Metrics metrics;
  const auto each = [&](auto visit) {
    for (const CheckedFile& file : checks.files)
      for (const CheckedDevice& device : file.result.devices)
        visit(file.result, device,
              fmt::format("gpu=\"{}\",uuid=\"{}\",model=\"{}\"", device.name, label(device.uuid),
                          label(device.model)));
  };
  metrics.begin(kRunTimestamp, "When the checked run was made.");
  each([&](const CheckResult& result, const CheckedDevice&, const std::string& gpu) {
    metrics.add(gpu, static_cast<double>(utc_seconds(result.created).value_or(0)));
  });
  metrics.begin("peakline_check_rules", "Rules of the GPU by their outcome.");
  each([&](const CheckResult&, const CheckedDevice& device, const std::string& gpu) {
    for (int i = 0; !to_string(static_cast<Outcome>(i)).empty(); ++i) {
      const auto outcome = static_cast<Outcome>(i);
      metrics.add(fmt::format("{},outcome=\"{}\"", gpu, to_string(outcome)),
                  static_cast<double>(std::ranges::count(device.rules, outcome, &Judged::outcome)));
    }
  });
  const auto figures = [&](std::string_view name, std::string_view help, auto value) {
    metrics.begin(name, help);
    each([&](const CheckResult&, const CheckedDevice& device, const std::string& gpu) {
      for (const Judged& rule : device.rules)
        if (rule.found && rule.limit)
          metrics.add(fmt::format("{},rule=\"{}\",unit=\"{}\"", gpu, label(rule.name.within()),
                                  label(rule.unit)),
                      value(rule));
    });
  };
  figures("peakline_check_figure", "Measured figure of the rule, in its unit.",
          [](const Judged& rule) { return *rule.value; });
  figures("peakline_check_limit", "The figure that a healthy GPU reaches, in the rule's unit.",
          [](const Judged& rule) { return *rule.limit; });
  figures("peakline_check_population_cards", "GPUs that the limit rests on.",
          [](const Judged& rule) { return static_cast<double>(rule.found->by.cards); });
  return metrics.text();
}

// The results in an earlier report.
std::string_view results_in(std::string_view report) {
  const std::size_t begin = report.find(fmt::format("# HELP {}", kRunTimestamp));
  return begin == report.npos ? std::string_view() : report.substr(begin);
}

}  // namespace

std::string check_prometheus(const Checks& checks, std::int64_t now, std::string_view earlier) {
  Metrics attempt;
  attempt.begin("peakline_check_attempt_timestamp_seconds",
                "When the last check ended, by its verdict.");
  attempt.add(fmt::format("outcome=\"{}\"", to_string(checks.verdict())), static_cast<double>(now));
  const std::string_view kept = checks.devices().empty() ? results_in(earlier) : std::string_view();
  return attempt.text() + (kept.empty() ? results_of(checks) : std::string(kept));
}

}  // namespace peakline
