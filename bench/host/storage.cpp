// How fast does storage deliver, by access, block size and reads in flight?

#include "harness/host/storage.hpp"

#include "bench/question.hpp"
#include "bench/storage_file.hpp"
#include "harness/benchmark/host_bench.hpp"

namespace peakline::bench {
namespace {

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::uint64_t kVerifiedBlocks = 64, kVerifiedBytes = std::uint64_t{64} << 20;
// More bytes in flight gain nothing and take seconds on a slow disk.
constexpr std::int64_t kMostUnderWay = 64 * kMiB;

host::BlockReader::PlaceOf places(bool random, std::uint64_t blocks, std::uint64_t seed) {
  if (random) return [=](std::uint64_t i) { return host::random_word(seed, i) % blocks; };
  return [=](std::uint64_t i) { return i % blocks; };
}

std::string find_wrong_block(host::BlockReader& reader, std::uint64_t blocks, std::size_t bytes,
                             std::uint64_t seed) {
  std::uint64_t wrong = 0;
  const auto check = [&](std::uint64_t block, const std::byte* data) {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(data);
    const std::size_t count = bytes / sizeof(std::uint64_t);
    for (std::size_t i = 0; i < count; ++i)
      wrong += words[i] != host::stored_word(block * count + i);
  };
  const std::uint64_t verified = std::min(kVerifiedBlocks, kVerifiedBytes / bytes);
  reader.read(0, verified, places(true, blocks, seed), check);
  return wrong == 0 ? "" : fmt::format("{} words of the file differ", wrong);
}

void read(HostBench& bench) {
  const host::StorageFile& file = storage_file(bench);
  const auto block_bytes = static_cast<std::size_t>(bench.integer("block"));
  const auto depth = static_cast<int>(bench.integer("depth"));
  const std::uint64_t blocks = file.bytes() / block_bytes;
  const auto reader = host::make_block_reader(file, block_bytes, depth);
  bench.note("engine", reader->engine());
  bench.verify([&] { return find_wrong_block(*reader, blocks, block_bytes, bench.seed()); });

  const auto place_of = places(bench.text("access") == "random", blocks, bench.seed());
  std::uint64_t next = 0;
  const auto move = [&](std::uint64_t count) {
    reader->read(next, count, place_of);
    next += count;
  };
  measure_storage(bench, block_bytes, static_cast<std::uint64_t>(depth), move,
                  forget_cached(bench, file));
}

std::vector<Point> points() {
  const Point point{
      .phase = Phase::kHost, .seconds = kStorageSeconds, .load_s = kStorageLoadSeconds};
  auto all = points_over(
      {{"access", {"sequential"}}, {"block", {128 * kKiB, kMiB, 8 * kMiB}}, {"depth", {1, 8, 32}}},
      point);
  const auto random = points_over(
      {{"access", {"random"}}, {"block", {4 * kKiB, 64 * kKiB, kMiB}}, {"depth", {1, 8, 64}}},
      point);
  all.insert(all.end(), random.begin(), random.end());
  std::erase_if(all, [](const Point& one) {
    return *int_param(one.params, "block") * *int_param(one.params, "depth") > kMostUnderWay;
  });
  for (Point& one : all) {
    const auto block = *int_param(one.params, "block"), depth = *int_param(one.params, "depth");
    one.quick = (block == kMiB && depth == 8) || (block == 4 * kKiB && depth != 8);
  }
  return all;
}

// The best sequential rate; random reads of the smallest block.
CurveRule storage_curve() {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    const Measurement* best = nullptr;
    for (const Measurement* m : curve.points) {
      const bool sequential = text_param(m->params, "access") == "sequential";
      if (sequential && (best == nullptr || *m->value > *best->value)) best = m;
      const auto block = *int_param(m->params, "block"), depth = *int_param(m->params, "depth");
      if (!sequential && block == 4 * kKiB)
        figures.add("reads_per_s", *m->value / static_cast<double>(block),
                    {{"block", block}, {"depth", depth}});
    }
    if (best == nullptr) return;
    const Params by = {{"access", "sequential"}};
    figures.add("rate", *best->value, by);
    figures.add("block", static_cast<double>(*int_param(best->params, "block")), by);
    figures.add("depth", static_cast<double>(*int_param(best->params, "depth")), by);
  };
  return {"storage",
          {{"rate", "B/s", {"access"}},
           {"block", "B", {"access"}},
           {"depth", unit::kCount, {"access"}},
           {"reads_per_s", "IOPS", {"block", "depth"}, role::kRandomReads}},
          summarize};
}

std::string storage_title(const TitleView& view) {
  const std::string rate = view.text({.id = "host.storage.read", .name = "rate"});
  const auto& storage = view.profile.host.storage;
  if (!storage) return "Storage reads at " + rate;
  const bool memory = storage->file_system == "tmpfs" || storage->file_system == "ramfs";
  return fmt::format("Storage ({}) reads at {}{}", storage->file_system, rate,
                     memory             ? ": memory, not storage"
                     : !storage->direct ? " by way of the page cache"
                                        : "");
}

}  // namespace

void register_host_storage(Registry& registry, bool storage) {
  if (!storage) return;
  registry.add(
      {.id = "host.storage.read",
       .what = "Bandwidth of reads from storage past the page cache (--storage), by access, "
               "block and reads under way",
       .work = "bytes read",
       .quantity = Quantity::kByteRate,
       .loads = Loads::kHost,
       .estimate = Estimate::kMean,
       .varies_with = VariesWith::kCpu,
       .limit = no_limit("what the drive and its link can do is not known"),
       .ceilings = {{.resource = resource("storage.read"),
                     .counts = where("access", "sequential")}},
       .curves = {storage_curve()},
       .topics = {{"storage", storage_title}},
       .option = "--storage",
       .points = points()},
      read);
}

}  // namespace peakline::bench
