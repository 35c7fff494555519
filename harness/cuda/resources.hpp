#pragma once

// RAII for CUDA objects. Constructors throw CudaError; destructors never throw.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "harness/cuda/errors.hpp"
#include "harness/cuda/memory.hpp"

namespace peakline::cuda {

class Stream {
 public:
  // priority: lower runs first.
  explicit Stream(int priority = 0) {
    PEAKLINE_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority));
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void synchronize() const { PEAKLINE_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  explicit Event(unsigned flags = cudaEventDefault) {
    cudaEvent_t event = nullptr;
    PEAKLINE_CUDA(cudaEventCreateWithFlags(&event, flags));
    event_.reset(event);
  }
  cudaEvent_t get() const { return event_.get(); }
  void record(cudaStream_t stream) const { PEAKLINE_CUDA(cudaEventRecord(get(), stream)); }
  void synchronize() const { PEAKLINE_CUDA(cudaEventSynchronize(get())); }

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  };
  std::unique_ptr<CUevent_st, Destroy> event_;
};

class Graph {
 public:
  static void begin_capture(cudaStream_t stream) {
    PEAKLINE_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  }
  // What was enqueued since then.
  static cudaGraph_t end_capture(cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    PEAKLINE_CUDA(cudaStreamEndCapture(stream, &graph));
    return graph;
  }
  // Takes the graph, and uploads it, so that the first launch costs no more. No capture must be
  // open in this thread.
  Graph(cudaStream_t stream, cudaGraph_t captured) : graph_(captured) {
    PEAKLINE_CUDA(cudaGraphInstantiate(&executable_, graph_, 0));
    PEAKLINE_CUDA(cudaGraphUpload(executable_, stream));
    PEAKLINE_CUDA(cudaStreamSynchronize(stream));
  }
  Graph(cudaStream_t stream, const std::function<void(cudaStream_t)>& enqueue)
      : Graph(stream, (begin_capture(stream), enqueue(stream), end_capture(stream))) {}
  ~Graph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  std::size_t node_count() const {
    std::size_t count = 0;
    PEAKLINE_CUDA(cudaGraphGetNodes(graph_, nullptr, &count));
    return count;
  }
  void launch(cudaStream_t stream) const { PEAKLINE_CUDA(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

// Seconds between completed events.
inline double elapsed_s(const Event& start, const Event& stop) {
  float milliseconds = 0;
  PEAKLINE_CUDA(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
  return static_cast<double>(milliseconds) * 1e-3;
}

// `size` elements, released by `free`.
template <class T, auto free>
class Buffer {
 public:
  T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 protected:
  Buffer() = default;
  Buffer(void* data, std::size_t size) : data_(static_cast<T*>(data)), size_(size) {}

 private:
  struct Free {
    void operator()(T* data) const { free(data); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

// Uninitialized device memory.
template <class T>
class DeviceBuffer : public Buffer<T, release> {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t size) : Buffer<T, release>(allocate(size * sizeof(T)), size) {}

  // Copies `count` elements from `offset` to the host; waits for all earlier work.
  std::vector<T> to_host(std::size_t offset, std::size_t count) const {
    std::vector<T> host(count);
    PEAKLINE_CUDA(cudaDeviceSynchronize());
    PEAKLINE_CUDA(
        cudaMemcpy(host.data(), this->data() + offset, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }
  std::vector<T> to_host() const { return to_host(0, this->size()); }
  void from_host(std::span<const T> host) const {
    PEAKLINE_CUDA(cudaMemcpy(this->data(), host.data(), host.size_bytes(), cudaMemcpyHostToDevice));
    PEAKLINE_CUDA(cudaDeviceSynchronize());
  }
};

// Pinned host memory on the calling thread's NUMA node.
template <class T>
class PinnedBuffer : public Buffer<T, cudaFreeHost> {
 public:
  // flags: of cudaHostAlloc; cudaHostAllocPortable is added.
  explicit PinnedBuffer(std::size_t size, unsigned flags = cudaHostAllocDefault)
      : Buffer<T, cudaFreeHost>(allocate(size * sizeof(T), flags), size) {}

 private:
  static void* allocate(std::size_t bytes, unsigned flags) {
    void* memory = nullptr;
    PEAKLINE_CUDA(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | flags));
    return memory;
  }
};

}  // namespace peakline::cuda
