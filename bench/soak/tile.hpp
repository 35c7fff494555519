#pragma once

// One tile of a matrix product on each SM, by an instruction of our own: says which SM computes
// something else than the others.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/gemm/operands.hpp"
#include "bench/soak/differences.hpp"

namespace peakline::bench {

// How a tile is computed in a format of products ("bf16"); `operands` is the type of its elements.
struct TileFormat {
  using Enqueue = void (*)(const std::byte* x, const std::byte* w, unsigned steps, unsigned trips,
                           const std::uint32_t* expected, std::uint32_t* results,
                           std::uint32_t* sm_of_block, kernels::DifferenceLog* log, unsigned blocks,
                           std::size_t shared_bytes, cudaStream_t stream);
  std::string_view name;
  cudaDataType_t operands;
  bool (*exists)(int version);  // on devices of that compute capability, times ten
  int (*version_of_code)();     // the one that the code in this process is for
  unsigned words, step_bytes;   // of the result; along k
  Enqueue enqueue;
};

// nullptr where the device, or what this build has for it, has no such instruction.
const TileFormat* find_tile_format(std::string_view name, const DeviceFacts& device);
// Like find_tile_format(). FP8 without an instruction of a warp is computed in FP16, which holds
// its values.
const TileFormat* find_holding_tile_format(std::string_view name, const DeviceFacts& device);

class TileOnEachSm {
 public:
  // x and w: kernels::kCheckedRows and kCheckedColumns lines of k elements of the format's type,
  // which must outlive this. k is a whole number of steps. The result of most SMs is the right one.
  // break_first: test only, a block whose first result is then broken.
  TileOnEachSm(CudaBench& bench, const TileFormat& format, const Numbers& x, const Numbers& w,
               std::int64_t k, std::optional<unsigned> break_first = {});

  // One launch computes the tile so often in each warp of each SM, and compares each time.
  CudaBench::Launch launch(unsigned trips) const;
  double flops(unsigned trips) const;
  // Counts all launches so far.
  double compared_words() const { return compared_words_; }
  const Differences& differences() const { return differences_; }
  // Differences so far, those of the first result included.
  kernels::DifferenceLog read() const;
  // Test only: what the results are compared with.
  const cuda::DeviceBuffer<std::uint32_t>& expected() const { return expected_; }

  // The SMs that gave another result than most, of the differences that were logged.
  std::vector<std::uint32_t> odd_sms() const;

 private:
  void find_expected(CudaBench& bench, std::optional<unsigned> break_first);
  double words_of(unsigned trips) const;

  const TileFormat& format_;
  const Numbers& x_;
  const Numbers& w_;
  std::int64_t k_;
  unsigned blocks_;
  std::size_t shared_bytes_;
  Differences differences_;
  cuda::DeviceBuffer<std::uint32_t> expected_, results_, sm_of_block_;
  std::vector<kernels::Difference> at_first_;
  mutable double compared_words_ = 0;  // by the launches that were enqueued
};

}  // namespace peakline::bench
