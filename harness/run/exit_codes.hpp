#pragma once

namespace peakline::bench {

// The executable's exit codes; worker.hpp has one for workers.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFinding = 1;  // a finding that the caller asked to fail on
inline constexpr int kExitUsage = 2;    // bad usage or unreadable input
// A partial profile, or a folder of profiles read in part.
inline constexpr int kExitPartial = 3;

}  // namespace peakline::bench
