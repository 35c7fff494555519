#pragma once

// A worker process owns one device. It writes a line of facts (to_json_line(DeviceFacts); uuid
// "host" for the host), then answers each point name ("id/name:value") on its input with a line
// (to_json_line(Measurement)), in order, until the input ends. Nothing else goes to `out_fd`;
// libraries' output goes to stderr.

#include <string>

#include "harness/benchmark/bench.hpp"

namespace peakline::bench {

// A worker's exit code if its device failed permanently (a sticky CUDA error), after answering that
// point. Distinct from the command line's codes, sanitizers' (1, 23, 66, 77) and shells' (126 and
// up).
inline constexpr int kWorkerDeviceLost = 113;

// The options as one line of JSON, with which `peakline worker DEVICE OPTIONS` starts.
std::string worker_options(const RunOptions& options);
// Throws UsageError.
RunOptions worker_options_from(const std::string& json);

// device: kHostDevice or a GPU's UUID, which alone CUDA_VISIBLE_DEVICES must name, as creating the
// context reads it. Returns 0 or kWorkerDeviceLost. For an unusable device, writes one facts line
// with `unusable` and returns kWorkerDeviceLost.
int run_worker(const std::string& device, const RunOptions& options, Catalog catalog, int in_fd,
               int out_fd);

}  // namespace peakline::bench
