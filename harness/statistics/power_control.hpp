#pragma once

// Detects, from its rates, whether and when a device's power control responds to a load. An H200's
// responds within 100 ms, then oscillates.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace peakline {

// Seconds per launch in each part of a train, in time order.
using TrainParts = std::vector<double>;

// The number of leading parts that form a burst: those before the first part that is more than 10 %
// slower than the fastest so far, by medians over the trains. On an H200 power control costs 12 %,
// anything else less than 10 %. trains: at least one, each of at least one part.
std::size_t parts_of_burst(std::span<const TrainParts> trains);

// Whether the trains had enough rest between them: in the median, the later half started at most 10
// % slower than the fastest start.
bool rested(std::span<const TrainParts> trains);

// The part of a load that counts, in seconds since its start.
struct LoadPart {
  double from_s = 0;
  double counted_s = 0;

  double end_s() const { return from_s + counted_s; }
};

// Whether the means of oscillations (swings.hpp) are steady and within half the tolerance.
bool load_has_settled(const std::vector<double>& means, double tolerance);

// Extends a load until a part of it has settled, which then counts. Each part is twice as long as
// the one before; a steady one (swings.hpp) ends after a second.
class LoadLength {
 public:
  // tolerance: as for load_has_settled(); nullopt: the whole first part counts, settled or not.
  // spare_s: the most that the load may last beyond the first part.
  LoadLength(LoadPart first, std::optional<double> tolerance, double spare_s)
      : part_(first), tolerance_(tolerance), spare_s_(spare_s) {}

  // Whether the load must continue, by the ascending ends of intervals and their times per launch.
  bool goes_on(std::span<const double> ends_s, std::span<const double> launch_s);
  // The part that counts, once the load has ended.
  const LoadPart& part() const { return part_; }

 private:
  LoadPart part_;
  std::optional<double> tolerance_;
  double spare_s_;
};

struct LoadCourse {
  double settled_s = 0;  // from then on it ran as in its last half
  double swing = 0;      // 90 % of that half's rates lie within this share of its mean
};
// The course from the rates of intervals with these ascending ends. A rate agrees with the last
// half if it is at most 2 % outside the middle 90 % of its rates; the load has settled once three
// in a row and 90 % of the remaining time agree. nullopt: fewer than ten rates, or a NaN.
std::optional<LoadCourse> load_course(std::span<const double> ends_s,
                                      std::span<const double> rates);

}  // namespace peakline
