#pragma once

// The worker: a process that owns one device and has one mode. It writes one line with the device's
// facts (to_json_line(DeviceFacts); for the host the facts have uuid "host"), then reads point
// names ("id/name:value"), one a line, and answers each with one line (to_json_line(Measurement))
// in the same order. At the end of its input it returns. It writes nothing else to `out_fd`; what
// libraries print goes to stderr.

#include <string>

#include "harness/benchmark/bench.hpp"
#include "harness/values/facts.hpp"

namespace peakline::bench {

// A worker returns this if its device failed for good (a sticky CUDA error), after it has answered
// the point during which that happened. No other end has this code: exceptions end in an exit code
// of the command line, sanitizers use 1, 23, 66 and 77, and shells those from 126 up.
inline constexpr int kWorkerDeviceLost = 113;

// device: kHostDevice or a GPU's UUID; CUDA_VISIBLE_DEVICES must already name that GPU alone, since
// it is read when the CUDA context is made. Returns the exit code: 0 or kWorkerDeviceLost. For a
// device that cannot be used at all it writes one facts line with `unusable` set and returns
// kWorkerDeviceLost.
int run_worker(const std::string& device, const RunOptions& options, Catalog catalog, int in_fd,
               int out_fd);

}  // namespace peakline::bench
