#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "harness/benchmark/cuda_data.cuh"
#include "kernels/transpose.cuh"
#include "tests/gpu/support.cuh"

namespace peakline {
namespace {

using cuda::DeviceBuffer;

template <class Element>
void expect_transposed(unsigned batch, unsigned rows, unsigned columns) {
  const std::size_t count = std::size_t{batch} * rows * columns;
  const std::size_t words = count * sizeof(Element) / sizeof(std::uint32_t);
  const std::vector<std::uint32_t> bits = random_words(words, 7);
  const auto in = on_device(bits);
  const DeviceBuffer<std::uint32_t> out(words);
  const dim3 grid(kernels::transpose_tiles<Element>(rows, columns), batch);
  kernels::transpose<Element>
      <<<grid, kernels::kTransposeThreads>>>(reinterpret_cast<const uint4*>(in.data()),
                                             reinterpret_cast<uint4*>(out.data()), rows, columns);
  const std::vector<std::uint32_t> found_bits = out.to_host();
  std::vector<Element> from(count), found(count);
  std::memcpy(from.data(), bits.data(), count * sizeof(Element));
  std::memcpy(found.data(), found_bits.data(), count * sizeof(Element));
  std::size_t wrong = 0;
  for (unsigned b = 0; b < batch; ++b)
    for (unsigned r = 0; r < rows; ++r)
      for (unsigned c = 0; c < columns; ++c) {
        const std::size_t matrix = std::size_t{b} * rows * columns;
        wrong += from[matrix + std::size_t{r} * columns + c] !=
                 found[matrix + std::size_t{c} * rows + r];
      }
  EXPECT_EQ(wrong, 0u) << sizeof(Element) << " bytes, " << batch << " x " << rows << " x "
                       << columns;
}

// Sizes that fill tiles, that do not, and far below one tile.
TEST(Transpose, IsTheHosts) {
  for (const auto& [batch, rows, columns] :
       {std::array<unsigned, 3>{1, 256, 128}, {3, 72, 200}, {2, 8, 1000}, {1, 1000, 8}}) {
    expect_transposed<std::uint16_t>(batch, rows, columns);
    expect_transposed<std::uint32_t>(batch, rows, columns);
  }
}

}  // namespace
}  // namespace peakline
