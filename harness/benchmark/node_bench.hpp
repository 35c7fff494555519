#pragma once

// A benchmark of several GPUs gets a CudaBench of the first GPU of its point, and the others.

#include <set>
#include <span>
#include <vector>

#include "harness/benchmark/cuda_bench.hpp"

namespace peakline::bench {

// One GPU of the node, as this process has it. It has to be current while it is made or destroyed.
struct NodeGpu {
  NodeGpu(int of_index, int of_ordinal, const cuda::Nvml* nvml, const RunOptions& options)
      : index(of_index), ordinal(of_ordinal), session(nvml, options) {}

  int index;    // the one by which points and people name it
  int ordinal;  // the one by which CUDA does, here
  CudaSession session;
  WorkerCache cache;
  std::set<int> peers;  // whose memory it has access to, by index
};

// Makes a GPU current, and the one that was so before when it ends.
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
  // gpus: those of the point, in its order.
  NodeBench(const Benchmark& benchmark, const Point& point, const RunOptions& options,
            std::vector<NodeGpu*> gpus, RoundMember* round = nullptr)
      : CudaBench(benchmark, point, options, gpus.front()->cache, gpus.front()->session, round),
        gpus_(std::move(gpus)) {}

  // The GPUs of the point. The first one is current and measures; it has to wait for what the
  // others do.
  std::span<NodeGpu* const> gpus() const { return gpus_; }

  // Lets every GPU of the point use the memory of every other, if they could not yet: what the pool
  // of harness/cuda/memory.hpp gives, and what cudaMalloc does. Throws Skipped where that is
  // refused, with the reason.
  void connect();

  // Skips the point unless these bytes are free on every GPU of it.
  void need_memory(std::size_t bytes) const;

 private:
  std::vector<NodeGpu*> gpus_;
};

// Memory of one GPU that others use.
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
