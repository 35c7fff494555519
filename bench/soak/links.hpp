#pragma once

// Data that go to the host and come back, or come from another GPU, and are compared with what was
// sent.

#include <functional>
#include <optional>
#include <string>

#include "bench/soak/differences.hpp"

namespace peakline::bench {

class RoundTrip {
 public:
  explicit RoundTrip(CudaBench& bench);

  // Copies there and back, with two halves of the source in turn, so that data that do not arrive
  // show; waits. between: test only, called with the host's words while the data are there.
  void once(CudaBench& bench, const std::function<void(std::uint32_t*)>& between = {});
  Work work() const;
  void report(CudaBench& bench) const;
  const Differences& differences() const { return differences_; }

 private:
  cuda::PinnedBuffer<std::uint32_t> host_;
  cuda::DeviceBuffer<std::uint32_t> source_, target_;
  Differences differences_;
  std::uint64_t seed_, trips_ = 0;
  std::string lost_;  // on which way; empty while nothing is
};

}  // namespace peakline::bench
