#pragma once

// How the file of --storage is read again and again, by whatever reads it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "harness/host/storage.hpp"
#include "harness/values/clock.hpp"

namespace peakline::bench {

// Many disks are throttled, in clouds by credits that a pause refills: what counts is read without
// a pause and after such credits, and a sample is longer than the 0.1 s in which Linux shares out a
// throttled rate.
inline constexpr double kStorageSettleSeconds = 0.4, kStorageLoadSeconds = 3;
inline constexpr double kStorageSampleSeconds = 0.15;
// About how long such a point takes.
inline constexpr double kStorageSeconds = kStorageSettleSeconds + kStorageLoadSeconds + 0.2;

// The file, open in this worker.
template <class Bench>
const host::StorageFile& storage_file(Bench& bench) {
  return *bench.template remember<std::shared_ptr<host::StorageFile>>("storage", [&] {
    return std::make_shared<host::StorageFile>(bench.options().storage_descriptor);
  });
}

// Returns a function that makes the page cache forget the file, to be called untimed ahead of each
// sample, if the file system has no O_DIRECT. Empty if reads go past the cache.
template <class Bench>
std::function<void()> forget_cached(Bench& bench, const host::StorageFile& file) {
  if (file.direct()) return {};
  bench.remark("the file system has no O_DIRECT: read by way of the page cache");
  return [&file] { file.drop_cached(); };
}

// Measures move(count), which moves the next `count` blocks of a file and waits. least: blocks that
// are under way at once, and so the fewest of a sample. before: untimed, ahead of each sample.
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
