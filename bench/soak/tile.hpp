#pragma once

// One tile of a matrix product on each SM: finds SMs whose result differs from the others'.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/gemm/operands.hpp"
#include "bench/soak/differences.hpp"

namespace peakline::bench {

// How a format of products ("bf16") computes a tile; `operands` is the type of its elements.
struct TileFormat {
  using Enqueue = void (*)(const std::byte* x, const std::byte* w, unsigned steps, unsigned trips,
                           const std::uint32_t* expected, std::uint32_t* results,
                           std::uint32_t* sm_of_block, kernels::DifferenceLog* log, unsigned blocks,
                           std::size_t shared_bytes, cudaStream_t stream);
  std::string_view name;
  cudaDataType_t operands;
  bool (*exists)(int version);  // on devices of this compute capability, times ten
  int (*version_of_code)();     // that the code in this process is compiled for
  unsigned words, step_bytes;   // of the result; of a step along k
  Enqueue enqueue;
};

// nullptr if the device, or this build's code for it, has no such instruction.
const TileFormat* find_tile_format(std::string_view name, const DeviceFacts& device);
// Like find_tile_format(), but FP8 falls back to FP16, which holds its values.
const TileFormat* find_holding_tile_format(std::string_view name, const DeviceFacts& device);

class TileOnEachSm {
 public:
  // x, w: kernels::kCheckedRows and kCheckedColumns lines of k elements, in whole steps, of the
  // format's type; they must outlive this. break_first: test only, block with a broken first
  // result.
  TileOnEachSm(CudaBench& bench, const TileFormat& format, const Numbers& x, const Numbers& w,
               std::int64_t k, std::optional<unsigned> break_first = {});

  // Each warp of each SM computes and compares the tile `trips` times.
  CudaBench::Launch launch(unsigned trips) const;
  double flops(unsigned trips) const;
  double compared_words() const { return compared_words_; }
  const Differences& differences() const { return differences_; }
  // Includes differences of the first result.
  kernels::DifferenceLog read() const;
  // Test only.
  const cuda::DeviceBuffer<std::uint32_t>& expected() const { return expected_; }

  // SMs whose logged results differ from the majority's.
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
  mutable double compared_words_ = 0;  // by enqueued launches
};

}  // namespace peakline::bench
