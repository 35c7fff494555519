#pragma once

// Data sent to the host and back, or from another GPU, and compared with what was sent.

#include <functional>
#include <optional>
#include <string>

#include "bench/soak/differences.hpp"

namespace peakline::bench {

class RoundTrip {
 public:
  explicit RoundTrip(CudaBench& bench);

  // Copies there and back from alternating halves of the source, so that lost data show; waits.
  // between: test only, gets the host's words.
  void once(CudaBench& bench, const std::function<void(std::uint32_t*)>& between = {});
  Work work() const;
  void report(CudaBench& bench) const;
  const Differences& differences() const { return differences_; }

 private:
  cuda::PinnedBuffer<std::uint32_t> host_;
  cuda::DeviceBuffer<std::uint32_t> source_, target_;
  Differences differences_;
  std::uint64_t seed_, trips_ = 0;
  std::string lost_;  // direction of the first loss; empty if none
};

}  // namespace peakline::bench
