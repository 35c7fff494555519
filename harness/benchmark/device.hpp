#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/benchmark/bench.hpp"
#include "harness/benchmark/registry.hpp"
#include "harness/values/facts.hpp"

namespace peakline::bench {

class Device {
 public:
  Device(std::string name, const RunOptions& options) : name_(std::move(name)), options_(options) {}
  virtual ~Device() = default;

  const std::string& name() const { return name_; }
  virtual DeviceFacts facts() const = 0;
  // Whether a sticky CUDA error ended the use of the device in this process.
  virtual bool lost() const { return false; }

  // Runs the entries, concurrently if several, and returns all records; exceptions end up in them.
  std::vector<Measurement> measure(std::span<const Entry> entries);
  Measurement measure(const Entry& entry) { return measure(std::span(&entry, 1)).front(); }

 protected:
  // Runs the entry on a Bench of this device's kind, which fills the record.
  virtual void run(const Entry& entry, const RunOptions& options, WorkerCache& cache,
                   RoundMember* round, Measurement& record) = 0;

 private:
  Measurement measure_member(const Entry& entry, Round* round);

  std::string name_;
  RunOptions options_;
  WorkerCache cache_;
};

// name: kHostDevice, a GPU's UUID, or kNodeDevice for options.visible_gpus. CUDA_VISIBLE_DEVICES
// must name only those, as creating the context reads it. Throws if the device cannot be used.
// node_of_cpus: run the node's benchmarks on CPUs, as builds without CUDA do.
std::unique_ptr<Device> open_device(const std::string& name, const RunOptions& options,
                                    bool node_of_cpus = false);

}  // namespace peakline::bench
