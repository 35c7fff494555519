#pragma once

namespace peakline::bench {

// The executable returns these to its caller. (A worker whose device is lost returns a code of its
// own: worker.hpp.)
inline constexpr int kExitOk = 0;
inline constexpr int kExitFinding = 1;  // a finding that the caller asked to fail on
inline constexpr int kExitUsage = 2;    // bad usage or unreadable input
// The profile is partial, or a folder of them was read in part.
inline constexpr int kExitPartial = 3;

}  // namespace peakline::bench
