#pragma once

// Chooses where threads run and where their memory lies.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace peakline::host {

// Binds the calling thread to one CPU, by the operating system's number. False if that is not
// allowed; the thread then runs on any CPU.
bool bind_thread_to_cpu(int cpu);

// While it lives, the calling thread runs on the CPUs of a NUMA node, and pages that the thread
// touches first are placed on that node. The destructor, on the same thread, restores the previous
// binding; pages stay where they are. Best effort: containers often forbid one or the other.
class NodeBinding {
 public:
  // node: the operating system's index, as PCI devices report it; nullopt, or a node that this
  // process does not see, binds nothing.
  explicit NodeBinding(std::optional<int> node);
  ~NodeBinding();
  NodeBinding(const NodeBinding&) = delete;
  NodeBinding& operator=(const NodeBinding&) = delete;

  bool cpus_bound() const { return cpus_bound_; }
  bool memory_bound() const { return memory_bound_; }

 private:
  struct Previous;
  std::unique_ptr<Previous> previous_;
  bool cpus_bound_ = false, memory_bound_ = false;
};

// The NUMA node to use for a device. tried: found by timing, since the device reports none.
struct NodeChoice {
  std::optional<int> node;
  bool tried = false;
};

// The node that the device reports; else, of several `nodes`, the one with the lowest
// `seconds(node)`; no node if there is only one.
NodeChoice choose_node(std::optional<int> reported, std::span<const int> nodes,
                       const std::function<double(int node)>& seconds);

// Anonymous memory, zero until written, aligned to 2 MiB. A page is allocated when a thread first
// touches it, on that thread's NUMA node, so the threads that will use a part should write it
// first.
class HostBuffer {
 public:
  // Transparent huge pages are advised or refused. With small pages the page-table walker limits
  // bandwidth.
  enum class Pages { kHuge, kSmall };
  // Throws std::system_error if the address space or the commit limit does not allow it.
  explicit HostBuffer(std::size_t bytes, Pages pages = Pages::kHuge);

  void* data() const { return data_.get(); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data());
  }
  std::size_t size_bytes() const { return data_.get_deleter().bytes; }
  // Whether huge pages were advised and the kernel accepted it, which it does not if they are
  // compiled out or forbidden.
  bool huge_pages_advised() const { return huge_pages_advised_; }

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(void* data) const;
  };
  std::unique_ptr<void, Unmap> data_;
  bool huge_pages_advised_ = false;
};

}  // namespace peakline::host
