#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace peakline::host {

// Binds the calling thread to an OS CPU number. Returns false, without an effect, if that fails.
bool bind_thread_to_cpu(int cpu);

// Binds the calling thread, and the pages that it touches first, to a NUMA node. The destructor, on
// the same thread, restores the previous binding; pages stay. Best effort: containers often forbid
// part of it.
class NodeBinding {
 public:
  // node: the operating system's index; nullopt or an unknown node binds nothing.
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

// A device's NUMA node. tried: chosen by timing, because the device reports none.
struct NodeChoice {
  std::optional<int> node;
  bool tried = false;
};

// The reported node, else the one with the lowest `seconds(node)`; nullopt if there is only one.
NodeChoice choose_node(std::optional<int> reported, std::span<const int> nodes,
                       const std::function<double(int node)>& seconds);

// Anonymous zeroed memory, aligned to 2 MiB. Pages are placed on the NUMA node of the thread that
// first touches them, so each thread should first write its own part.
class HostBuffer {
 public:
  // Advises transparent huge pages or forbids them; page walks of small pages limit bandwidth.
  enum class Pages { kHuge, kSmall };
  // Throws std::system_error if the address space or the commit limit is exhausted.
  explicit HostBuffer(std::size_t bytes, Pages pages = Pages::kHuge);

  void* data() const { return data_.get(); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data());
  }
  std::size_t size_bytes() const { return data_.get_deleter().bytes; }
  // Also false if the kernel has no huge pages or forbids them.
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
