#include "harness/statistics/power_control.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "harness/statistics/statistics.hpp"
#include "harness/statistics/swings.hpp"

namespace peakline {
namespace {

// Slowdown by which power control is recognized; trains differ by less for other reasons.
constexpr double kAnswer = 0.1;
// Longer than many of the slowest oscillations known.
constexpr double kLongestPartSeconds = 12;
// Long enough to judge a steady load: power control oscillates about once a second on an H200.
constexpr double kSteadySeconds = 1;
// One in this many values may be an outlier at either end, as in steady().
constexpr std::size_t kApart = 20;
// Rates are alike if they differ by at most this.
constexpr double kLike = 0.02;
// This many rates in a row must agree with the later ones.
constexpr std::size_t kInARow = 3;
constexpr std::size_t kFewestRates = 10;
// Share of the time that oscillations may exceed the settled rate.
constexpr double kBeyond = 0.1;

std::vector<double> of_part(std::span<const TrainParts> trains, std::size_t part) {
  std::vector<double> launch_s;
  for (const TrainParts& parts : trains)
    if (part < parts.size()) launch_s.push_back(parts[part]);
  return launch_s;
}

// The number of ascending times below this one.
std::size_t before(std::span<const double> times, double time) {
  return static_cast<std::size_t>(std::ranges::lower_bound(times, time) - times.begin());
}

}  // namespace

std::size_t parts_of_burst(std::span<const TrainParts> trains) {
  double fastest_s = median(of_part(trains, 0));
  std::size_t part = 1;
  for (std::vector<double> launch_s; !(launch_s = of_part(trains, part)).empty(); ++part) {
    const double here_s = median(launch_s);
    if (here_s > (1 + kAnswer) * fastest_s) break;
    fastest_s = std::min(fastest_s, here_s);
  }
  return part;
}

bool rested(std::span<const TrainParts> trains) {
  const std::vector<double> begins = of_part(trains, 0);
  return median(std::span(begins).subspan(begins.size() / 2)) <=
         (1 + kAnswer) * std::ranges::min(begins);
}

bool load_has_settled(const std::vector<double>& means, double tolerance) {
  return !varies(means, tolerance) && shift_of_swings(means) <= tolerance / 2;
}

bool LoadLength::goes_on(std::span<const double> ends_s, std::span<const double> launch_s) {
  if (ends_s.empty()) return true;
  if (ends_s.back() < part_.end_s()) {
    if (!tolerance_ || ends_s.back() < part_.from_s + kSteadySeconds ||
        !steady(launch_s.subspan(before(ends_s, part_.from_s))))
      return true;
    part_.counted_s = ends_s.back() - part_.from_s;
    return false;
  }
  const LoadPart next{.from_s = part_.end_s(), .counted_s = 2 * part_.counted_s};
  if (!tolerance_ || next.counted_s > kLongestPartSeconds || next.counted_s > spare_s_)
    return false;
  const std::size_t first = std::min(before(ends_s, part_.from_s), launch_s.size() - 1);
  if (load_has_settled(load_means(launch_s.subspan(first)).means, *tolerance_)) return false;
  spare_s_ -= next.counted_s;
  part_ = next;
  return true;
}

std::optional<LoadCourse> load_course(std::span<const double> ends_s,
                                      std::span<const double> rates) {
  if (ends_s.size() != rates.size()) throw std::invalid_argument("load_course: sizes differ");
  const auto unknown = [](double rate) { return std::isnan(rate); };
  if (rates.size() < kFewestRates || std::ranges::any_of(rates, unknown)) return std::nullopt;
  const auto half = rates.subspan(std::min(before(ends_s, ends_s.back() / 2), rates.size() - 1));
  std::vector<double> late(half.begin(), half.end());
  std::ranges::sort(late);
  const std::size_t apart = late.size() / kApart;
  const double low = late[apart], high = late[late.size() - 1 - apart];
  const auto like_later = [&](double rate) {
    return rate >= (1 - kLike) * low && rate <= (1 + kLike) * high;
  };
  LoadCourse course{.settled_s = ends_s.back(), .swing = (high - low) / mean(late)};
  double beyond_s = 0;
  std::size_t in_a_row = 0;
  for (std::size_t i = rates.size(); i-- > 0;) {
    const double begin_s = i > 0 ? ends_s[i - 1] : 0;
    const bool like = like_later(rates[i]);
    in_a_row = like ? in_a_row + 1 : 0;
    if (!like) beyond_s += ends_s[i] - begin_s;
    if (in_a_row >= kInARow && beyond_s <= kBeyond * (ends_s.back() - begin_s))
      course.settled_s = ends_s[i];
  }
  return course;
}

}  // namespace peakline
