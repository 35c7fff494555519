#include "harness/run/coordinator.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "harness/core/conclusions.hpp"
#include "harness/core/units.hpp"
#include "harness/profile/profile.hpp"

namespace peakline::bench {
namespace {

using Clock = WorkerProcess::Clock;

// A CUDA context on a node whose driver is not kept loaded takes tens of seconds.
constexpr double kStartLimitS = 120;
// A point is given up after this many times what it should take, and a constant for slow machines.
constexpr double kHangFactor = 10;
constexpr double kHangConstantS = 20;
// What SIGKILL on the coordinator may cost.
constexpr auto kCheckpointInterval = std::chrono::seconds(10);
// A worker that cannot start may have met a passing fault once, but not twice.
constexpr int kStartAttempts = 2;
// What a worker ends with whose device failed for good, after having answered (worker.hpp).
constexpr int kDeviceFailed = 3;

// A worker ends by itself within milliseconds; tearing a CUDA context down may take a second.
constexpr auto kEndGrace = std::chrono::seconds(3);
constexpr auto kProfilerGrace = std::chrono::minutes(5);

constexpr std::array kPhases = {Phase::kLink,      Phase::kDevice, Phase::kBurst,
                                Phase::kSustained, Phase::kWarm,   Phase::kSoak};

Clock::duration seconds(double s) {
  constexpr double kLongest = 1e9;  // thirty years; the clock's type ends at some three hundred
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(s, kLongest)));
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The profile as it is written: with what follows from its measurements.
Profile concluded(Profile profile, const RunSettings& settings) {
  if (settings.anonymize) profile = anonymized(std::move(profile));
  return with_conclusions(std::move(profile), settings.benchmarks);
}

// What the devices' threads share: the profile being filled and the reasons to stop.
class Session {
 public:
  Session(const RunSettings& settings, Profile start, const Interrupt& interrupt,
          Progress& progress)
      : settings_(settings),
        interrupt_(interrupt),
        progress_(progress),
        profile_(std::move(start)) {
    if (settings.time_limit_s) deadline_ = start_ + seconds(*settings.time_limit_s);
    write_profile(concluded(profile_, settings_), settings_.output);
  }

  const RunSettings& settings() const { return settings_; }
  Progress& progress() { return progress_; }
  int interrupt_fd() const { return interrupt_.fd(); }
  Clock::time_point deadline() const { return deadline_; }
  bool time_is_up() const { return Clock::now() >= deadline_; }
  bool stopped() const { return interrupt_.requested() || time_is_up(); }

  void add(Measurement measurement) {
    const std::lock_guard lock(mutex_);
    profile_.measurements.push_back(std::move(measurement));
    if (Clock::now() - last_checkpoint_ < kCheckpointInterval) return;
    profile_.duration_s = seconds_since(start_);
    try {
      write_profile(concluded(profile_, settings_), settings_.output);
    } catch (const ProfileError& error) {
      progress_.note(error.what());  // the run goes on: there may be room again at its end
    }
    last_checkpoint_ = Clock::now();
  }

  void add_facts(const DeviceFacts& facts) {
    const std::lock_guard lock(mutex_);
    for (DeviceFacts& device : profile_.devices) {
      if (device.uuid == facts.uuid) merge(device, facts);
    }
  }

  void add_pid(pid_t pid) {
    const std::lock_guard lock(mutex_);
    pids_.insert(pid);
  }

  void set_unusable(const std::string& uuid, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    for (DeviceFacts& device : profile_.devices) {
      if (device.uuid == uuid) device.unusable = reason;
    }
  }

  std::vector<DeviceFacts>& devices() { return profile_.devices; }
  const std::set<pid_t>& pids() const { return pids_; }

  Profile take() {
    profile_.duration_s = seconds_since(start_);
    return std::move(profile_);
  }

 private:
  const RunSettings& settings_;
  const Interrupt& interrupt_;
  Progress& progress_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point deadline_ = Clock::time_point::max();
  std::mutex mutex_;
  Profile profile_;
  std::set<pid_t> pids_;
  Clock::time_point last_checkpoint_ = start_;
};

// One device's points, measured by its worker. To be used from one thread: the worker dies with it.
class DeviceRun {
 public:
  // unusable: why the device cannot be measured, if so.
  DeviceRun(Session& session, const DevicePlan& plan, std::string unusable)
      : session_(session), plan_(plan), unusable_(std::move(unusable)) {
    if (!unusable_.empty()) tell_unusable();
  }

  void run(Phase phase) {
    for (; next_ < plan_.points.size() && plan_.points[next_].point->phase == phase; ++next_) {
      if (session_.stopped()) return;
      const PlannedPoint& planned = plan_.points[next_];
      if (!unusable_.empty()) {
        pass_over(planned);
        continue;
      }
      session_.progress().started(plan_.device, planned.name);
      std::optional<Measurement> measurement = measure(planned);
      if (!unusable_.empty()) {
        pass_over(planned);
      } else if (measurement) {
        session_.progress().finished(*measurement, planned.share_s);
        session_.add(std::move(*measurement));
      }
    }
  }

  // Lets the worker end by itself, as profilers that watch it need in order to save what they saw.
  void finish() {
    if (!worker_) return;
    const bool profile = session_.settings().options.profile && !session_.stopped();
    worker_->end(profile ? kProfilerGrace : kEndGrace);
    worker_.reset();
  }

  // Records what is left as failed; for what no point can be blamed for.
  void give_up(const std::string& reason) {
    worker_.reset();
    make_unusable(reason);
    for (; next_ < plan_.points.size() && !session_.stopped(); ++next_) {
      pass_over(plan_.points[next_]);
    }
  }

 private:
  // What came of waiting for a line.
  enum class Wait { kLine, kStopped, kFailed };

  Measurement failure(const PlannedPoint& planned, const std::string& reason,
                      double duration_s) const {
    Measurement m;
    m.id = planned.benchmark->id;
    m.params = planned.point->params;
    m.device = plan_.device;
    m.status = Status::kError;
    m.reason = reason;
    m.unit = unit_of(planned.benchmark->quantity);
    m.method_version = planned.benchmark->method_version;
    m.duration_s = duration_s;
    return m;
  }

  void pass_over(const PlannedPoint& planned) {
    session_.progress().passed_over(planned.share_s);
    session_.add(failure(planned, unusable_, 0));
  }

  void make_unusable(std::string reason) {
    unusable_ = std::move(reason);
    session_.set_unusable(plan_.device, unusable_);
    tell_unusable();
  }

  void tell_unusable() {
    const std::size_t left = plan_.points.size() - next_;
    session_.progress().error(fmt::format("{}: {}; {} of its {} points are not measured",
                                          session_.progress().name_of(plan_.device), unusable_,
                                          left, plan_.points.size()));
  }

  // nullopt: stopped meanwhile, or the device is unusable.
  std::optional<Measurement> measure(const PlannedPoint& planned) {
    for (;;) {
      if (!worker_ && !start()) return std::nullopt;
      const auto began = Clock::now();
      const double limit_s = planned.point->seconds * kHangFactor + kHangConstantS;
      // Under ncu or a sanitizer a point may take any time.
      const auto deadline =
          session_.settings().options.profile ? Clock::time_point::max() : began + seconds(limit_s);
      std::string answer;
      // A worker that does not read has ended, as the wait will find.
      worker_->write_line(planned.name);
      switch (wait(answer, deadline)) {
        case Wait::kStopped:
          worker_.reset();
          return std::nullopt;
        case Wait::kFailed:
          worker_.reset();
          // It had ended with its last answer: this point is not to blame.
          if (end_.exit_code == kDeviceFailed && answered_ > 0) continue;
          return failure(planned, failure_, seconds_since(began));
        case Wait::kLine:
          break;
      }
      try {
        Measurement measurement = measurement_from_json_line(answer);
        if (measurement.name() != planned.name || measurement.device != plan_.device) {
          throw ProfileError(fmt::format("the worker answered {} instead", measurement.name()));
        }
        ++answered_;
        return measurement;
      } catch (const ProfileError& error) {
        worker_.reset();
        return failure(planned, error.what(), seconds_since(began));
      }
    }
  }

  // Starts a worker and takes its facts. False: stopped meanwhile, or the device is unusable now.
  bool start() {
    for (int attempt = 1; !session_.stopped(); ++attempt) {
      answered_ = 0;
      std::vector<std::pair<std::string, std::string>> environment = {
          {"CUDA_VISIBLE_DEVICES", plan_.device == kHostDevice ? "" : plan_.device},
          {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
      worker_ = std::make_unique<WorkerProcess>(
          worker_arguments(plan_.device, session_.settings().options), environment,
          [this](std::string_view line) { session_.progress().log(plan_.device, line); });
      session_.add_pid(worker_->pid());
      std::string line;
      const Wait outcome = wait(line, Clock::now() + seconds(kStartLimitS));
      if (outcome == Wait::kStopped) break;
      if (outcome == Wait::kLine) {
        try {
          const DeviceFacts facts = device_facts_from_json_line(line);
          if (!facts.unusable.empty()) {
            make_unusable(facts.unusable);
            break;
          }
          session_.add_facts(facts);
          return true;
        } catch (const ProfileError& error) {
          failure_ = error.what();
        }
      }
      worker_.reset();
      if (attempt == kStartAttempts) {
        make_unusable("the worker does not start: " + failure_);
        return false;
      }
    }
    worker_.reset();
    return false;
  }

  // Waits for the worker's next line. kFailed: `failure_` says why, and `end_` how it ended.
  Wait wait(std::string& line, Clock::time_point deadline) {
    const auto began = Clock::now();
    end_ = {};
    switch (worker_->read_line(line, std::min(deadline, session_.deadline()),
                               session_.interrupt_fd())) {
      case WorkerProcess::Read::kLine:
        return Wait::kLine;
      case WorkerProcess::Read::kInterrupted:
        return Wait::kStopped;
      case WorkerProcess::Read::kTimeout:
        if (session_.time_is_up()) return Wait::kStopped;
        failure_ = fmt::format("no answer in {:.0f} s", seconds_since(began));
        return Wait::kFailed;
      case WorkerProcess::Read::kEnded:
        end_ = worker_->end(kEndGrace);
        failure_ = "the worker " + end_.how;
        return Wait::kFailed;
    }
    return Wait::kFailed;
  }

  Session& session_;
  const DevicePlan& plan_;
  std::size_t next_ = 0;
  std::string unusable_;
  std::unique_ptr<WorkerProcess> worker_;
  int answered_ = 0;  // by this worker
  std::string failure_;
  WorkerProcess::End end_;
};

// Runs what may throw (no process, no memory) without losing the other devices.
template <class Function>
void guarded(DeviceRun& run, Function function) {
  try {
    function();
  } catch (const std::exception& error) {
    run.give_up(error.what());
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

// One thread a device for all phases, since its worker, which lives as long, knows what earlier
// points found out. No device enters a phase before all have left the one before.
void measure_gpus(Session& session, const Plan& plan) {
  std::vector<const DevicePlan*> gpus;
  for (const DevicePlan& device : plan.devices) {
    if (device.device != kHostDevice) gpus.push_back(&device);
  }
  if (gpus.empty()) return;
  std::barrier phase_end(static_cast<std::ptrdiff_t>(gpus.size()));
  std::mutex link;
  std::map<std::string, std::string> unusable;  // read here: the threads may add to the facts
  for (const DeviceFacts& device : session.devices()) unusable[device.uuid] = device.unusable;
  std::vector<std::jthread> threads;
  for (const DevicePlan* device : gpus) {
    threads.emplace_back([&session, &phase_end, &link, &unusable, device] {
      DeviceRun run(session, *device, unusable.at(device->device));
      for (const Phase phase : kPhases) {
        {
          std::unique_lock<std::mutex> alone(link, std::defer_lock);
          if (phase == Phase::kLink) alone.lock();
          guarded(run, [&] { run.run(phase); });
        }
        phase_end.arrive_and_wait();
      }
      guarded(run, [&] { run.finish(); });
    });
  }
}

}  // namespace

std::vector<std::string> worker_arguments(const std::string& device, const RunOptions& options) {
  std::vector<std::string> arguments = {"--device",      device,
                                        "--max-noise",   fmt::format("{}", options.max_noise * 100),
                                        "--min-samples", std::to_string(options.min_samples),
                                        "--seed",        std::to_string(options.seed)};
  if (options.soak_s > 0)
    arguments.insert(arguments.end(), {"--soak", fmt::format("{}", options.soak_s)});
  if (options.quick) arguments.push_back("--quick");
  if (!options.verify) arguments.push_back("--no-verify");
  if (options.profile) arguments.push_back("--profile");
  return arguments;
}

std::vector<std::pair<std::string, std::string>> environment_that_matters() {
  // How kernels are launched, compiled and scheduled, which units cuBLAS may use, and what is
  // loaded into every process.
  constexpr std::array<std::string_view, 13> kNames = {"CUDA_LAUNCH_BLOCKING",
                                                       "CUDA_DEVICE_MAX_CONNECTIONS",
                                                       "CUDA_MODULE_LOADING",
                                                       "CUDA_FORCE_PTX_JIT",
                                                       "CUDA_DISABLE_PTX_JIT",
                                                       "CUDA_SCALE_LAUNCH_QUEUES",
                                                       "CUDA_AUTO_BOOST",
                                                       "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                                                       "CUDA_MPS_PIPE_DIRECTORY",
                                                       "CUDA_INJECTION64_PATH",
                                                       "NVIDIA_TF32_OVERRIDE",
                                                       "GLIBC_TUNABLES",
                                                       "LD_PRELOAD"};
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == text.npos) continue;
    const std::string_view name = text.substr(0, equals);
    const bool matters =
        name.starts_with("CUBLAS") || std::find(kNames.begin(), kNames.end(), name) != kNames.end();
    if (matters) found.emplace_back(name, text.substr(equals + 1));
  }
  std::sort(found.begin(), found.end());
  return found;
}

Profile run_plan(const Plan& plan, const RunSettings& settings, Profile start, Gpus* gpus,
                 const Interrupt& interrupt, Progress& progress) {
  Session session(settings, std::move(start), interrupt, progress);
  for (DeviceFacts& device : session.devices()) gpus->read_before(device);
  measure_host(session, plan);
  measure_gpus(session, plan);
  for (DeviceFacts& device : session.devices()) gpus->read_after(device, session.pids());

  Profile profile = session.take();
  // Devices work at the same time: sorted, so that two profiles of one machine can be compared.
  std::stable_sort(profile.measurements.begin(), profile.measurements.end(),
                   [&](const Measurement& a, const Measurement& b) {
                     const auto rank = [&](const Measurement& m) {
                       return std::find_if(
                           plan.devices.begin(), plan.devices.end(),
                           [&](const DevicePlan& d) { return d.device == m.device; });
                     };
                     return rank(a) < rank(b);
                   });
  const auto failed =
      std::count_if(profile.measurements.begin(), profile.measurements.end(),
                    [](const Measurement& m) { return m.status == Status::kError; });
  profile.complete = failed == 0 && profile.measurements.size() == plan.size();
  return concluded(std::move(profile), settings);
}

}  // namespace peakline::bench
