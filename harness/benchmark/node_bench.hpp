#pragma once

// Benchmarks of several GPUs get a CudaBench of the point's first GPU, and the others.

#include <set>
#include <span>
#include <vector>

#include "harness/benchmark/cuda_bench.hpp"

namespace peakline::bench {

// A GPU of the node in this process. Must be current during construction and destruction.
struct NodeGpu {
  NodeGpu(int of_index, int of_ordinal, const cuda::Nvml* nvml, const RunOptions& options)
      : index(of_index), ordinal(of_ordinal), session(nvml, options) {}

  int index;    // in points and for users
  int ordinal;  // in CUDA, in this process
  CudaSession session;
  WorkerCache cache;
  std::set<int> peers;  // GPUs whose memory it can access, by index
};

// Makes a GPU current; the destructor restores the previous one.
class CurrentGpu {
 public:
  explicit CurrentGpu(int ordinal);
  explicit CurrentGpu(const NodeGpu& gpu) : CurrentGpu(gpu.ordinal) {}
  ~CurrentGpu() { cudaSetDevice(before_); }
  CurrentGpu(const CurrentGpu&) = delete;
  CurrentGpu& operator=(const CurrentGpu&) = delete;

 private:
  int before_ = 0;
};

class NodeBench : public CudaBench {
 public:
  // gpus: in the point's order.
  NodeBench(const Benchmark& benchmark, const Point& point, const RunOptions& options,
            std::vector<NodeGpu*> gpus, RoundMember* round = nullptr)
      : CudaBench(benchmark, point, options, gpus.front()->cache, gpus.front()->session, round),
        gpus_(std::move(gpus)) {}

  // The point's GPUs. The first is current and measures; it must wait for the others' work.
  std::span<NodeGpu* const> gpus() const { return gpus_; }

  // A bench of one of them, which must be current, for what prepares work there.
  CudaBench of(NodeGpu& gpu) const {
    return {benchmark_, point_, options_, gpu.cache, gpu.session};
  }

  // Enables peer access between all GPUs of the point, for cudaMalloc and the pool of
  // harness/cuda/memory.hpp. Throws Skipped with the reason if refused.
  void connect();

  // Skips the point unless all its GPUs have this much free memory.
  void need_memory(std::size_t bytes) const;

 private:
  std::vector<NodeGpu*> gpus_;
};

// A GPU's memory that others use.
template <class T>
class NodeBuffer {
 public:
  NodeBuffer(const NodeGpu& gpu, std::size_t size) : gpu_(gpu) {
    const CurrentGpu current(gpu);
    buffer_ = cuda::DeviceBuffer<T>(size);
  }
  ~NodeBuffer() {
    const CurrentGpu current(gpu_);
    buffer_ = {};
  }
  NodeBuffer(const NodeBuffer&) = delete;
  NodeBuffer& operator=(const NodeBuffer&) = delete;

  T* data() const { return buffer_.data(); }
  std::size_t size() const { return buffer_.size(); }
  const NodeGpu& gpu() const { return gpu_; }

 private:
  const NodeGpu& gpu_;
  cuda::DeviceBuffer<T> buffer_;
};

}  // namespace peakline::bench
