#include "harness/cli/measure_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "harness/cli/help.hpp"
#include "harness/run/plan.hpp"
#include "harness/statistics/sampling.hpp"

namespace peakline::bench {
namespace {

constexpr double kFullNoisePercent = 0.5;
constexpr double kQuickNoisePercent = 2;
// Half as many change HBM's and NVLink's rates by at most 0.3 %.
constexpr std::size_t kQuickMinSamples = kMinSamples / 2;
constexpr double kMaxNoisePercent = 50;
// A shorter soak does not exceed a sustained load and heats little; readings every 20 ms stay in
// memory to the end.
constexpr double kMinSoakS = 10, kMaxSoakS = 7200;

template <class Number>
std::optional<Number> parse(const std::string& text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::string expected(const std::string& what, const std::string& found) {
  return fmt::format("expected {}, found {}", what, shown(found));
}

}  // namespace

void add_repeatable(CLI::App& app, const std::string& name, const std::string& type,
                    std::vector<std::string>& values, const std::string& what) {
  app.add_option(name, values, what)
      ->type_name(type)
      ->expected(1)
      ->check(not_empty(type))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

OptionCheck not_empty(std::string what) {
  return [=](const std::string& text) {
    return text.empty() ? fmt::format("expected {}, found nothing", what) : "";
  };
}

OptionCheck number_in(double low, double high) {
  return [=](const std::string& text) {
    const auto value = parse<double>(text);
    return value && *value >= low && *value <= high
               ? ""
               : expected(fmt::format("a number from {} to {}", low, high), text);
  };
}

OptionCheck number_above_0(double high) {
  return [=](const std::string& text) {
    const auto value = parse<double>(text);
    if (value && *value > 0 && *value <= high && std::isfinite(*value)) return std::string();
    return expected(std::isfinite(high) ? fmt::format("a number above 0, at most {}", high)
                                        : "a number above 0",
                    text);
  };
}

OptionCheck whole_number_in(std::uint64_t low, std::uint64_t high) {
  return [=](const std::string& text) {
    const auto value = parse<std::uint64_t>(text);
    return value && *value >= low && *value <= high
               ? ""
               : expected(fmt::format("a whole number from {} to {}", low, high), text);
  };
}

void MeasureOptions::add_to(CLI::App& app) {
  begin_options(app, "How it is measured");
  app.add_option("--max-noise", max_noise_percent,
                 fmt::format("Stop sampling once the 95 % interval of the median is within +- this "
                             "percentage (default: {}, with --quick {})",
                             kFullNoisePercent, kQuickNoisePercent))
      ->type_name("PCT")
      ->check(number_above_0(kMaxNoisePercent));
  // Fewer would not fill the full rule's blocks; more are never taken.
  app.add_option("--min-samples", min_samples,
                 fmt::format("Minimum samples per ceiling; fewer where one takes over 0.5 ms "
                             "(default: {}, with --quick {})",
                             kMinSamples, kQuickMinSamples))
      ->type_name("N")
      ->check(whole_number_in(SamplingRule{}.blocks, SamplingRule{}.max_samples));
  app.add_option("--seed", options.seed, "Random seed for the data")
      ->type_name("N")
      ->check(whole_number_in(0, std::numeric_limits<std::uint64_t>::max()))
      ->capture_default_str();
  auto* soak = app.add_option("--soak", options.soak_s,
                              "Finish with an unbroken load on the matrix units for this many "
                              "seconds, to thermal equilibrium and beyond")
                   ->type_name("S")
                   ->check(number_in(kMinSoakS, kMaxSoakS));
  auto* verified = app.add_flag("--verify", options.verified_soak,
                                "After --soak, load the device for as long again and compare every "
                                "word of every result; a wrong word makes the exit code 1")
                       ->needs(soak);
  app.add_flag("--energy", options.energy,
               "Add a minute of loads that show the energy of a byte and an operation, by the "
               "board's own counter");
  app.add_flag_callback(
         "--no-verify", [this] { options.verify = false; },
         "Do not check results against a reference")
      ->excludes(verified);
  app.add_flag("--profile", options.profile,
               "For ncu, nsys and compute-sanitizer: measure one launch per point, without holding "
               "the stream")
      ->excludes(soak);  // one launch heats nothing
}

RunOptions MeasureOptions::run_options() const {
  RunOptions chosen = options;
  const bool quick = options.quick;
  chosen.max_noise =
      max_noise_percent.value_or(quick ? kQuickNoisePercent : kFullNoisePercent) / 100;
  chosen.min_samples = min_samples.value_or(quick ? kQuickMinSamples : kMinSamples);
  return chosen;
}

}  // namespace peakline::bench
