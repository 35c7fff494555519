#pragma once

// The text that a comparison of many machines has beyond that of one.

#include <cstddef>
#include <string>

#include "harness/judge/comparison.hpp"

namespace peakline {

inline bool is_fleet(const CompareResult& result) { return !result.machines.empty(); }

// "gpu0: HBM read 4.1 % slower, and 5 more" of one machine; needs a reason that is slower or
// unsteady.
std::string machine_point(const CompareResult& result);

// "3 of 100 cards: node7 gpu0 (HBM read 4.1 % slower, and 5 more), ..."; needs a reason that does
// not pass.
std::string fleet_point(const CompareResult& result);

// "100 cards on 25 machines (2 on one side alone, not compared)".
std::string fleet_size(const CompareResult& result);

// The cards that deviate, a row each, with what changed on them alone.
std::string deviating_cards(const CompareResult& result, std::size_t width);

// Cards that moved or were replaced, what changed on most machines, and how far the fleet moved as
// a whole.
std::string fleet_notes(const CompareResult& result, std::size_t width);

}  // namespace peakline
