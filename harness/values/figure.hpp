#pragma once

// A figure that a question answers with: a value, what it is called, and what it depends on.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/values/measurement.hpp"

namespace peakline {

struct Figure {
  std::string id;    // of the benchmark
  std::string name;  // "smallest_copy"
  Params by = {};    // what it holds for: {{"paths", 32}}
  double value = 0;
  std::string unit;       // "s", "B", "B/s", "FLOP/s", "W", "1" of a share or a count, ...
  std::string role = {};  // how others find it, one of `role`; empty where none has to

  bool operator==(const Figure&) const = default;
};

// A rule's declaration of a figure that it may yield.
struct FigureKind {
  std::string name;
  std::string unit;
  std::vector<std::string> by = {};  // the names of what it holds for
  std::string role = {};
};

// Selects figures: those that have all that it names. Empty: any.
struct FigureQuery {
  std::string_view id = {}, name = {}, role = {};
  Params by = {};

  bool operator()(const Figure& figure) const;
};
// The first that fits; nullptr where none does.
const Figure* find_figure(std::span<const Figure> figures, const FigureQuery& query);

// Roles by which the harness and the reports look figures up.
namespace role {

// Figures of a level of memory, by "level" ("shared", "l1", "l2", "hbm", "host").
inline constexpr const char* kLatency = "level.latency";  // s of a load, by "part" where it has any
// B, the largest footprint that it holds, by the latency of loads and by the rate of reads.
inline constexpr const char* kHeldByLatency = "level.held_by_latency";
inline constexpr const char* kHeldByRate = "level.held_by_rate";
inline constexpr const char* kNearHeld = "level.near_held";  // B, by latency, of its near part
inline constexpr const char* kFullRate = "level.full_rate";  // B, up to which reads are fastest
inline constexpr const char* kLine = "level.line";           // B, fetched at a time
inline constexpr const char* kSector = "level.sector";       // B, of a line, filled at a time
// Random access has B of the largest footprint at full rate and of the largest one of all, and the
// rates there.
inline constexpr const char* kReach = "random.reach";
inline constexpr const char* kReachRate = "random.rate";
inline constexpr const char* kBeyond = "random.beyond";
inline constexpr const char* kBeyondRate = "random.beyond_rate";
// Figures of an instruction, by "op": results per clock and SM, measured and documented; cycles.
inline constexpr const char* kResults = "instruction.results";
inline constexpr const char* kDocumentedResults = "instruction.documented_results";
inline constexpr const char* kCycles = "instruction.cycles";
// N of the smallest square GEMM, by "format", and tokens of the smallest batch of a model's layers,
// by "format" and "hidden", that keep nearly all of the format's burst rate per clock.
inline constexpr const char* kFullRateSide = "gemm.full_rate_side";
inline constexpr const char* kFullRateTokens = "gemm.full_rate_tokens";
// s that an empty kernel takes on the device.
inline constexpr const char* kEmptyKernel = "launch.empty_kernel";

// B/s of large copies over the host link from and to pageable memory.
inline constexpr const char* kPageableToDevice = "link.pageable_to_device";
inline constexpr const char* kPageableToHost = "link.pageable_to_host";

// Reads of small blocks in random places, per s, by "block" in B and "depth", the reads under way.
inline constexpr const char* kRandomReads = "storage.random_reads";

}  // namespace role
}  // namespace peakline
