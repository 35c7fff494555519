#include "harness/run/worker.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>

#include "harness/benchmark/host_bench.hpp"
#include "harness/host/facts.hpp"
#include "harness/profile/profile.hpp"
#ifdef PEAKLINE_HAS_CUDA
#include "harness/benchmark/cuda_bench.hpp"
#include "harness/cuda/device.hpp"
#include "harness/cuda/nvml.hpp"
#endif

namespace peakline::bench {
namespace {

constexpr int kDeviceLost = 3;

void write_line(int fd, const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = write(fd, text.data() + sent, text.size() - sent);
    if (n <= 0) throw std::runtime_error("the coordinator is gone");
    sent += static_cast<std::size_t>(n);
  }
}

// Google Benchmark's filter is a regular expression; a name has to match itself alone, with what
// Google Benchmark appends for the way in which every point is registered.
std::string exactly(const std::string& name) {
  std::string pattern = "^";
  for (const char c : name) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  // Google Benchmark appends to the name how it was registered.
  return pattern + "/iterations:1/manual_time$";
}

// Emits the record that the point's function has filled, whatever became of it.
class RecordReporter : public ::benchmark::BenchmarkReporter {
 public:
  RecordReporter(int fd, const Measurement& record) : fd_(fd), record_(record) {}
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override { write_line(fd_, to_json_line(record_)); }

 private:
  int fd_;
  const Measurement& record_;
};

// A device as the worker sees it: how to make a Bench for it, and whether it still works.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceFacts facts() const = 0;
  virtual std::unique_ptr<Bench> bench(const Benchmark&, const Point&, const RunOptions&,
                                       Memory&) = 0;
  virtual bool lost() const { return false; }
};

class HostDevice : public Device {
 public:
  DeviceFacts facts() const override {
    DeviceFacts facts;
    facts.uuid = kHostDevice;
    facts.name = kHostDevice;
    return facts;
  }
  std::unique_ptr<Bench> bench(const Benchmark& benchmark, const Point& point,
                               const RunOptions& options, Memory& memory) override {
    return std::make_unique<HostBench>(benchmark, point, options, memory);
  }
};

#ifdef PEAKLINE_HAS_CUDA
class CudaDevice : public Device {
 public:
  CudaDevice() {
    try {
      nvml_.emplace();
    } catch (const cuda::NvmlUnavailable& unavailable) {
      std::cerr << "peakline: no telemetry: " << unavailable.what() << '\n';
    }
    session_.emplace(nvml_ ? &*nvml_ : nullptr);
  }
  DeviceFacts facts() const override { return session_->facts; }
  std::unique_ptr<Bench> bench(const Benchmark& benchmark, const Point& point,
                               const RunOptions& options, Memory& memory) override {
    return std::make_unique<CudaBench>(benchmark, point, options, memory, *session_);
  }
  bool lost() const override { return cuda::context_lost(); }

 private:
  std::optional<cuda::Nvml> nvml_;
  std::optional<CudaSession> session_;
};
#endif

std::unique_ptr<Device> open_device(const std::string& device) {
  if (device == kHostDevice) return std::make_unique<HostDevice>();
#ifdef PEAKLINE_HAS_CUDA
  return std::make_unique<CudaDevice>();
#else
  throw std::runtime_error("this build has no CUDA");
#endif
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int run_worker(const std::string& device_name, const RunOptions& options, Catalog catalog,
               int in_fd, int out_fd) {
  std::unique_ptr<Device> device;
  DeviceFacts facts;
  try {
    device = open_device(device_name);
    facts = device->facts();
  } catch (const std::exception& error) {
    facts.uuid = device_name;
    facts.unusable = error.what();
  }
  write_line(out_fd, to_json_line(facts));
  if (!facts.unusable.empty()) return kDeviceLost;

  Registry registry;
  catalog(registry, host::usable_threads(), options.soak_s);
  Memory memory;
  Measurement record;
  registry.set_runner(
      [&](const Benchmark& benchmark, const Point& point, const std::function<void(Bench&)>& run) {
        const double start_s = now_s();
        const std::unique_ptr<Bench> bench = device->bench(benchmark, point, options, memory);
        Measurement& filled = bench->record();
        const auto failed = [&](Status status, const std::string& reason) {
          filled.status = status;
          filled.reason = reason;
          filled.value.reset();
          filled.summary.reset();
          filled.samples_s.clear();
          filled.series = {};
        };
        try {
          run(*bench);
          // A launch that failed asynchronously must not pass for a result.
          if (device->lost()) failed(Status::kError, "the device reported an error after the work");
        } catch (const Skipped& skipped) {
          failed(Status::kSkipped, skipped.what());
        } catch (const std::exception& error) {
          failed(Status::kError, error.what());
        }
        filled.device = device_name;
        filled.duration_s = now_s() - start_s;
        record = filled;
        return record.summary ? record.summary->median : 0.0;
      });

  std::FILE* const in = fdopen(in_fd, "r");
  if (in == nullptr) throw std::runtime_error("worker: cannot read its input");
  int code = 0;
  char* line = nullptr;
  std::size_t room = 0;
  for (ssize_t length; code == 0 && (length = getline(&line, &room, in)) > 0;) {
    std::string name(line, static_cast<std::size_t>(length));
    if (name.back() == '\n') name.pop_back();
    if (registry.find(name).first == nullptr) {
      Measurement unknown;
      unknown.id = name;
      unknown.device = device_name;
      unknown.status = Status::kError;
      unknown.reason = "no such benchmark";
      write_line(out_fd, to_json_line(unknown));
      continue;
    }
    RecordReporter reporter(out_fd, record);
    if (::benchmark::RunSpecifiedBenchmarks(&reporter, nullptr, exactly(name)) != 1)
      throw std::logic_error("Google Benchmark does not find " + exactly(name));
    if (record.status == Status::kError && device->lost()) code = kDeviceLost;
  }
  std::free(line);
  std::fclose(in);
  return code;
}

}  // namespace peakline::bench
