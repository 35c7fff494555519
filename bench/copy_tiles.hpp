#pragma once

// The ways of copying from global to shared memory, with the tile sizes of each.

#include <array>
#include <string_view>

namespace peakline::bench {

struct CopyTile {
  std::string_view way;
  int bytes;
};

// A tensor map's box has at most 256 elements a side, each of at most 8 bytes.
inline constexpr auto kCopyTiles = std::to_array<CopyTile>({{"plain", 512},
                                                            {"plain", 2048},
                                                            {"plain", 8192},
                                                            {"cp_async", 512},
                                                            {"cp_async", 2048},
                                                            {"cp_async", 8192},
                                                            {"bulk", 128},
                                                            {"bulk", 512},
                                                            {"bulk", 2048},
                                                            {"bulk", 8192},
                                                            {"tensor_1d", 128},
                                                            {"tensor_1d", 512},
                                                            {"tensor_1d", 2048},
                                                            {"tensor_2d", 512},
                                                            {"tensor_2d", 2048},
                                                            {"tensor_2d", 8192}});

}  // namespace peakline::bench
