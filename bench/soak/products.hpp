#pragma once

// A matrix product whose every word is compared, on the device, with the first result.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/gemm/product.hpp"
#include "bench/gemm/search.hpp"
#include "bench/soak/differences.hpp"

namespace peakline::bench {

class VerifiedProduct {
 public:
  // Checks each element of the first result by a plain kernel. Uses the format's fastest product:
  // cuBLASLt reproduces its bits, since it adds the parts of a split K in order. spoil: test only,
  // gets the first result before the check.
  VerifiedProduct(CudaBench& bench, const GemmFormat& format,
                  const std::function<void(const Numbers& y)>& spoil = {});

  const Candidate& candidate() const { return candidate_; }
  const Product& product() const { return product_; }
  const Differences& differences() const { return differences_; }
  Work work() const { return product_.work(); }
  // Computes, compares, and clears the result, so that elements left out by the next product show.
  // between: test only, enqueued before the comparison.
  CudaBench::Launch launch(const std::function<void(cudaStream_t)>& between = {}) const;
  // Call after the measurement; after a difference, runs the word's tile on each SM.
  void report(CudaBench& bench) const;

 private:
  const Numbers& y() const { return product_.operands().y(); }
  std::int64_t element_of(std::uint64_t word) const;
  std::string place_of(std::int64_t element) const;
  // Runs the lines around the element on each SM and names the SMs that differ.
  std::string suspects(CudaBench& bench, std::int64_t element) const;

  const GemmFormat& format_;
  Candidate candidate_;
  Product product_;
  cuda::DeviceBuffer<std::byte> first_;
  Differences against_reference_, differences_;
  // Shared with the launches, which count what they enqueue.
  std::shared_ptr<std::int64_t> launches_ = std::make_shared<std::int64_t>(0);
};

}  // namespace peakline::bench
