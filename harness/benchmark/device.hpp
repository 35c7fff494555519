#pragma once

// The device that a process measures.

#include <memory>
#include <string>
#include <utility>

#include "harness/benchmark/bench.hpp"
#include "harness/benchmark/registry.hpp"
#include "harness/core/facts.hpp"

namespace peakline::bench {

class Device {
 public:
  Device(std::string name, const RunOptions& options) : name_(std::move(name)), options_(options) {}
  virtual ~Device() = default;

  virtual DeviceFacts facts() const = 0;
  // Whether it failed permanently (a sticky CUDA error): this process can measure nothing more.
  virtual bool lost() const { return false; }

  // Runs the entry and returns its record, whatever the outcome. Exceptions of a benchmark end up
  // in the record.
  Measurement measure(const Entry& entry);

 protected:
  // Makes the Bench for this kind of device and runs the entry on it, which fills the record.
  virtual void run(const Entry& entry, const RunOptions& options, WorkerCache& cache,
                   Measurement& record) = 0;

 private:
  std::string name_;
  RunOptions options_;
  WorkerCache cache_;
};

// name: kHostDevice or a GPU's UUID; CUDA_VISIBLE_DEVICES must already name only that GPU, since it
// is read when the CUDA context is created. Throws if the device cannot be used.
std::unique_ptr<Device> open_device(const std::string& name, const RunOptions& options);

}  // namespace peakline::bench
