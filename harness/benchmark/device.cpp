#include "harness/benchmark/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <iostream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "harness/benchmark/host_bench.hpp"
#include "harness/values/clock.hpp"
#include "harness/values/text.hpp"
#ifdef PEAKLINE_HAS_CUDA
#include "harness/benchmark/node_bench.hpp"
#include "harness/cuda/device.hpp"
#include "harness/cuda/nvml.hpp"
#endif

namespace peakline::bench {
namespace {

// Runs the entry if this Bench is of its kind or a subclass. The record survives an exception.
template <class B>
void run_on(B& bench, const Entry& entry, Measurement& record) {
  try {
    std::visit(
        [&](const auto& run) {
          if constexpr (std::invocable<decltype(run), B&>) {
            run(bench);
          } else {
            throw std::logic_error("no benchmark of this kind of device");
          }
        },
        *entry.run);
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
  void run(const Entry& entry, const RunOptions& options, WorkerCache& cache, RoundMember* round,
           Measurement& record) override {
    HostBench bench(*entry.benchmark, *entry.point, options, cache, round);
    run_on(bench, entry, record);
  }
};

#ifdef PEAKLINE_HAS_CUDA
class Telemetered : public Device {
 protected:
  Telemetered(const std::string& name, const RunOptions& options) : Device(name, options) {
    try {
      nvml_.emplace();
    } catch (const cuda::NvmlUnavailable& unavailable) {
      std::cerr << "peakline: no telemetry: " << printable(unavailable.what()) << '\n';
    }
  }
  const cuda::Nvml* nvml() const { return nvml_ ? &*nvml_ : nullptr; }

 private:
  std::optional<cuda::Nvml> nvml_;
};

class CudaDevice : public Telemetered {
 public:
  CudaDevice(const std::string& name, const RunOptions& options)
      : Telemetered(name, options), session_(nvml(), options) {}
  DeviceFacts facts() const override { return session_.facts; }
  bool lost() const override { return cuda::context_lost(); }

 protected:
  void run(const Entry& entry, const RunOptions& options, WorkerCache& cache, RoundMember* round,
           Measurement& record) override {
    CudaBench bench(*entry.benchmark, *entry.point, options, cache, session_, round);
    run_on(bench, entry, record);
  }

 private:
  CudaSession session_;
};

// Opens a GPU when a point first needs it, so that a broken one costs only its own points.
class NodeDevice : public Telemetered {
 public:
  NodeDevice(const std::string& name, const RunOptions& options)
      : Telemetered(name, options), options_(options) {
    int count = 0;
    PEAKLINE_CUDA(cudaGetDeviceCount(&count));
    if (count != static_cast<int>(options.visible_gpus.size()))
      throw std::runtime_error(
          fmt::format("CUDA finds {} of the {} GPUs", count, options.visible_gpus.size()));
  }
  ~NodeDevice() override {
    for (auto& [index, gpu] : gpus_) {
      cudaSetDevice(gpu->ordinal);
      gpu.reset();
    }
    cudaSetDevice(0);
  }
  DeviceFacts facts() const override {
    DeviceFacts facts;
    facts.uuid = kNodeDevice;
    return facts;
  }
  bool lost() const override {
    return std::ranges::any_of(gpus_, [](const auto& gpu) {
      try {
        const CurrentGpu current(*gpu.second);
        return cuda::context_lost();
      } catch (const cuda::CudaError&) {
        return true;
      }
    });
  }

 protected:
  void run(const Entry& entry, const RunOptions& options, WorkerCache&, RoundMember* round,
           Measurement& record) override {
    std::vector<NodeGpu*> gpus;
    for (const int index : entry.point->gpus) gpus.push_back(&gpu(index));
    const CurrentGpu first(*gpus.front());
    NodeBench bench(*entry.benchmark, *entry.point, options, std::move(gpus), round);
    run_on(bench, entry, record);
  }

 private:
  NodeGpu& gpu(int index) {
    const std::lock_guard lock(mutex_);
    if (const auto open = gpus_.find(index); open != gpus_.end()) return *open->second;
    const auto found = std::ranges::find(options_.visible_gpus, index);
    if (found == options_.visible_gpus.end())
      throw std::runtime_error(fmt::format("GPU {} is not measured", index));
    const auto ordinal = static_cast<int>(std::distance(options_.visible_gpus.begin(), found));
    try {
      const CurrentGpu current(ordinal);
      auto gpu = std::make_unique<NodeGpu>(index, ordinal, nvml(), options_);
      return *gpus_.emplace(index, std::move(gpu)).first->second;
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("GPU {}: {}", index, error.what()));
    }
  }

  const RunOptions options_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<NodeGpu>> gpus_;  // by index
};
#endif

void withdraw(Measurement& record, Status status, const std::string& reason) {
  record.status = status;
  record.reason = reason;
  record.value.reset();
  record.summary.reset();
  record.samples_s.clear();
  record.series = {};
}

}  // namespace

Measurement Device::measure_member(const Entry& entry, Round* round) {
  const double start_s = now_s();
  // Stays as it is if the device cannot be opened.
  Measurement record = unmeasured(*entry.benchmark, *entry.point);
  try {
    RoundMember member(round);
    run(entry, options_, cache_, &member, record);
  } catch (const Skipped& skipped) {
    withdraw(record, Status::kSkipped, skipped.what());
  } catch (const std::exception& error) {
    withdraw(record, Status::kError, reason_of(error));
  }
  record.device = name_;
  record.duration_s = now_s() - start_s;
  return record;
}

std::vector<Measurement> Device::measure(std::span<const Entry> entries) {
  std::vector<Measurement> records(entries.size());
  if (entries.size() == 1) {
    records.front() = measure_member(entries.front(), nullptr);
  } else {
    Round round(entries.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < entries.size(); ++i)
      threads.emplace_back([&, i] { records[i] = measure_member(entries[i], &round); });
  }
  // An asynchronously failed launch invalidates results.
  if (lost())
    for (Measurement& record : records)
      if (record.status == Status::kOk)
        withdraw(record, Status::kError, "the device reported an error after the measurement");
  return records;
}

std::unique_ptr<Device> open_device(const std::string& name, const RunOptions& options,
                                    [[maybe_unused]] bool node_of_cpus) {
  if (name == kHostDevice) return std::make_unique<HostDevice>(name, options);
#ifdef PEAKLINE_HAS_CUDA
  if (name == kNodeDevice && node_of_cpus) return std::make_unique<HostDevice>(name, options);
  if (name == kNodeDevice) return std::make_unique<NodeDevice>(name, options);
  return std::make_unique<CudaDevice>(name, options);
#else
  if (name == kNodeDevice) return std::make_unique<HostDevice>(name, options);
  throw std::runtime_error("this build has no CUDA");
#endif
}

}  // namespace peakline::bench
