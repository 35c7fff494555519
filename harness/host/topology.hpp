#pragma once

// hwloc's picture of the machine.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/facts.hpp"

// hwloc's own handle, so that only the files that use it need its header.
struct hwloc_topology;

namespace peakline::host {

class Topology {
 public:
  // All there is, also what affinity or cgroup keep from this process.
  static Topology whole_machine();
  // What this process may use, as it stood at the first call; loaded once, since that takes tens of
  // milliseconds on a large machine.
  static const Topology& usable();

  std::string cpu_model() const;  // "" where unknown
  // nullopt where hwloc cannot tell.
  std::optional<int> sockets() const;
  std::optional<int> cores() const;
  std::optional<int> hardware_threads() const;
  std::vector<NumaNodeFacts> numa_nodes() const;
  std::vector<CpuCacheFacts> caches() const;

  // Where `threads` threads run, as the operating system's CPU numbers: spread evenly over sockets,
  // NUMA nodes, shared caches and cores, so that few threads meet as little of each other as the
  // machine allows, and SMT siblings are used only when every core has a thread. More threads than
  // CPUs start over.
  std::vector<int> spread(int threads) const;

  // The sum of the last-level caches that these CPUs reach, bytes; nullopt where none is reported.
  // Hypervisors report odd sizes, so this guides a footprint and is no fact about the hardware.
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
