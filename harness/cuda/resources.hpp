#pragma once

// RAII owners of CUDA objects. Constructors throw CudaError; destructors never throw.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "harness/cuda/check.hpp"
#include "harness/cuda/memory.hpp"

namespace peakline::cuda {

class Stream {
 public:
  // priority: lower numbers go first.
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
    PEAKLINE_CUDA(cudaEventCreateWithFlags(&event_, flags));
  }
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  cudaEvent_t get() const { return event_; }
  void record(cudaStream_t stream) const { PEAKLINE_CUDA(cudaEventRecord(event_, stream)); }
  void synchronize() const { PEAKLINE_CUDA(cudaEventSynchronize(event_)); }

 private:
  cudaEvent_t event_ = nullptr;
};

// Seconds from `start` to `stop`; both must have completed.
inline double elapsed_s(const Event& start, const Event& stop) {
  float milliseconds = 0;
  PEAKLINE_CUDA(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
  return static_cast<double>(milliseconds) * 1e-3;
}

// `size` elements of device memory, not initialized.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t size)
      : data_(static_cast<T*>(allocate(size * sizeof(T)))), size_(size) {}
  ~DeviceBuffer() { release(data_); }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }

  // Copies `count` elements, starting at `offset`, to the host; waits for all earlier work.
  std::vector<T> to_host(std::size_t offset, std::size_t count) const {
    std::vector<T> host(count);
    PEAKLINE_CUDA(cudaDeviceSynchronize());
    PEAKLINE_CUDA(
        cudaMemcpy(host.data(), data_ + offset, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }
  std::vector<T> to_host() const { return to_host(0, size_); }
  void from_host(std::span<const T> host) const {
    PEAKLINE_CUDA(cudaMemcpy(data_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice));
    PEAKLINE_CUDA(cudaDeviceSynchronize());
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// `size` elements of page-locked host memory on the calling thread's NUMA node.
template <class T>
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::size_t size) : size_(size) {
    void* memory = nullptr;
    PEAKLINE_CUDA(cudaHostAlloc(&memory, size * sizeof(T), cudaHostAllocPortable));
    data_ = static_cast<T*>(memory);
  }
  ~PinnedBuffer() { cudaFreeHost(data_); }
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace peakline::cuda
