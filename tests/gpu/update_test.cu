#include <cstdint>
#include <cstring>
#include <vector>

#include "harness/benchmark/cuda_data.cuh"
#include "kernels/update.cuh"
#include "tests/gpu/support.cuh"

namespace peakline {
namespace {

template <class Element, int kUnroll>
void expect_updated(std::size_t count) {
  const std::size_t bytes = count * sizeof(Element);
  const std::vector<std::uint32_t> bits =
      random_words((bytes + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t), 7);
  const auto data = on_device(bits);
  constexpr unsigned kThreads = 64;
  kernels::update_in_place<Element, kUnroll>
      <<<kernels::stream_blocks(count, kThreads, kUnroll), kThreads>>>(
          reinterpret_cast<Element*>(data.data()), count);
  const std::vector<std::uint32_t> found_bits = data.to_host();
  std::vector<Element> before(count), found(count);
  std::memcpy(before.data(), bits.data(), bytes);
  std::memcpy(found.data(), found_bits.data(), bytes);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Element expected = kernels::plus_one<Element>(before[i]);
    wrong += std::memcmp(&expected, &found[i], sizeof(Element)) != 0;
  }
  EXPECT_EQ(wrong, 0u) << sizeof(Element) << " bytes, unroll " << kUnroll << ", " << count;
}

// Sizes that fill tiles, that do not, and far below one tile.
TEST(Update, IsTheHosts) {
  for (const std::size_t count : {std::size_t{4096}, std::size_t{4099}, std::size_t{3}}) {
    expect_updated<std::uint8_t, 8>(count);
    expect_updated<std::uint16_t, 4>(count);
    expect_updated<std::uint32_t, 1>(count);
    expect_updated<uint2, 4>(count);
    expect_updated<uint4, 8>(count);
  }
}

}  // namespace
}  // namespace peakline
