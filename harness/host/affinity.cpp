#include "harness/host/affinity.hpp"

#include <hwloc.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>

#include "harness/host/topology.hpp"

namespace peakline::host {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

constexpr int kMemoryFlags = HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET;

std::size_t rounded_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

bool bind_thread_to_cpu(int cpu) {
  const Bitmap set(hwloc_bitmap_alloc());
  hwloc_bitmap_only(set.get(), static_cast<unsigned>(cpu));
  return hwloc_set_cpubind(Topology::usable().handle(), set.get(), HWLOC_CPUBIND_THREAD) == 0;
}

struct NodeBinding::Previous {
  Bitmap cpus{hwloc_bitmap_alloc()};
  Bitmap nodes{hwloc_bitmap_alloc()};
  hwloc_membind_policy_t policy = HWLOC_MEMBIND_DEFAULT;
};

NodeBinding::NodeBinding(std::optional<int> node) {
  if (!node) return;
  const hwloc_topology_t topology = Topology::usable().handle();
  const hwloc_obj_t object =
      hwloc_get_numanode_obj_by_os_index(topology, static_cast<unsigned>(*node));
  if (object == nullptr) return;
  previous_ = std::make_unique<Previous>();
  // A node may have no usable CPU, yet usable memory.
  cpus_bound_ = hwloc_bitmap_iszero(object->cpuset) == 0 &&
                hwloc_get_cpubind(topology, previous_->cpus.get(), HWLOC_CPUBIND_THREAD) == 0 &&
                hwloc_set_cpubind(topology, object->cpuset, HWLOC_CPUBIND_THREAD) == 0;
  memory_bound_ =
      hwloc_get_membind(topology, previous_->nodes.get(), &previous_->policy, kMemoryFlags) == 0 &&
      hwloc_set_membind(topology, object->nodeset, HWLOC_MEMBIND_BIND, kMemoryFlags) == 0;
}

NodeBinding::~NodeBinding() {
  const hwloc_topology_t topology = Topology::usable().handle();
  if (cpus_bound_) hwloc_set_cpubind(topology, previous_->cpus.get(), HWLOC_CPUBIND_THREAD);
  if (memory_bound_)
    hwloc_set_membind(topology, previous_->nodes.get(), previous_->policy, kMemoryFlags);
}

NodeChoice choose_node(std::optional<int> reported, std::span<const int> nodes,
                       const std::function<double(int node)>& seconds) {
  if (reported || nodes.size() < 2) return {.node = reported};
  NodeChoice choice{.node = {}, .tried = true};
  double least_s = std::numeric_limits<double>::infinity();
  for (const int node : nodes) {
    const double node_s = seconds(node);
    if (node_s >= least_s) continue;
    least_s = node_s;
    choice.node = node;
  }
  return choice;
}

HostBuffer::HostBuffer(std::size_t bytes, Pages pages)
    : data_(nullptr, {rounded_up(bytes, kHugePage)}) {
  // Maps one huge page more, so that trimming leaves an aligned rest.
  const std::size_t mapped = size_bytes() + kHugePage;
  void* const memory =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw std::system_error(errno, std::generic_category(),
                            "cannot map " + std::to_string(bytes) + " bytes of host memory");
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t head = rounded_up(address, kHugePage) - address;
  auto* const first = static_cast<std::byte*>(memory);
  if (head > 0) munmap(first, head);
  data_.reset(first + head);
  munmap(first + head + size_bytes(), mapped - head - size_bytes());
  const bool huge = pages == Pages::kHuge;
  const int advised = madvise(data(), size_bytes(), huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  huge_pages_advised_ = huge && advised == 0;
}

void HostBuffer::Unmap::operator()(void* data) const { munmap(data, bytes); }

}  // namespace peakline::host
