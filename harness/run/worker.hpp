#pragma once

// The worker: a process that owns one device and has one mode. It writes one line with the device's
// facts (to_json_line(DeviceFacts); for the host the facts have uuid "host"), then reads point
// names ("id/name:value"), one a line, and answers each with one line (to_json_line(Measurement))
// in the same order. At the end of its input it returns. It writes nothing else to `out_fd`; what
// libraries print goes to stderr.

#include <string>

#include "harness/benchmark/bench.hpp"
#include "harness/core/facts.hpp"

namespace peakline::bench {

// device: kHostDevice or a GPU's UUID; CUDA_VISIBLE_DEVICES must already name that GPU alone, since
// it is read when the CUDA context is made. Returns the exit code: 0, or 3 where the device failed
// for good (a sticky CUDA error); the point during which it did has been answered as an error by
// then. A device that cannot be used at all is answered by one facts line with `unusable` set,
// and 3.
int run_worker(const std::string& device, const RunOptions& options, Catalog catalog, int in_fd,
               int out_fd);

}  // namespace peakline::bench
