#include "harness/benchmark/device.hpp"

#include <iostream>
#include <optional>

#include "harness/benchmark/host_bench.hpp"
#ifdef PEAKLINE_HAS_CUDA
#include "harness/benchmark/cuda_bench.hpp"
#include "harness/cuda/device.hpp"
#include "harness/cuda/nvml.hpp"
#endif

namespace peakline::bench {
namespace {

// Runs the entry on a Bench of its kind. The record outlives a benchmark that throws.
template <class B>
void run_on(B& bench, const Entry& entry, Measurement& record) {
  try {
    std::get<std::function<void(B&)>> (*entry.run)(bench);
  } catch (...) {
    record = bench.record();
    throw;
  }
  record = bench.record();
}

class HostDevice : public Device {
 public:
  using Device::Device;
  DeviceFacts facts() const override {
    DeviceFacts facts;
    facts.uuid = kHostDevice;
    facts.name = kHostDevice;
    return facts;
  }

 protected:
  void run(const Entry& entry, const RunOptions& options, WorkerCache& cache,
           Measurement& record) override {
    HostBench bench(*entry.benchmark, *entry.point, options, cache);
    run_on(bench, entry, record);
  }
};

#ifdef PEAKLINE_HAS_CUDA
class CudaDevice : public Device {
 public:
  CudaDevice(const std::string& name, const RunOptions& options) : Device(name, options) {
    try {
      nvml_.emplace();
    } catch (const cuda::NvmlUnavailable& unavailable) {
      std::cerr << "peakline: no telemetry: " << unavailable.what() << '\n';
    }
    session_.emplace(nvml_ ? &*nvml_ : nullptr, options);
  }
  DeviceFacts facts() const override { return session_->facts; }
  bool lost() const override { return cuda::context_lost(); }

 protected:
  void run(const Entry& entry, const RunOptions& options, WorkerCache& cache,
           Measurement& record) override {
    CudaBench bench(*entry.benchmark, *entry.point, options, cache, *session_);
    run_on(bench, entry, record);
  }

 private:
  std::optional<cuda::Nvml> nvml_;
  std::optional<CudaSession> session_;
};
#endif

}  // namespace

Measurement Device::measure(const Entry& entry) {
  const double start_s = host::now_s();
  Measurement record;
  const auto failed = [&](Status status, const std::string& reason) {
    record.status = status;
    record.reason = reason;
    record.value.reset();
    record.summary.reset();
    record.samples_s.clear();
    record.series = {};
  };
  try {
    run(entry, options_, cache_, record);
    // A launch that failed asynchronously must not count as a result.
    if (lost()) failed(Status::kError, "the device reported an error after the measurement");
  } catch (const Skipped& skipped) {
    failed(Status::kSkipped, skipped.what());
  } catch (const std::exception& error) {
    failed(Status::kError, error.what());
  }
  record.device = name_;
  record.duration_s = host::now_s() - start_s;
  return record;
}

std::unique_ptr<Device> open_device(const std::string& name, const RunOptions& options) {
  if (name == kHostDevice) return std::make_unique<HostDevice>(name, options);
#ifdef PEAKLINE_HAS_CUDA
  return std::make_unique<CudaDevice>(name, options);
#else
  throw std::runtime_error("this build has no CUDA");
#endif
}

}  // namespace peakline::bench
