#pragma once

// Transposes a batch of matrices: out[b][c][r] = in[b][r][c]. One launch reads and writes each of
// batch x rows x columns elements once, and does no FLOPs. A block takes one square tile through
// shared memory, so that reads and writes are contiguous, 16 bytes each. Rows and columns must be
// multiples of the elements in 16 bytes. Launch transpose_tiles() x batch blocks of
// kTransposeThreads threads.
// Blocks go down the columns of tiles first, so that blocks in flight write whole rows of `out` (5
// % faster for squares on an H200). Streaming loads and stores are up to 2 % slower.

#include <cstdint>

namespace peakline::kernels {

inline constexpr unsigned kTransposeThreads = 512;
// An SM with room for 2048 threads must hold four blocks: with three, an H200 loses a tenth on
// 16-bit elements. Other SMs hold 1024 or 1536 threads.
#if __CUDA_ARCH__ == 800 || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1100)
inline constexpr int kTransposeBlocks = 4;
#else
inline constexpr int kTransposeBlocks = 2;
#endif
// Eight lanes of a warp read 128 bytes of a row, one line; a row of the tile has two lines.
inline constexpr unsigned kVectorsOfLine = 8, kTransposeLines = 2;

template <class Element>
inline constexpr unsigned kElementsOfVector = sizeof(uint4) / sizeof(Element);
template <class Element>
inline constexpr unsigned kTransposeSide =
    kTransposeLines* kVectorsOfLine* kElementsOfVector<Element>;  // elements

template <class Element>
constexpr unsigned transpose_tiles(std::uint64_t rows, std::uint64_t columns) {
  constexpr std::uint64_t kSide = kTransposeSide<Element>;
  return static_cast<unsigned>((rows + kSide - 1) / kSide * ((columns + kSide - 1) / kSide));
}

template <class Element>
__global__ void __launch_bounds__(kTransposeThreads, kTransposeBlocks)
    transpose(const uint4* in, uint4* out, unsigned rows, unsigned columns) {
  constexpr unsigned kLines = kTransposeLines;
  constexpr unsigned kVector = kElementsOfVector<Element>;
  constexpr unsigned kSide = kTransposeSide<Element>;
  constexpr unsigned kWordsOfRow = kSide * sizeof(Element) / 4;
  // Rows of a line that the block takes at a time; it takes the tile in several turns.
  constexpr unsigned kRowsAtATime = kTransposeThreads / kVectorsOfLine;
  constexpr unsigned kTimes = kSide / kRowsAtATime;
  static_assert(kSide % kRowsAtATime == 0);
  __shared__ std::uint32_t tile[kSide * kWordsOfRow];
  // A warp writes four rows of eight vectors and reads four columns of eight: with these words of a
  // row exchanged, neither has bank conflicts.
  const auto word_of = [](unsigned row, unsigned word) {
    return row * kWordsOfRow + (word ^ ((row & 3) | (((row / kVector) & 7) << 2)));
  };
  const unsigned first = threadIdx.x / kVectorsOfLine;
  const unsigned vector_of_line = threadIdx.x % kVectorsOfLine;
  const unsigned tiles_down = (rows + kSide - 1) / kSide;
  const unsigned tile_row = blockIdx.x % tiles_down * kSide;
  const unsigned tile_column = blockIdx.x / tiles_down * kSide;
  const std::uint64_t matrix = std::uint64_t{blockIdx.y} * rows * columns / kVector;

  uint4 loaded[kLines][kTimes];
#pragma unroll
  for (unsigned line = 0; line < kLines; ++line)
#pragma unroll
    for (unsigned time = 0; time < kTimes; ++time) {
      const unsigned r = tile_row + first + time * kRowsAtATime;
      const unsigned c = tile_column + (line * kVectorsOfLine + vector_of_line) * kVector;
      if (r < rows && c < columns)
        loaded[line][time] = in[matrix + (std::uint64_t{r} * columns + c) / kVector];
    }
#pragma unroll
  for (unsigned line = 0; line < kLines; ++line)
#pragma unroll
    for (unsigned time = 0; time < kTimes; ++time) {
      const unsigned row = first + time * kRowsAtATime;
      const unsigned word = 4 * (line * kVectorsOfLine + vector_of_line);
      tile[word_of(row, word)] = loaded[line][time].x;
      tile[word_of(row, word + 1)] = loaded[line][time].y;
      tile[word_of(row, word + 2)] = loaded[line][time].z;
      tile[word_of(row, word + 3)] = loaded[line][time].w;
    }
  __syncthreads();
#pragma unroll
  for (unsigned time = 0; time < kTimes; ++time)
#pragma unroll
    for (unsigned line = 0; line < kLines; ++line) {
      const unsigned column = first + time * kRowsAtATime;
      const unsigned row = (line * kVectorsOfLine + vector_of_line) * kVector;
      const unsigned c = tile_column + column, r = tile_row + row;
      if (r >= rows || c >= columns) continue;
      std::uint32_t words[4];
#pragma unroll
      for (unsigned w = 0; w < 4; ++w) {
        if constexpr (sizeof(Element) == 4) {
          words[w] = tile[word_of(row + w, column)];
        } else {
          const auto* halves = reinterpret_cast<const std::uint16_t*>(tile);
          const auto half = [&](unsigned of) {
            return std::uint32_t{halves[2 * word_of(of, column / 2) + column % 2]};
          };
          words[w] = half(row + 2 * w) | half(row + 2 * w + 1) << 16;
        }
      }
      out[matrix + (std::uint64_t{c} * rows + r) / kVector] =
          uint4{words[0], words[1], words[2], words[3]};
    }
}

// differences += number of elements of `out` that differ from the transposed `in`. Any launch.
template <class Element>
__global__ void reference_transpose(const Element* in, const Element* out, std::uint64_t batch,
                                    std::uint64_t rows, std::uint64_t columns,
                                    unsigned long long* differences) {
  unsigned long long found = 0;
  const std::uint64_t count = batch * rows * columns;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += threads) {
    const std::uint64_t of_matrix = i % (rows * columns);
    const std::uint64_t row = of_matrix / columns, column = of_matrix % columns;
    found += in[i] != out[i - of_matrix + column * rows + row];
  }
  if (found != 0) atomicAdd(differences, found);
}

}  // namespace peakline::kernels
