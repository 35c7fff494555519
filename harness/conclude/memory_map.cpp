#include "harness/conclude/memory_map.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "harness/values/measurement.hpp"

namespace peakline {
namespace {

// Closer latencies belong to one part.
constexpr double kFartherPart = 1.1;

struct Source {
  const char* level;
  const char* label;
  std::string_view resource;  // its bandwidth; empty: the host link's
};
constexpr std::array kLevels = {Source{"shared", "shared memory", "shared.read"},
                                Source{"l1", "L1", "l1.read"}, Source{"l2", "L2", "l2.read"},
                                Source{"hbm", "device memory", "hbm.read"},
                                Source{"host", "host memory", ""}};

std::optional<double> larger(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::max(*a, *b) : a ? a : b;
}

std::optional<double> latency_of_part(const DeviceView& gpu, const char* part) {
  return gpu.figure({.role = role::kLatency, .by = {{"level", "l2"}, {"part", part}}});
}

MemoryLevel level_of(const DeviceView& gpu, const Source& source) {
  MemoryLevel level{
      .device = std::string(gpu.name()), .level = source.level, .label = source.label};
  const auto of_level = [&](const char* role) {
    return gpu.figure({.role = role, .by = {{"level", level.level}}});
  };
  level.latency_s = of_level(role::kLatency);
  level.line_bytes = of_level(role::kLine);
  level.sector_bytes = of_level(role::kSector);
  level.held_bytes = larger(of_level(role::kHeldByLatency), of_level(role::kHeldByRate));
  const Ceiling* row = gpu.ceiling(source.resource.empty() ? host_link_resource(*gpu.facts, "h2d")
                                                           : std::string(source.resource),
                                   Basis::kMeasured);
  if (row != nullptr) level.bytes_per_s = row->value;

  if (level.level == "shared") {
    level.per_sm = true;
    level.size_bytes = gpu.facts->shared_per_sm_bytes;
  } else if (level.level == "l1") {
    level.per_sm = true;
  } else if (level.level == "l2") {
    level.size_bytes = gpu.facts->l2_bytes;
    level.latency_s = latency_of_part(gpu, "near");
    if (const auto far = far_part_of_l2(gpu)) {
      level.near_bytes = far->near_bytes;
      level.far_latency_s = far->far_s;
    }
  } else if (level.level == "hbm") {
    level.size_bytes = gpu.facts->memory_bytes;
  } else {
    level.size_bytes = gpu.profile->host.memory_bytes;
  }
  return level;
}

}  // namespace

std::optional<FarPart> far_part_of_l2(const DeviceView& gpu) {
  const auto near_s = latency_of_part(gpu, "near"), far_s = latency_of_part(gpu, "far");
  const auto near_bytes = gpu.figure({.role = role::kNearHeld, .by = {{"level", "l2"}}});
  if (!near_s || !far_s || !near_bytes || *far_s < kFartherPart * *near_s) return std::nullopt;
  return FarPart{.near_s = *near_s, .far_s = *far_s, .near_bytes = *near_bytes};
}

std::vector<MemoryLevel> derive_memory_map(const Profile& profile) {
  std::vector<MemoryLevel> levels;
  for (const DeviceView& device : device_views(profile)) {
    if (device.facts == nullptr) continue;
    for (const Source& source : kLevels) {
      MemoryLevel level = level_of(device, source);
      if (level.latency_s || level.bytes_per_s || level.held_bytes || level.line_bytes)
        levels.push_back(std::move(level));
    }
  }
  return levels;
}

}  // namespace peakline
