#include "harness/statistics/swings.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "harness/statistics/statistics.hpp"

namespace peakline {
namespace {

constexpr double kSteadyWithin = 0.01;
// Two stretches of noise, half of the values long, seldom correlate more.
constexpr double kResembles = 0.3;

// Mean product of deviations `lag` values apart.
double covariance(std::span<const double> deviations, std::size_t lag) {
  return std::inner_product(deviations.begin() + static_cast<std::ptrdiff_t>(lag), deviations.end(),
                            deviations.begin(), 0.0) /
         static_cast<double>(deviations.size() - lag);
}

}  // namespace

std::optional<std::size_t> swing_period(std::span<const double> values) {
  if (steady(values)) return std::nullopt;
  std::vector<double> deviations(values.begin(), values.end());
  const double center = mean(values);
  for (double& d : deviations) d -= center;
  const std::size_t most = values.size() / 2;
  std::size_t lag = 1;
  while (lag <= most && covariance(deviations, lag) > 0) ++lag;
  std::optional<std::size_t> period;
  double highest = kResembles * covariance(deviations, 0);
  for (; lag <= most; ++lag) {
    const double here = covariance(deviations, lag);
    if (here <= highest) continue;
    highest = here;
    period = lag;
  }
  return period;
}

SwingMeans swing_means(std::span<const double> values, std::size_t count) {
  if (values.size() < 3 || count < 2)
    throw std::invalid_argument("too few values for the means of swings");
  SwingMeans result{.means = {}, .length = swing_period(values).value_or(values.size() / 3)};
  const std::size_t last = values.size() - result.length;
  for (std::size_t i = 0; i < count; ++i)
    result.means.push_back(mean(values.subspan(i * last / (count - 1), result.length)));
  return result;
}

SwingMeans load_means(std::span<const double> values) {
  // Seven means of a third of a 3 s load overlap by two thirds, and suffice for an interval.
  constexpr std::size_t kMeans = 7;
  if (values.size() < kMeans) return {.means = {values.begin(), values.end()}, .length = 1};
  return swing_means(values, kMeans);
}

double shift_of_swings(const std::vector<double>& means) {
  const auto [least, most] = std::ranges::minmax(means);
  return (most - least) / least;
}

bool steady(std::span<const double> values) {
  if (values.empty()) return true;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::size_t left_out = sorted.size() / 20;  // at either end
  return sorted[sorted.size() - 1 - left_out] <= (1 + kSteadyWithin) * sorted[left_out];
}

}  // namespace peakline
