// How fast do scattered blocks move between host and device? Engines that keep a KV cache in the
// host's memory ask.

#include "bench/pcie/blocks.hpp"

#include "bench/question.hpp"
#include "harness/values/profile.hpp"

namespace peakline::bench {

void move_blocks(CudaBench& bench, pcie::BlocksBy by);
void read_beside_blocks(CudaBench& bench, std::size_t block);

namespace {

using namespace pcie;

constexpr const char* kTopic = "scattered blocks";
constexpr std::int64_t kPercent = 90;
// The smallest is 8 tokens of a small model's layer, the largest a page of all layers.
constexpr std::int64_t kSmallest = 4 << 10, kLargestBlock = 4 << 20;
// A block of 16 tokens in one layer of a 70B model.
constexpr std::int64_t kBesideBlock = 256 << 10;

constexpr std::array kDirections = {"h2d", "d2h"};

// Rates by block and direction, SMs by direction, and the block from which a share of one large
// copy's rate is reached; between measured blocks the time grows in proportion to the bytes.
void summarize(const CurveView& curve, Figures& figures) {
  for (const char* direction : kDirections) {
    const auto points = sweep_where(curve, "block", "direction", std::string(direction));
    for (const CurvePoint& point : points)
      figures.add("rate", point.value(),
                  {{"block", std::llround(point.x)}, {"direction", direction}});
    if (points.empty()) continue;
    if (const auto sms = int_param(points.front().m->launch, "sms"))
      figures.add("sms", static_cast<double>(*sms), {{"direction", direction}});
    if (curve.device == nullptr || points.size() < 2) continue;
    const auto whole =
        curve.ceiling(host_link_resource(*curve.device, direction), Basis::kMeasured);
    if (!whole) continue;
    std::vector<Amount> rates;
    for (const CurvePoint& point : points) rates.push_back({point.x, point.value()});
    if (const auto block = amount_for(rates, static_cast<double>(kPercent) / 100 * *whole))
      figures.add("block_for", *block, {{"percent", kPercent}, {"direction", direction}});
  }
}

CurveRule rates() {
  return {kTopic,
          {{"rate", "B/s", {"block", "direction"}},
           {"sms", unit::kCount, {"direction"}},
           {"block_for", "B", {"percent", "direction"}}},
          summarize};
}

// How many times as long a read of device memory takes beside the blocks.
CurveRule beside() {
  const auto summarize_beside = [](const CurveView& curve, Figures& figures) {
    for (const Measurement* m : curve.points) {
      const auto alone = int_param(m->launch, "alone_bytes_per_s");
      const auto moved = int_param(m->launch, "moved_bytes_per_s");
      const auto by = text_param(m->params, "by"), direction = text_param(m->params, "direction");
      if (!alone || !moved || !by || !direction) continue;
      const Params with = {{"by", *by}, {"direction", *direction}};
      figures.add("read_slowdown", static_cast<double>(*alone) / *m->value, with);
      figures.add("moved_beside_reads", static_cast<double>(*moved), with);
    }
  };
  return {kTopic,
          {{"read_slowdown", unit::kFactor, {"by", "direction"}},
           {"moved_beside_reads", "B/s", {"by", "direction"}}},
          summarize_beside};
}

std::string title(const TitleView& view) {
  const auto rate = [&](const char* id) {
    return format_rate(
        view.value({.id = id,
                    .name = "rate",
                    .by = {{"block", kUsualBlock}, {"direction", std::string("h2d")}}}),
        "B/s");
  };
  const Figure* sms = view.find(
      {.id = "pcie.blocks.kernel", .name = "sms", .by = {{"direction", std::string("h2d")}}});
  std::string text = fmt::format(
      "Scattered blocks of {} go H2D at {} by a kernel{}, at {} in one batch",
      format_size(static_cast<double>(kUsualBlock)), rate("pcie.blocks.kernel"),
      sms == nullptr ? "" : fmt::format(" on {:.0f} SMs", sms->value), rate("pcie.blocks.batch"));
  const auto slowdown = [&](const char* by) {
    return view.find({.name = "read_slowdown",
                      .by = {{"by", std::string(by)}, {"direction", std::string("h2d")}}});
  };
  if (const Figure* batch = slowdown("batch"), *kernel = slowdown("kernel"); batch && kernel)
    text += fmt::format(
        "; reads of device memory take {:.2f} x as long beside a batch, {:.2f} x beside a kernel "
        "(timed with blocks of {})",
        batch->value, kernel->value, format_size(static_cast<double>(kBesideBlock)));
  return text;
}

Picture picture() {
  const auto panel = [](const char* direction, const char* label) {
    Panel rates{.over = "block",
                .x = size_axis("bytes of one block"),
                .y = {.label = label, .per = 1e9, .scale = Scale::kLog10},
                .series = {},
                .naming = Naming::kEndsWithValue};
    for (const auto& [name, id] : {std::pair("loop", "pcie.blocks.loop"),
                                   {"batch", "pcie.blocks.batch"},
                                   {"kernel", "pcie.blocks.kernel"}})
      rates.series.push_back(
          {name, {.id = id, .figure = "rate", .where = {{"direction", std::string(direction)}}}});
    return rates;
  };
  return {.key = "blocks",
          .subject = "Scattered blocks between host and device",
          .how =
              "As engines move blocks of a KV cache: 64 MiB in blocks that lie scattered on both "
              "sides, timed from the first call until the last block has arrived. Loop: a "
              "cudaMemcpyAsync for each block, measured with 4 and 256 KiB. Batch: one "
              "cudaMemcpyBatchAsync for all; with blocks of up to 64 KiB the host sets its rate, "
              "which differs by up to half from run to run. Kernel: a few SMs read or write the "
              "host's memory. Reads of device memory were timed beside blocks of 256 KiB.",
          .panels = {panel("h2d", "H2D, GB/s"), panel("d2h", "D2H, GB/s")}};
}

const char* how(BlocksBy by) {
  switch (by) {
    case BlocksBy::kLoop:
      return "a copy call for each";
    case BlocksBy::kBatch:
      return "one cudaMemcpyBatchAsync for all";
    default:
      return "by SMs on mapped memory";
  }
}

}  // namespace

void register_pcie_blocks(Registry& registry) {
  const Point like{.phase = Phase::kLink, .seconds = 0.15};
  const auto add = [&](Benchmark benchmark, Run run) {
    benchmark.quantity = Quantity::kByteRate;
    benchmark.varies_with = VariesWith::kCpu;
    registry.add(std::move(benchmark), std::move(run));
  };
  for (const auto& [name, by] : kBlocksBy) {
    const bool loop = by == BlocksBy::kLoop;
    const auto blocks = loop ? std::vector<ParamValue>{kSmallest, kBesideBlock}
                             : multiples(kSmallest, kLargestBlock, 4);
    add({.id = fmt::format("pcie.blocks.{}", name),
         .what = fmt::format("Scattered blocks between host and device, {}", how(by)),
         .work = "bytes over the link, counted once",
         .loads = Loads::kLink,
         .limit = host_link(1),
         .curves = {rates()},
         .topics = loop ? std::vector<Topic>{{kTopic, title, picture()}} : std::vector<Topic>(),
         .points = points_over({{"block", blocks}, {"direction", values_of(kDirections)}}, like)},
        on_gpu([by = by](auto& bench) { move_blocks(bench, by); }));
  }
  add({.id = "pcie.blocks.kernel_both",
       .what = "Scattered blocks in both directions at once, by SMs on mapped memory",
       .work = "bytes of both directions, timed until both are done",
       .loads = Loads::kLink,
       .limit = host_link(2),
       .points = points_over("block", {kSmallest, kUsualBlock, kLargestBlock}, like)},
      on_gpu([](auto& bench) { move_blocks(bench, BlocksBy::kKernel); }));
  add({.id = "pcie.blocks.beside_read",
       .what = "Device memory read bandwidth while scattered blocks of 256 KiB move",
       .work = "bytes read",
       .loads = Loads::kMemory,
       .limit = device_memory_bandwidth(),
       .curves = {beside()},
       .points = points_over(
           {{"by", {"loop", "batch", "kernel"}}, {"direction", values_of(kDirections)}}, like)},
      on_gpu([](auto& bench) { read_beside_blocks(bench, kBesideBlock); }));
}

}  // namespace peakline::bench
