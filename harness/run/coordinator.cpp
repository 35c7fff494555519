#include "harness/run/coordinator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "harness/run/device_run.hpp"
#include "harness/values/text.hpp"

namespace peakline::bench {
namespace {

constexpr std::array kGpuPhases = {Phase::kNode,  Phase::kLink,      Phase::kDevice,
                                   Phase::kBurst, Phase::kSustained, Phase::kWarm,
                                   Phase::kSoak,  Phase::kNodeLoad};

// Keeps an exception (no process, no memory) from affecting other devices.
template <class Function>
void guarded(DeviceRun& run, Function function) {
  try {
    function();
  } catch (const std::exception& error) {
    run.give_up(reason_of(error));
  }
}

void measure_host(Session& session, const Plan& plan) {
  for (const DevicePlan& device : plan.devices) {
    if (device.device != kHostDevice) continue;
    DeviceRun run(session, device, "");
    guarded(run, [&] {
      run.run(Phase::kHost);
      run.finish();
    });
  }
}

// One thread per device, since its worker, which keeps findings between points, dies with the
// thread. All devices finish a phase before the next. The node counts as a device and measures
// while no GPU's worker does: workers keep their memory until they end, and EXCLUSIVE_PROCESS
// admits one process per GPU.
void measure_gpus(Session& session, const Plan& plan) {
  std::vector<const DevicePlan*> gpus;
  for (const DevicePlan& device : plan.devices) {
    if (device.device != kHostDevice) gpus.push_back(&device);
  }
  if (gpus.empty()) return;
  std::barrier phase_end(static_cast<std::ptrdiff_t>(gpus.size()));
  std::mutex link;
  std::vector<std::jthread> threads;
  threads.reserve(gpus.size());
  for (const DevicePlan* device : gpus) {
    const auto measure = [&session, &phase_end, &link, device] {
      DeviceRun run(session, *device, session.why_unusable(device->device));
      for (const Phase phase : kGpuPhases) {
        if (phase == Phase::kLink) {
          // Workers of GPUs start while the node's ends, before any link is timed.
          guarded(run, [&] { device->device == kNodeDevice ? run.finish() : run.prepare(); });
          phase_end.arrive_and_wait();
        }
        {
          std::unique_lock<std::mutex> alone(link, std::defer_lock);
          if (phase == Phase::kLink) alone.lock();
          guarded(run, [&] { run.run(phase); });
        }
        if (run.done() && phase != Phase::kNode) guarded(run, [&] { run.finish(); });
        phase_end.arrive_and_wait();
      }
      guarded(run, [&] { run.finish(); });
    };
    try {
      threads.emplace_back(measure);
    } catch (const std::system_error& error) {
      DeviceRun(session, *device, "").give_up(reason_of(error));
      phase_end.arrive_and_drop();  // the others do not wait for it
    }
  }
}

// Restores the plan's order, as devices work concurrently, so that profiles can be compared.
void sort_by_device(std::vector<Measurement>& measurements, const Plan& plan) {
  const auto rank = [&](const Measurement& m) {
    return std::ranges::find(plan.devices, m.device, &DevicePlan::device);
  };
  std::ranges::stable_sort(measurements, {}, rank);
}

std::string other_user(const std::vector<DeviceFacts>& devices) {
  for (const DeviceFacts& device : devices)
    for (const std::string& user : other_users(device))
      return fmt::format("GPU {}: {}", device.index, user);
  return "";
}

}  // namespace

RunResult run_plan(const Plan& plan, const RunSettings& settings, Profile start, Gpus* gpus,
                   const Interrupt& interrupt, Progress& progress) {
  Session session(settings, std::move(start), interrupt, progress);
  if (gpus != nullptr)
    for (DeviceFacts& device : session.devices()) gpus->read_before(device);
  const bool in_use = settings.if_idle && !other_user(session.devices()).empty();
  for (std::size_t run = 0; run < settings.runs; ++run) {
    if (session.stopped() || in_use) {
      session.cut_short();
      break;
    }
    session.begin_run();
    measure_host(session, plan);
    measure_gpus(session, plan);
  }
  if (gpus != nullptr)
    for (DeviceFacts& device : session.devices()) gpus->read_after(device, session.workers());

  Profile profile = session.take_profile();
  sort_by_device(profile.measurements, plan);
  const bool cut_short = session.is_cut_short() || profile.measurements.size() < plan.size();
  profile.complete = !cut_short && std::ranges::count(profile.measurements, Status::kError,
                                                      &Measurement::status) == 0;
  const bool stopped = !profile.complete && (session.stopped() || in_use);
  return {concluded(std::move(profile), settings), session.saved(), stopped};
}

std::string other_user(const Profile& profile) { return other_user(profile.devices); }

}  // namespace peakline::bench
