#pragma once

// A named value that answers a question, with the parameters it depends on.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/values/measurement.hpp"

namespace peakline {

// How a figure with the unit "1" is meant.
enum class PureNumber { kShare, kFactor, kCount };
std::string_view to_string(PureNumber number);  // "share", "factor", "count"

struct Figure {
  std::string id;    // of the benchmark
  std::string name;  // "smallest_copy"
  Params by = {};    // parameters: {{"paths", 32}}
  double value = 0;
  std::string unit;       // "s", "B", "B/s", "FLOP/s", "W", ..., "1" for pure numbers
  std::string role = {};  // one of `role`, by which others find it; often empty
  std::optional<PureNumber> number = {};  // unknown in old files

  bool operator==(const Figure&) const = default;
};

// "B/s", or one of the pure numbers.
struct FigureUnit {
  FigureUnit(std::string unit) : name(std::move(unit)) {}
  FigureUnit(const char* unit) : name(unit) {}
  explicit FigureUnit(PureNumber pure) : name("1"), number(pure) {}

  std::string name;
  std::optional<PureNumber> number = {};
};
namespace unit {
inline const FigureUnit kShare(PureNumber::kShare), kFactor(PureNumber::kFactor),
    kCount(PureNumber::kCount);
}

struct FigureKind {
  std::string name;
  FigureUnit unit;
  std::vector<std::string> by = {};  // names of its parameters
  std::string role = {};
};

// Selects figures that match every field set here.
struct FigureQuery {
  std::string_view id = {}, name = {}, role = {};
  Params by = {};

  bool operator()(const Figure& figure) const;
};
// The first match, or nullptr.
const Figure* find_figure(std::span<const Figure> figures, const FigureQuery& query);

// Roles by which the harness and the reports look figures up.
namespace role {

// Memory levels, by "level" ("shared", "l1", "l2", "hbm", "host").
inline constexpr const char* kLatency =
    "level.latency";  // s per load; also by "part" where the level has parts
// B, the largest footprint that fits, judged by load latency and by read rate.
inline constexpr const char* kHeldByLatency = "level.held_by_latency";
inline constexpr const char* kHeldByRate = "level.held_by_rate";
inline constexpr const char* kNearHeld =
    "level.near_held";  // B, likewise by latency, of the near part
inline constexpr const char* kFullRate =
    "level.full_rate";                              // B, the largest footprint read at full rate
inline constexpr const char* kLine = "level.line";  // B, fetched at a time
inline constexpr const char* kSector = "level.sector";  // B, part of a line filled at a time
// Random access: B of the largest footprint at full rate and of the largest; rates there.
inline constexpr const char* kReach = "random.reach";
inline constexpr const char* kReachRate = "random.rate";
inline constexpr const char* kBeyond = "random.beyond";
inline constexpr const char* kBeyondRate = "random.beyond_rate";
// Instructions, by "op": results per clock and SM, measured and documented; latency in cycles.
inline constexpr const char* kResults = "instruction.results";
inline constexpr const char* kDocumentedResults = "instruction.documented_results";
inline constexpr const char* kCycles = "instruction.cycles";
// Shares of the format's burst rate per clock: of square GEMMs, by "format" and "n", and of a
// transformer's layers, by "format", "hidden" and "tokens".
inline constexpr const char* kShareOfSide = "gemm.share_of_side";
inline constexpr const char* kShareOfTokens = "gemm.share_of_tokens";
// A share with which a larger product gains nothing.
inline constexpr double kFullShare = 0.9;
// s, an empty kernel on the device.
inline constexpr const char* kEmptyKernel = "launch.empty_kernel";

// B/s, large pageable copies over the host link.
inline constexpr const char* kPageableToDevice = "link.pageable_to_device";
inline constexpr const char* kPageableToHost = "link.pageable_to_host";
// B/s, by "bytes": smaller pageable copies that are much faster than large ones.
inline constexpr const char* kPiecesToDevice = "link.pageable_pieces_to_device";
inline constexpr const char* kPiecesToHost = "link.pageable_pieces_to_host";

// Times as long as alone, by "collective" and "ctas": a GEMM beside a collective, and the
// collective.
inline constexpr const char* kGemmBeside = "beside.gemm";
inline constexpr const char* kCollectiveBeside = "beside.collective";

// Reads of small blocks in random places, per s, by "block" in B and "depth", the reads under way.
inline constexpr const char* kRandomReads = "storage.random_reads";

}  // namespace role

// Shares by size: between which two neighbours they reach role::kFullShare for good. nullopt if the
// smallest size has it already, or the largest does not.
std::optional<std::pair<std::int64_t, std::int64_t>> full_between(
    const std::map<std::int64_t, double>& shares);

}  // namespace peakline
