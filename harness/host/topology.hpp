#pragma once

// The machine's topology, from hwloc.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/values/facts.hpp"

// hwloc's handle type, declared here so that only the files that use it need its header.
struct hwloc_topology;

namespace peakline::host {

class Topology {
 public:
  // The whole machine, including what affinity or cgroup withhold from this process.
  static Topology whole_machine();
  // Returns what this process may use, as of the first call; it is loaded only once, since that
  // takes tens of milliseconds on a large machine.
  static const Topology& usable();

  std::string cpu_model() const;  // "" if unknown
  // nullopt if hwloc cannot tell.
  std::optional<int> sockets() const;
  std::optional<int> cores() const;
  std::optional<int> hardware_threads() const;
  // The nodes with CPUs: others are the memory of GPUs behind NVLink-C2C.
  std::vector<NumaNodeFacts> numa_nodes() const;
  double memory_of_gpus_bytes() const;
  std::vector<CpuCacheFacts> caches() const;

  // The operating system's numbers of the CPUs on which to run `threads` threads: spread evenly
  // over sockets, NUMA nodes, shared caches and cores, so that few threads share as little as
  // possible, and SMT siblings are used only when every core has a thread. With more threads than
  // CPUs, the list repeats.
  std::vector<int> spread(int threads) const;

  // Total bytes of the last-level caches that these CPUs reach; nullopt if none is reported.
  // Hypervisors report odd sizes, so use it to choose a footprint, not as a fact about the
  // hardware.
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
