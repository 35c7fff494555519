#pragma once

// Where threads run and where their memory lies.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace peakline::host {

// Binds the calling thread to one CPU, by the operating system's number. False where that is not
// allowed: then the thread runs wherever it is put.
bool bind_thread_to_cpu(int cpu);

// While it lives, the calling thread runs on a NUMA node's CPUs and pages that it touches first lie
// on that node. The destructor, on the same thread, puts back what was before; pages stay where
// they are. Best effort: containers often forbid one or the other.
class NodeBinding {
 public:
  NodeBinding() = default;  // binds nothing
  explicit NodeBinding(int node);
  ~NodeBinding();
  NodeBinding(NodeBinding&&) noexcept;
  NodeBinding& operator=(NodeBinding&&) noexcept;

  bool cpus_bound() const { return cpus_bound_; }
  bool memory_bound() const { return memory_bound_; }

 private:
  void restore() noexcept;

  struct Previous;
  std::unique_ptr<Previous> previous_;
  bool cpus_bound_ = false, memory_bound_ = false;
};

// node: the operating system's index, as PCI devices report it; nullopt or a node that this process
// does not see binds nothing.
NodeBinding bind_to_node(std::optional<int> node);

// The node to work from for a device. tried: found by trying, since the device reports none.
struct NodeChoice {
  std::optional<int> node;
  bool tried = false;
};

// What the device reports; else the one of several `nodes` where `seconds(node)` is least; no node
// where there is just one.
NodeChoice choose_node(std::optional<int> reported, std::span<const int> nodes,
                       const std::function<double(int node)>& seconds);

// Anonymous memory of its own, zero until written, aligned to 2 MiB. No page exists until a thread
// touches it, and it then lies on that thread's NUMA node: have the threads that will use a part
// write it first. Transparent huge pages are advised, since at 4 KiB pages a bandwidth is partly
// that of the page-table walker.
class HostBuffer {
 public:
  HostBuffer() = default;
  // Throws std::system_error where the address space or the commit limit does not allow it.
  explicit HostBuffer(std::size_t bytes);
  ~HostBuffer();
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;

  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t size_bytes() const { return bytes_; }
  // Whether the kernel took the advice; with huge pages compiled out or forbidden it does not.
  bool huge_pages_advised() const { return huge_pages_advised_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool huge_pages_advised_ = false;
};

}  // namespace peakline::host
