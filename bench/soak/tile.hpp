#pragma once

// One tile of a matrix product on each SM, by an instruction of our own: says which SM computes
// something else than the others.

#include <cstdint>
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
  unsigned words, step_bytes;   // of the result; along k
  Enqueue enqueue;
};

// nullptr where the device has no such instruction.
const TileFormat* find_tile_format(std::string_view name, const DeviceFacts& device);
// The same; for FP8 without an instruction of a warp FP16, which holds its values.
const TileFormat* find_holding_tile_format(std::string_view name, const DeviceFacts& device);

class TileOnEachSm {
 public:
  // x and w: kernels::kCheckedRows and kCheckedColumns lines of k elements of the format's type,
  // which must outlive this. k is a whole number of steps. The result of most SMs is the right one.
  TileOnEachSm(CudaBench& bench, const TileFormat& format, const Numbers& x, const Numbers& w,
               std::int64_t k);

  // One launch computes the tile so often in each warp of each SM, and compares each time.
  CudaBench::Launch launch(unsigned trips) const;
  double flops(unsigned trips) const;
  double compared_words(unsigned trips) const;
  const Differences& differences() const { return differences_; }
  // Test only: what the results are compared with.
  const cuda::DeviceBuffer<std::uint32_t>& expected() const { return expected_; }

  // The SMs that gave another result than most, ever since; of those that were logged.
  std::vector<std::uint32_t> odd_sms() const;

 private:
  void find_expected(CudaBench& bench);

  const TileFormat& format_;
  const Numbers& x_;
  const Numbers& w_;
  std::int64_t k_;
  unsigned blocks_;
  std::size_t shared_bytes_;
  Differences differences_;
  cuda::DeviceBuffer<std::uint32_t> expected_, results_, sm_of_block_;
  std::vector<std::uint32_t> odd_at_first_;
};

}  // namespace peakline::bench
