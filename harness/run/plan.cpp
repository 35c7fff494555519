#include "harness/run/plan.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <sstream>

#include "harness/conclude/sittings.hpp"
#include "harness/run/gpus.hpp"
#include "harness/values/text.hpp"

namespace peakline::bench {
namespace {

std::string closest_ids(const Registry& registry, const std::string& filter) {
  constexpr std::size_t kShown = 3;
  // Compares the id part of the expression. Text longer than any id resembles none.
  constexpr std::size_t kLongest = 100;
  std::string text = filter.substr(0, std::min(filter.find('/'), kLongest));
  std::erase_if(text, [](char c) {
    return std::string_view("^$\\*+?()[]{}|").find(c) != std::string_view::npos;
  });
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const Benchmark& benchmark : registry.benchmarks()) {
    ranked.emplace_back(edit_distance(text, benchmark.id), benchmark.id);
  }
  std::sort(ranked.begin(), ranked.end());
  std::string ids;
  for (std::size_t i = 0; i < std::min(kShown, ranked.size()); ++i) {
    ids += (i == 0 ? "" : ", ") + ranked[i].second;
  }
  return ids;
}

// Splits at commas; "" has no parts.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

// The device that an index or a unique UUID prefix names, or nullptr.
const DeviceFacts* find_gpu(std::span<const DeviceFacts> all, const std::string& name) {
  if (name.empty()) return nullptr;
  if (name.find_first_not_of("0123456789") == name.npos) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const DeviceFacts& device) {
      return std::to_string(device.index) == name;
    });
    return found == all.end() ? nullptr : &*found;
  }
  // "GPU-" is a prefix of all.
  if (!(name.starts_with("GPU-") || name.starts_with("MIG-")) || name.size() == 4) return nullptr;
  const auto fits = [&](const DeviceFacts& device) { return device.uuid.starts_with(name); };
  if (std::count_if(all.begin(), all.end(), fits) != 1) return nullptr;
  return &*std::find_if(all.begin(), all.end(), fits);
}

void add_once(std::vector<DeviceFacts>& devices, const DeviceFacts& device) {
  const bool there = std::any_of(devices.begin(), devices.end(),
                                 [&](const DeviceFacts& d) { return d.uuid == device.uuid; });
  if (!there) devices.push_back(device);
}

// nullptr: no filter. RE2's time is linear in the text.
std::unique_ptr<const re2::RE2> compile(const std::string& filter) {
  if (filter.empty()) return nullptr;
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto pattern = std::make_unique<const re2::RE2>(filter, options);
  if (pattern->ok()) return pattern;
  throw UsageError(fmt::format("--filter '{}': not a regular expression (RE2 syntax): {}",
                               shown(filter), shown(pattern->error())));
}

// Matches that are not measured.
struct Matches {
  bool other_mode = false, gpu = false, node = false;
};

std::string why_empty(const Registry& registry, bool no_gpus, const std::string& filter,
                      const Matches& matches) {
  const std::string option = fmt::format("--filter '{}'", shown(filter));
  if (matches.node && !no_gpus)
    return option +
           " matches only benchmarks between GPUs, and no two are measured that see each other";
  if (matches.gpu || matches.node)
    return option + (built_with_cuda() ? " matches only GPU benchmarks, and no GPU is measured"
                                       : " matches only GPU benchmarks: " + why_without_cuda());
  if (matches.other_mode) return option + " matches no benchmark of --quick, only of --full";
  return fmt::format("{} matches no benchmark; the closest are {} (see peakline list)", option,
                     closest_ids(registry, filter));
}

}  // namespace

std::string shown(std::string_view argument) {
  constexpr std::size_t kMaxChars = 60;  // enough to recognize it
  return printable(argument, kMaxChars);
}

std::size_t Plan::size() const {
  return std::transform_reduce(devices.begin(), devices.end(), std::size_t{0}, std::plus<>(),
                               [](const DevicePlan& device) { return device.points.size(); });
}

bool Plan::has(Phase phase) const {
  return std::ranges::any_of(devices, [phase](const DevicePlan& device) {
    return std::ranges::any_of(device.points, [phase](const PlannedPoint& planned) {
      return planned.point->phase == phase;
    });
  });
}

double Plan::seconds() const {
  double sum = 0;
  for (const DevicePlan& device : devices) {
    for (const PlannedPoint& point : device.points) sum += point.share_s;
  }
  return sum;
}

std::string_view phase_name(Phase phase) {
  return name_of(
      {"host", "node", "link", "device", "burst", "sustained", "warm", "soak", "node_load"}, phase);
}

Plan make_plan(const Registry& registry, std::span<const std::string> gpu_uuids, bool quick,
               const std::string& filter, bool with_node) {
  const auto pattern = compile(filter);
  DevicePlan host{std::string(kHostDevice), {}}, node{std::string(kNodeDevice), {}};
  std::vector<PlannedPoint> gpu;
  Matches matches;
  for (const Benchmark& benchmark : registry.benchmarks()) {
    for (const Point& point : benchmark.points) {
      std::string name = point_name(benchmark.id, point.params);
      if (pattern && !re2::RE2::PartialMatch(name, *pattern)) continue;
      if (quick && !point.quick) {
        matches.other_mode = true;
        continue;
      }
      const bool on_host = is_host_point(point), on_node = is_node_point(point);
      (on_node ? matches.node : matches.gpu) |= !on_host;
      const bool parallel = !on_host && !on_node && point.phase != Phase::kLink;
      const auto at_once = on_node                          ? round_of(benchmark, point).size()
                           : parallel && !gpu_uuids.empty() ? gpu_uuids.size()
                                                            : 1;
      // A second sitting would take 10 % of a quick run. Host links need it, since stalls outlast a
      // sitting; the host and links between GPUs do not.
      const bool one = quick && (on_host || on_node);
      const std::size_t sittings = one ? 1 : sittings_of(benchmark, point);
      (on_host   ? host.points
       : on_node ? node.points
                 : gpu)
          .push_back({&benchmark, &point, std::move(name),
                      point.seconds / static_cast<double>(at_once), sittings});
    }
  }
  for (auto* points : {&gpu, &node.points}) {
    std::ranges::stable_sort(*points, {}, [](const PlannedPoint& p) { return p.point->phase; });
  }

  Plan plan;
  if (!host.points.empty()) plan.devices.push_back(std::move(host));
  if (!gpu.empty()) {
    for (const std::string& uuid : gpu_uuids) plan.devices.push_back({uuid, gpu});
  }
  if (!node.points.empty() && with_node && gpu_uuids.size() > 1)
    plan.devices.push_back(std::move(node));
  if (!plan.devices.empty()) return plan;

  throw UsageError(why_empty(registry, gpu_uuids.empty(), filter, matches));
}

void fit_to_devices(Plan& plan, std::span<const DeviceFacts> devices) {
  std::vector<const DeviceFacts*> first;  // on their side of the host
  for (DevicePlan& of_device : plan.devices) {
    const auto device = std::ranges::find(devices, of_device.device, &DeviceFacts::uuid);
    if (device == devices.end()) continue;
    for (PlannedPoint& point : of_device.points)
      if (point.benchmark->runs_on && !point.benchmark->runs_on(*device)) point.share_s = 0;
    if (!device->unusable.empty()) continue;
    if (std::ranges::none_of(first, [&](const auto* f) { return share_host_side(*f, *device); }))
      first.push_back(&*device);
    else
      std::erase_if(of_device.points, [](const PlannedPoint& planned) {
        return planned.point->phase == Phase::kLink &&
               planned_ceiling(*planned.benchmark, *planned.point) == nullptr;
      });
  }
  std::erase_if(plan.devices, [](const DevicePlan& of_device) { return of_device.points.empty(); });
}

std::vector<DeviceFacts> select_gpus(std::span<const DeviceFacts> all,
                                     const std::string& selection) {
  if (selection == "all") return {all.begin(), all.end()};
  std::vector<DeviceFacts> selected;
  for (const std::string& name : split(selection)) {
    const DeviceFacts* device = find_gpu(all, name);
    if (!device) {
      std::string available;
      for (const DeviceFacts& d : all) {
        available += fmt::format("{}{} ({})", available.empty() ? "" : ", ", d.index, d.uuid);
      }
      throw UsageError(fmt::format("--device: no GPU '{}'; available: {}", shown(name),
                                   available.empty() ? "none" : available));
    }
    add_once(selected, *device);
  }
  if (selected.empty()) {
    throw UsageError(
        fmt::format("--device '{}': expected all, none, or a list such as 0,1", shown(selection)));
  }
  return selected;
}

std::vector<DeviceFacts> visible_gpus(std::span<const DeviceFacts> all,
                                      const std::string& visible_devices) {
  std::vector<DeviceFacts> visible;
  for (const std::string& name : split(visible_devices)) {
    const DeviceFacts* device = find_gpu(all, name);
    if (!device) break;
    add_once(visible, *device);
  }
  std::sort(visible.begin(), visible.end(),
            [](const DeviceFacts& a, const DeviceFacts& b) { return a.index < b.index; });
  return visible;
}

}  // namespace peakline::bench
