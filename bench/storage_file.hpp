#pragma once

// Repeated reads of the file of --storage.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "harness/host/storage.hpp"
#include "harness/values/clock.hpp"

namespace peakline::bench {

// Many disks are throttled by credits that a pause refills: reads count only after these credits
// are used up, without a pause. Linux shares out a throttled rate every 0.1 s, less than a sample.
inline constexpr double kStorageSettleSeconds = 0.4, kStorageLoadSeconds = 3;
inline constexpr double kStorageSampleSeconds = 0.15;
inline constexpr double kStorageSeconds = kStorageSettleSeconds + kStorageLoadSeconds + 0.2;

template <class Bench>
const host::StorageFile& storage_file(Bench& bench) {
  return *bench.template remember<std::shared_ptr<host::StorageFile>>("storage", [&] {
    return std::make_shared<host::StorageFile>(bench.options().storage_descriptor);
  });
}

// Returns a call that evicts the file, untimed before each sample; empty if reads use O_DIRECT.
template <class Bench>
std::function<void()> forget_cached(Bench& bench, const host::StorageFile& file) {
  if (file.direct()) return {};
  bench.remark("the file system has no O_DIRECT: read by way of the page cache");
  return [&file] { file.drop_cached(); };
}

// Measures move(count), which moves the next `count` blocks of a file and waits. least: blocks in
// flight at once. before: untimed, before each sample.
template <class Bench, class Move>
void measure_storage(Bench& bench, std::size_t block_bytes, std::uint64_t least, Move move,
                     const std::function<void()>& before = {}) {
  if (before) before();
  const double begin_s = now_s();
  std::uint64_t moved = 0;
  for (std::uint64_t step = least; now_s() - begin_s < kStorageSettleSeconds; step *= 2) {
    move(step);
    moved += step;
  }
  const double samples = (now_s() - begin_s) / kStorageSampleSeconds;
  const auto count =
      std::max(least, static_cast<std::uint64_t>(static_cast<double>(moved) / samples));
  bench.note("blocks_per_sample", static_cast<std::int64_t>(count));
  const Work work{.bytes_read = static_cast<double>(count * block_bytes)};
  bench.measure_calls(
      work, [&] { move(count); }, before);
}

}  // namespace peakline::bench
