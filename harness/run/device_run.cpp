#include "harness/run/device_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/profile/profile.hpp"
#include "harness/run/worker.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {
namespace {

// Creating a CUDA context takes tens of seconds if the driver is not kept loaded.
constexpr double kStartLimitS = 120;
// A point may take this many times its estimate, plus a constant for slow machines.
constexpr double kHangFactor = 10;
constexpr double kHangConstantS = 20;
// Time spent waiting for a CPU is granted in addition, up to this many times the limit: at the
// lowest priority a busy machine grants hardly any CPU.
constexpr double kMostWaiting = 10;
constexpr auto kShortestWait = std::chrono::milliseconds(100);
// Allows for one transient fault.
constexpr int kStartAttempts = 2;
// Workers end within milliseconds; destroying a CUDA context may take a second.
constexpr auto kEndGrace = std::chrono::seconds(3);
constexpr auto kProfilerGrace = std::chrono::minutes(5);

double share_of_sitting(const PlannedPoint& planned) {
  return planned.share_s / static_cast<double>(planned.sittings);
}

}  // namespace

DeviceRun::DeviceRun(Session& session, const DevicePlan& plan, std::string unusable)
    : session_(session), plan_(plan), unusable_(std::move(unusable)) {
  if (!unusable_.empty()) report_unusable();
}

void DeviceRun::prepare() {
  if (!worker_ && unusable_.empty() && !done() && !session_.stopped()) start();
}

void DeviceRun::run(Phase phase) {
  const std::size_t first = next_;
  for (; next_ < plan_.points.size() && plan_.points[next_].point->phase == phase; ++next_) {
    if (session_.stopped()) return session_.cut_short();
    visit(plan_.points[next_], false);
  }
  const std::span points = std::span(plan_.points).subspan(first, next_ - first);
  for (std::size_t sitting = 1; sitting < kMostSittings; ++sitting) {
    const auto sources = session_.ceiling_sources(plan_.device);
    for (const PlannedPoint& planned : points) {
      if (planned.sittings <= sitting) continue;
      if (session_.stopped()) return session_.cut_short();
      const bool again = sources.contains(planned.name) && !session_.settings().options.profile;
      if (again && unusable_.empty()) {
        visit(planned, true);
      } else {
        session_.progress().passed_over(plan_.device, share_of_sitting(planned), true);
      }
    }
  }
}

void DeviceRun::visit(const PlannedPoint& planned, bool again) {
  std::optional<Measurement> measurement;
  if (unusable_.empty()) {
    session_.progress().started(plan_.device, planned.name, again);
    measurement = measure_or_retry_alone(planned);
    if (measurement && session_.implausible(*measurement) && !session_.settings().options.profile)
      measurement = measured_again(planned, *std::move(measurement));
  }
  if (!unusable_.empty()) {
    pass_over(planned, again);
  } else if (measurement) {
    session_.progress().finished(*measurement, share_of_sitting(planned), again);
    session_.add(std::move(*measurement), tolerated_shift(*planned.benchmark, *planned.point));
  } else {
    session_.cut_short();
  }
}

void DeviceRun::finish() {
  if (!worker_) return;
  const bool profile = session_.settings().options.profile && !session_.stopped();
  worker_->end(profile ? kProfilerGrace : kEndGrace);
  worker_.reset();
}

void DeviceRun::give_up(const std::string& reason) {
  worker_.reset();
  make_unusable(reason);
  for (; next_ < plan_.points.size() && !session_.stopped(); ++next_) {
    pass_over(plan_.points[next_]);
  }
}

Measurement DeviceRun::failure(const PlannedPoint& planned, const std::string& reason,
                               double duration_s) const {
  Measurement m = unmeasured(*planned.benchmark, *planned.point);
  m.device = plan_.device;
  m.status = Status::kError;
  m.reason = reason;
  m.duration_s = duration_s;
  return m;
}

void DeviceRun::pass_over(const PlannedPoint& planned, bool again) {
  session_.progress().passed_over(plan_.device, share_of_sitting(planned), again);
  session_.add_unmeasured(failure(planned, unusable_, 0));
}

void DeviceRun::make_unusable(std::string reason) {
  unusable_ = std::move(reason);
  session_.set_unusable(plan_.device, unusable_);
  report_unusable();
}

void DeviceRun::report_unusable() {
  session_.progress().error(fmt::format("{}: {}; {} of its {} points cannot be measured",
                                        session_.progress().name_of(plan_.device), unusable_,
                                        plan_.points.size() - next_, plan_.points.size()));
}

std::string DeviceRun::why_not_together(const PlannedPoint& planned) {
  for (const int gpu : planned.point->gpus)
    if (const std::string why = session_.why_unusable(gpu); !why.empty())
      return fmt::format("GPU {}: {}", gpu, why);
  return faults_.why_not(part_of(planned.benchmark->id), planned.point->gpus);
}

void DeviceRun::excuse(Measurement& measurement) {
  measurement.status = Status::kSkipped;
  measurement.never_run = true;
  measurement.verified.reset();
  measurement.reason = fmt::format("{}: {}", kFailedWhereNeverRun, measurement.reason);
}

std::optional<Measurement> DeviceRun::measure_or_retry_alone(const PlannedPoint& planned) {
  if (const std::string why = why_not_together(planned); !why.empty())
    return failure(planned, why, 0);
  const std::string area(part_of(planned.benchmark->id));
  if (!alone_.empty() && alone_ != area) {
    worker_.reset();
    alone_.clear();
  }
  auto measurement = measure(planned);
  if (!measurement || measurement->status != Status::kError) return measurement;
  // A neighbour may have failed.
  if (planned.point->round > 0 && alone_.empty()) {
    worker_.reset();
    alone_ = area;
    measurement = measure(planned);
  }
  if (!worker_) faults_.add(area, planned.point->gpus);
  if (measurement && measurement->status == Status::kError && planned.benchmark->never_run)
    excuse(*measurement);
  return measurement;
}

Measurement DeviceRun::measured_again(const PlannedPoint& planned, Measurement first) {
  auto second = measure_or_retry_alone(planned);
  if (!second || second->status != Status::kOk) return first;
  second->duration_s += first.duration_s;
  second->reason +=
      fmt::format("{}measured again: {} is above what the hardware can do",
                  second->reason.empty() ? "" : "; ", format_value(*first.value, first.unit));
  return *std::move(second);
}

std::optional<Measurement> DeviceRun::measure(const PlannedPoint& planned) {
  for (;;) {
    if (!worker_ && !start()) return std::nullopt;
    const auto began = Clock::now();
    const double limit_s = planned.point->seconds * kHangFactor + kHangConstantS;
    // Under ncu or a sanitizer, points may take any time.
    const auto deadline = session_.settings().options.profile ? Clock::time_point::max()
                                                              : began + to_duration(limit_s);
    std::string answer;
    // wait() notices if the worker has ended.
    worker_->write_line(planned.name);
    switch (wait(answer, deadline)) {
      case Wait::kStopped:
        worker_.reset();
        return std::nullopt;
      case Wait::kFailed:
        worker_.reset();
        // It lost its device at an earlier point: this point is not at fault.
        if (end_.exit_code == kWorkerDeviceLost && answered_ > 0) continue;
        return failure(planned, failure_, seconds_since(began));
      case Wait::kLine:
        break;
    }
    try {
      Measurement measurement = read_answer(answer, planned);
      ++answered_;
      return measurement;
    } catch (const ProfileError& error) {
      worker_.reset();
      return failure(planned, error.what(), seconds_since(began));
    }
  }
}

Measurement DeviceRun::read_answer(const std::string& answer, const PlannedPoint& planned) const {
  Measurement measurement = measurement_from_json_line(answer);
  if (measurement.name() != planned.name || measurement.device != plan_.device) {
    throw ProfileError(fmt::format("the worker answered {} instead", measurement.name()));
  }
  return measurement;
}

bool DeviceRun::start() {
  RunOptions options = session_.settings().options;
  std::string visible = plan_.device == kHostDevice ? "" : plan_.device;
  if (plan_.device == kNodeDevice) {
    std::vector<std::string> uuids;
    for (const auto& [index, uuid] : session_.usable_gpus()) {
      options.visible_gpus.push_back(index);
      uuids.push_back(uuid);
    }
    visible = fmt::format("{}", fmt::join(uuids, ","));
    options.alone = !alone_.empty();
  }
  const std::vector<std::pair<std::string, std::string>> environment = {
      {"CUDA_VISIBLE_DEVICES", visible}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  for (int attempt = 1; !session_.stopped(); ++attempt) {
    answered_ = 0;
    worker_ = std::make_unique<WorkerProcess>(
        std::vector{plan_.device, worker_options(options)}, environment,
        [this](std::string_view line) { session_.progress().log(plan_.device, line); });
    session_.add_worker(worker_->pid());
    std::string line;
    const Wait outcome = wait(line, Clock::now() + to_duration(kStartLimitS));
    if (outcome == Wait::kLine && take_facts(line)) return true;
    worker_.reset();
    if (outcome == Wait::kStopped || !unusable_.empty()) return false;
    if (attempt == kStartAttempts) {
      make_unusable("the worker cannot be started: " + failure_);
      return false;
    }
  }
  return false;
}

bool DeviceRun::take_facts(const std::string& line) {
  try {
    const DeviceFacts facts = device_facts_from_json_line(line);
    if (facts.unusable.empty()) {
      session_.add_facts(facts);
      return true;
    }
    make_unusable(facts.unusable);
  } catch (const ProfileError& error) {
    failure_ = error.what();
  }
  return false;
}

DeviceRun::Wait DeviceRun::wait(std::string& line, Clock::time_point deadline) {
  const auto began = Clock::now();
  const double waited_before_s = worker_->waited_for_cpu_s();
  end_ = {};
  for (auto until = deadline;;) {
    switch (
        worker_->read_line(line, std::min(until, session_.deadline()), session_.interrupt_fd())) {
      case WorkerProcess::Read::kLine:
        return Wait::kLine;
      case WorkerProcess::Read::kInterrupted:
        return Wait::kStopped;
      case WorkerProcess::Read::kEnded:
        end_ = worker_->end(kEndGrace);
        failure_ = "the worker " + end_.how;
        return Wait::kFailed;
      case WorkerProcess::Read::kEndless:
        failure_ = "the worker sent an endless answer";
        return Wait::kFailed;
      case WorkerProcess::Read::kTimeout:
        break;
    }
    if (session_.time_is_up()) return Wait::kStopped;
    // Waiting for a CPU is no hang.
    const double limit_s = std::chrono::duration<double>(deadline - began).count();
    const double waited_s = worker_->waited_for_cpu_s() - waited_before_s;
    until = deadline + to_duration(std::min(waited_s, kMostWaiting * limit_s));
    if (until > Clock::now() + kShortestWait) continue;
    failure_ = fmt::format("no answer in {:.0f} s", seconds_since(began));
    if (waited_s > 1) failure_ += fmt::format(", {:.0f} s of which it waited for a CPU", waited_s);
    return Wait::kFailed;
  }
}

}  // namespace peakline::bench
