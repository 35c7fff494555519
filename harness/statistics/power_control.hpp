#pragma once

// Finds whether and when a device's power control has answered a load. An H200's does so within 100
// ms and then swings; the rates of another device show its own.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace peakline {

// The seconds per launch in each part of a train, in time order.
using TrainParts = std::vector<double>;

// How many parts of these trains are a burst: those before the first that is slower than the
// fastest before it by more than a tenth, in the median over the trains. On an H200 parts differ by
// less, and the power control takes an eighth. trains: at least one, each with a part or more.
std::size_t parts_of_burst(std::span<const TrainParts> trains);

// Whether the rests between these trains sufficed: the later half of them began, in the median, at
// most a tenth slower than the fastest beginning.
bool rested(std::span<const TrainParts> trains);

// The part of a load that counts, in seconds since the load began.
struct LoadPart {
  double from_s = 0;
  double counted_s = 0;

  double end_s() const { return from_s + counted_s; }
};

// Whether the means of a load's swings (swings.hpp) neither vary nor differ by more than half of
// the tolerance.
bool load_has_settled(const std::vector<double>& means, double tolerance);

// How long a load lasts: until a part of it has settled, which then counts. A part that has not is
// followed by one of twice its length; one that is steady (swings.hpp) ends after a second.
class LoadLength {
 public:
  // tolerance: as of load_has_settled(); nullopt: the first part counts in any case,
  // and all of it. spare_s: so
  // many seconds beyond the first part are worth waiting for.
  LoadLength(LoadPart first, std::optional<double> tolerance, double spare_s)
      : part_(first), tolerance_(tolerance), spare_s_(spare_s) {}

  // Whether the load has to go on, after intervals that ended at these times, ascending, with these
  // times of one launch.
  bool goes_on(std::span<const double> ends_s, std::span<const double> launch_s);
  // The part that counts, once the load has ended.
  const LoadPart& part() const { return part_; }

 private:
  LoadPart part_;
  std::optional<double> tolerance_;
  double spare_s_;
};

// The course of a whole load, by its rates.
struct LoadCourse {
  double settled_s = 0;  // from then on it ran as in its last half
  double swing = 0;      // of the mean of that half: nine of ten rates lie within so much
};
// The rates of intervals that ended at these times, ascending, as many. A rate is as in the last
// half where it is no more than 2 % beyond nine of ten rates there; three in a row have to be so,
// and nine tenths of the time from then on. nullopt: fewer than ten, or one of them is not a
// number.
std::optional<LoadCourse> load_course(std::span<const double> ends_s,
                                      std::span<const double> rates);

}  // namespace peakline
