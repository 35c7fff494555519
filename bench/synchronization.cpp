// What does waiting cost: for the device, for other threads, for the previous kernel?

#include "bench/question.hpp"

namespace peakline::bench {

void synchronization_wait(CudaBench& bench);
void synchronization_event_record(CudaBench& bench);
void synchronization_dependent_launch(CudaBench& bench);
void synchronization_block(CudaBench& bench);
void synchronization_cluster(CudaBench& bench);
void synchronization_cluster_relaxed(CudaBench& bench);
void synchronization_grid(CudaBench& bench);

namespace {

constexpr const char* kTopic = "synchronization";

std::string synchronization_title(const TitleView& view) {
  const auto time = [&](const char* id, Params by = {}) {
    return view.text({.id = id, .name = "time", .by = std::move(by)});
  };
  return fmt::format(
      "Launching a kernel and reading 4 bytes back takes {}, a grid barrier {}, a block barrier {}",
      time("synchronization.wait", {{"by", "read_back"}}), time("synchronization.grid"),
      time("synchronization.block", {{"threads", 256}}));
}

Picture synchronization_picture() {
  enum Group { kHost, kKernel, kThreads };
  const auto row = [](const char* label, const char* name, Group group, Params where = {},
                      const char* each = "") -> PictureSeries {
    return {.label = label,
            .numbers = {.id = std::string("synchronization.") + name, .where = std::move(where)},
            .each = each,
            .group = group};
  };
  return {
      .key = "synchronization",
      .subject = "Synchronization: what waiting costs",
      .how =
          "First from the launch of an empty kernel until the host knows that it has finished, "
          "by how the host waits; then from one kernel to the next, which needs its result "
          "(a programmatic dependent launch starts it early); then from one barrier to the next.",
      .panels = {
          {.kind = PanelKind::kDots,
           .x = {.label = "time, log scale", .written = Written::kTime, .scale = Scale::kLog10},
           .series = {
               row("recording an event", "event_record", kHost),
               row("launch, wait for the stream", "wait", kHost, {{"by", "stream"}}),
               row("launch, wait for an event", "wait", kHost, {{"by", "event"}}),
               row("launch, sleep until an event", "wait", kHost, {{"by", "blocking_event"}}),
               row("launch, wait for the device", "wait", kHost, {{"by", "device"}}),
               row("launch, read 4 bytes back", "wait", kHost, {{"by", "read_back"}}),
               row("kernel to kernel", "dependent_launch", kKernel, {{"start", "ordinary"}}),
               row("the same, launched early", "dependent_launch", kKernel,
                   {{"start", "programmatic"}}),
               row("grid barrier, 256 threads per SM", "grid", kThreads),
               row("cluster barrier, {} × 256 threads", "cluster", kThreads, {}, "blocks"),
               row("the same without a fence, {} × 256", "cluster_relaxed", kThreads, {}, "blocks"),
               row("block barrier, {} threads", "block", kThreads, {}, "threads")}}}};
}

}  // namespace

void register_synchronization(Registry& registry) {
  const auto add = [&](const char* param, std::vector<ParamValue> values, Benchmark benchmark,
                       Run run) {
    const Phase phase = benchmark.loads == Loads::kLink ? Phase::kLink : Phase::kDevice;
    benchmark.points = points_over(param, std::move(values), {.phase = phase, .seconds = 0.03});
    if (benchmark.points.empty()) benchmark.points = {{.phase = phase, .seconds = 0.05}};
    benchmark.curves = {waits_curve(kTopic, param)};
    registry.add(std::move(benchmark), std::move(run));
  };
  add("by", {"stream", "event", "blocking_event", "device", "read_back"},
      {.id = "synchronization.wait",
       .what = "Time from launching an empty kernel until the host knows that it has finished, by "
               "the way to wait",
       .work = "host seconds of the launch and the wait, of read_back with a copy of 4 bytes",
       .loads = Loads::kLink,
       .varies_with = VariesWith::kCpu,
       .topics = {{kTopic, synchronization_title, synchronization_picture()}}},
      on_gpu([](auto& bench) { synchronization_wait(bench); }));
  add("", {},
      {.id = "synchronization.event_record",
       .what = "Host time of recording an event while the queue has room",
       .work = "host seconds per call, without waiting for the device",
       .loads = Loads::kLink,
       .varies_with = VariesWith::kCpu},
      on_gpu([](auto& bench) { synchronization_event_record(bench); }));
  add("start", {"ordinary", "programmatic"},
      {.id = "synchronization.dependent_launch",
       .what = "Device time from one kernel to the next that waits for its result, by when that "
               "may start",
       .work = "device seconds per kernel, queue never empty",
       .loads = Loads::kLink,
       .varies_with = VariesWith::kLaunches},
      on_gpu([](auto& bench) { synchronization_dependent_launch(bench); }));
  constexpr const char* kMeetings = "device seconds from one barrier to the next";
  add("threads", {32, 256, 1024},
      {.id = "synchronization.block",
       .what = "Time of a barrier of a block, by its threads",
       .work = kMeetings,
       .loads = Loads::kCores},
      on_gpu([](auto& bench) { synchronization_block(bench); }));
  add("blocks", {2, 8},
      {.id = "synchronization.cluster",
       .what = "Time of a barrier of a cluster after which its blocks of 256 threads see what the "
               "others have written",
       .work = kMeetings,
       // v1 wrote the clock to host memory, which fences waited for; v2 timed one cluster
       .method_version = 3,
       .loads = Loads::kCores},
      on_gpu([](auto& bench) { synchronization_cluster(bench); }));
  add("blocks", {2, 8},
      {.id = "synchronization.cluster_relaxed",
       .what =
           "Time of a barrier of a cluster without a fence (barrier.cluster.arrive.relaxed), by "
           "its blocks of 256 threads",
       .work = kMeetings,
       .method_version = 2,  // v1 timed one cluster
       .loads = Loads::kCores},
      on_gpu([](auto& bench) { synchronization_cluster_relaxed(bench); }));
  add("", {},
      {.id = "synchronization.grid",
       .what = "Time of a barrier of a grid, with a block of 256 threads on each SM",
       .work = kMeetings,
       .loads = Loads::kCores},
      on_gpu([](auto& bench) { synchronization_grid(bench); }));
}

}  // namespace peakline::bench
