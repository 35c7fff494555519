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
          "Blue: from the launch of an empty kernel until the host knows that it has finished, by "
          "how the host waits. Orange: from one kernel to the next, which needs its result; a "
          "programmatic dependent launch starts the next one early. Grey: from one barrier to the "
          "next.",
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
  const auto add = [&](const std::string& name, const char* what, const char* work, Loads loads,
                       VariesWith varies, const char* label, const char* param,
                       std::vector<ParamValue> values, Run run, int method_version = 1,
                       std::vector<Topic> topics = {}) {
    const Phase phase = loads == Loads::kLink ? Phase::kLink : Phase::kDevice;
    auto points = points_over(param, std::move(values), {.phase = phase, .seconds = 0.03});
    if (points.empty()) points.push_back({.phase = phase, .seconds = 0.05});
    registry.add({.id = "synchronization." + name,
                  .what = what,
                  .work = work,
                  .method_version = method_version,
                  .loads = loads,
                  .varies_with = varies,
                  .curves = {waits_curve(kTopic, label, param)},
                  .topics = std::move(topics),
                  .points = std::move(points)},
                 std::move(run));
  };
  add("wait",
      "Time from launching an empty kernel until the host knows that it has finished, by the way "
      "to wait",
      "host seconds of the launch and the wait, of read_back with a copy of 4 bytes", Loads::kLink,
      VariesWith::kCpu, "launch and wait by", "by",
      {"stream", "event", "blocking_event", "device", "read_back"},
      on_gpu([](auto& bench) { synchronization_wait(bench); }), 1,
      {{kTopic, synchronization_title, synchronization_picture()}});
  add("event_record", "Host time of recording an event while the queue has room",
      "host seconds per call, without waiting for the device", Loads::kLink, VariesWith::kCpu,
      "recording an event", "", {},
      on_gpu([](auto& bench) { synchronization_event_record(bench); }));
  add("dependent_launch",
      "Device time from one kernel to the next that waits for its result, by when that may start",
      "device seconds per kernel, queue never empty", Loads::kLink, VariesWith::kLaunches,
      "from one kernel to the next,", "start", {"ordinary", "programmatic"},
      on_gpu([](auto& bench) { synchronization_dependent_launch(bench); }));
  constexpr const char* kMeetings = "device seconds from one barrier to the next";
  add("block", "Time of a barrier of a block, by its threads", kMeetings, Loads::kCores,
      VariesWith::kDevice, "barrier of a block of", "threads", {32, 256, 1024},
      on_gpu([](auto& bench) { synchronization_block(bench); }));
  add("cluster",
      "Time of a barrier of a cluster after which its blocks of 256 threads see what the others "
      "have written",
      kMeetings, Loads::kCores, VariesWith::kDevice, "barrier of a cluster of", "blocks", {2, 8},
      on_gpu([](auto& bench) { synchronization_cluster(bench); }),
      3);  // v1 wrote the clock to host memory, which fences waited for; v2 timed one cluster
  add("cluster_relaxed",
      "Time of a barrier of a cluster without a fence (barrier.cluster.arrive.relaxed), by its "
      "blocks of 256 threads",
      kMeetings, Loads::kCores, VariesWith::kDevice, "without a fence,", "blocks", {2, 8},
      on_gpu([](auto& bench) { synchronization_cluster_relaxed(bench); }),
      2);  // v1 timed one cluster
  add("grid", "Time of a barrier of a grid, with a block of 256 threads on each SM", kMeetings,
      Loads::kCores, VariesWith::kDevice, "barrier of a grid", "", {},
      on_gpu([](auto& bench) { synchronization_grid(bench); }));
}

}  // namespace peakline::bench
