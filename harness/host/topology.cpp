#include "harness/host/topology.hpp"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

namespace peakline::host {
namespace {

std::string list_format(hwloc_const_bitmap_t set) {
  char* text = nullptr;
  if (set == nullptr || hwloc_bitmap_list_asprintf(&text, set) < 0) return "";
  std::string list = text;
  std::free(text);
  return list;
}

// A GPU's memory behind NVLink-C2C forms nodes without CPUs, eight on a GH200. hwloc cannot tell: a
// binding hides the CPUs of other nodes from it.
bool has_cpus(unsigned node) {
  std::ifstream file(fmt::format("/sys/devices/system/node/node{}/cpulist", node));
  std::string list;
  return !file || static_cast<bool>(file >> list);
}

bool holds_data(hwloc_obj_t object) {
  return hwloc_obj_type_is_dcache(object->type) != 0;  // data or unified
}

}  // namespace

void Topology::Destroy::operator()(hwloc_topology* topology) const {
  hwloc_topology_destroy(topology);
}

Topology::Topology(Scope scope) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0)
    throw std::system_error(errno, std::generic_category(), "hwloc_topology_init");
  topology_.reset(topology);
  const unsigned long flags =
      scope == Scope::kWhole
          ? static_cast<unsigned long>(HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED)
          : static_cast<unsigned long>(HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING |
                                       HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
  hwloc_topology_set_flags(topology, flags);
  if (hwloc_topology_load(topology) != 0)
    throw std::system_error(errno, std::generic_category(), "hwloc_topology_load");
}

Topology Topology::whole_machine() { return Topology(Scope::kWhole); }

const Topology& Topology::usable() {
  static const Topology kUsableTopology(Scope::kUsable);
  return kUsableTopology;
}

std::string Topology::cpu_model() const {
  for (const auto type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_MACHINE})
    if (const auto object = hwloc_get_obj_by_type(handle(), type, 0))
      if (const char* model = hwloc_obj_get_info_by_name(object, "CPUModel")) return model;
  return "";
}

namespace {
// None: the kind is not reported.
std::optional<int> count_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const int count = hwloc_get_nbobjs_by_type(topology, type);
  return count > 0 ? std::optional(count) : std::nullopt;
}
}  // namespace

std::optional<int> Topology::sockets() const { return count_of(handle(), HWLOC_OBJ_PACKAGE); }
std::optional<int> Topology::cores() const { return count_of(handle(), HWLOC_OBJ_CORE); }
std::optional<int> Topology::hardware_threads() const { return count_of(handle(), HWLOC_OBJ_PU); }

std::vector<NumaNodeFacts> Topology::numa_nodes() const {
  std::vector<NumaNodeFacts> nodes;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(handle(), HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    if (!has_cpus(node->os_index)) continue;
    NumaNodeFacts facts;
    facts.index = static_cast<int>(node->os_index);
    if (node->attr->numanode.local_memory > 0)
      facts.memory_bytes = static_cast<double>(node->attr->numanode.local_memory);
    facts.cpus = list_format(node->cpuset);
    nodes.push_back(std::move(facts));
  }
  return nodes;
}

double Topology::memory_of_gpus_bytes() const {
  double bytes = 0;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(handle(), HWLOC_OBJ_NUMANODE, node)) != nullptr;)
    if (!has_cpus(node->os_index)) bytes += static_cast<double>(node->attr->numanode.local_memory);
  return bytes;
}

std::vector<CpuCacheFacts> Topology::caches() const {
  std::vector<CpuCacheFacts> caches;
  const int depths = hwloc_topology_get_depth(handle());
  for (int depth = depths - 1; depth >= 0; --depth) {
    const unsigned count = hwloc_get_nbobjs_by_depth(handle(), depth);
    for (unsigned i = 0; i < count; ++i) {
      const hwloc_obj_t object = hwloc_get_obj_by_depth(handle(), depth, i);
      if (!holds_data(object)) break;
      CpuCacheFacts facts;
      facts.level = static_cast<int>(object->attr->cache.depth);
      facts.bytes = static_cast<double>(object->attr->cache.size);
      facts.shared_by_cores = std::max(
          1, hwloc_get_nbobjs_inside_cpuset_by_type(handle(), object->cpuset, HWLOC_OBJ_CORE));
      facts.count = 1;
      // Heterogeneous cores may have different caches at one level.
      const auto same = std::find_if(caches.begin(), caches.end(), [&](const CpuCacheFacts& other) {
        return other.level == facts.level && other.bytes == facts.bytes &&
               other.shared_by_cores == facts.shared_by_cores;
      });
      if (same == caches.end())
        caches.push_back(facts);
      else
        ++same->count;
    }
  }
  return caches;
}

std::vector<int> Topology::spread(int threads) const {
  std::vector<hwloc_cpuset_t> sets(static_cast<std::size_t>(threads), nullptr);
  hwloc_obj_t root = hwloc_get_root_obj(handle());
  hwloc_distrib(handle(), &root, 1, sets.data(), static_cast<unsigned>(threads), INT_MAX, 0);
  std::vector<int> cpus;
  for (const hwloc_cpuset_t set : sets) {
    cpus.push_back(hwloc_bitmap_first(set));
    hwloc_bitmap_free(set);
  }
  return cpus;
}

std::optional<double> Topology::last_level_cache_bytes(std::span<const int> cpus) const {
  std::vector<hwloc_obj_t> last_levels;
  for (const int cpu : cpus) {
    hwloc_obj_t last = nullptr;
    for (hwloc_obj_t object = hwloc_get_pu_obj_by_os_index(handle(), static_cast<unsigned>(cpu));
         object != nullptr; object = object->parent)
      if (holds_data(object)) last = object;
    if (last != nullptr &&
        std::find(last_levels.begin(), last_levels.end(), last) == last_levels.end())
      last_levels.push_back(last);
  }
  if (last_levels.empty()) return std::nullopt;
  double bytes = 0;
  for (const hwloc_obj_t cache : last_levels) bytes += static_cast<double>(cache->attr->cache.size);
  return bytes;
}

}  // namespace peakline::host
