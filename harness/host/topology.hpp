#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/values/facts.hpp"

// hwloc's handle, declared here so that includers do not need its header.
struct hwloc_topology;

namespace peakline::host {

class Topology {
 public:
  // Includes what affinity or cgroup withhold from this process.
  static Topology whole_machine();
  // The part that this process may use; loaded once, which takes tens of ms on a large machine.
  static const Topology& usable();

  std::string cpu_model() const;  // "" if unknown
  // nullopt: unknown to hwloc.
  std::optional<int> sockets() const;
  std::optional<int> cores() const;
  std::optional<int> hardware_threads() const;
  // Nodes with CPUs; others are memory of GPUs behind NVLink-C2C.
  std::vector<NumaNodeFacts> numa_nodes() const;
  double memory_of_gpus_bytes() const;
  std::vector<CpuCacheFacts> caches() const;

  // The CPUs (operating system's numbers) for `threads` threads, spread evenly over sockets, NUMA
  // nodes, caches and cores; SMT siblings come last. Repeats if there are more threads than CPUs.
  std::vector<int> spread(int threads) const;

  // Total bytes of the last-level caches of these CPUs; nullopt if none is reported. Hypervisors
  // report odd sizes: choose a footprint by it, but do not report it.
  std::optional<double> last_level_cache_bytes(std::span<const int> cpus) const;

  hwloc_topology* handle() const { return topology_.get(); }

 private:
  enum class Scope { kWhole, kUsable };
  explicit Topology(Scope scope);

  struct Destroy {
    void operator()(hwloc_topology* topology) const;
  };
  std::unique_ptr<hwloc_topology, Destroy> topology_;
};

}  // namespace peakline::host
