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

// Measures move(count), which moves the next `count` blocks of the file and waits. least: blocks
// that are under way at once, and so the fewest of a sample.
template <class Bench, class Move>
void measure_storage(Bench& bench, const host::StorageFile& file, std::size_t block_bytes,
                     std::uint64_t least, Move move) {
  std::function<void()> forget;
  if (!file.direct()) {
    bench.remark("the file system has no O_DIRECT: read by way of the page cache");
    forget = [&] { file.drop_cached(); };
    forget();
  }
  const double begin_s = now_s();
  std::uint64_t moved = 0;
  do {
    move(least);
    moved += least;
  } while (now_s() - begin_s < kStorageSettleSeconds);
  const double samples = (now_s() - begin_s) / kStorageSampleSeconds;
  const auto count =
      std::max(least, static_cast<std::uint64_t>(static_cast<double>(moved) / samples));
  bench.note("blocks_per_sample", static_cast<std::int64_t>(count));
  bench.measure_calls(
      {.bytes_read = static_cast<double>(count * block_bytes)}, [&] { move(count); }, forget);
}

}  // namespace peakline::bench
