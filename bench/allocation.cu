#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "bench/pcie/host_memory.hpp"
#include "harness/benchmark/cuda_data.cuh"

namespace peakline::bench {
namespace {

using host::HostBuffer;

// The driver clears freed memory at least this fast, taking bandwidth from other work.
constexpr double kClearedBytesPerSecond = 300e9;

std::size_t bytes_of(const CudaBench& bench) {
  return static_cast<std::size_t>(bench.integer("bytes"));
}

cudaMemoryType type_of(const void* memory) {
  cudaPointerAttributes attributes{};
  PEAKLINE_CUDA(cudaPointerGetAttributes(&attributes, memory));
  return attributes.type;
}

std::string expect_type(const void* memory, cudaMemoryType type) {
  return type_of(memory) == type ? "" : "the driver does not know the memory as what was asked for";
}

// Times cudaMalloc and cudaFree of `bytes`, then waits for the driver to clear the freed memory.
class DeviceMemory {
 public:
  explicit DeviceMemory(CudaBench& bench)
      : bench_(bench), bytes_(bench.fitting_memory(bytes_of(bench), bytes_of(bench))) {}
  ~DeviceMemory() {
    cudaFree(memory_);
    bench_.sampler().rest(freed_bytes_ / kClearedBytesPerSecond);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void take() { PEAKLINE_CUDA(cudaMalloc(&memory_, bytes_)); }
  void give() {
    PEAKLINE_CUDA(cudaFree(std::exchange(memory_, nullptr)));
    freed_bytes_ += static_cast<double>(bytes_);
  }
  void verify() {
    bench_.verify([&] {
      take();
      PEAKLINE_CUDA(cudaMemset(memory_, 1, bytes_));
      const std::string wrong = expect_type(memory_, cudaMemoryTypeDevice);
      give();
      return wrong;
    });
  }

 private:
  CudaBench& bench_;
  std::size_t bytes_;
  void* memory_ = nullptr;
  double freed_bytes_ = 0;
};

// A memory pool that keeps freed memory.
class Pool {
 public:
  Pool() {
    int device = 0, supported = 0;
    PEAKLINE_CUDA(cudaGetDevice(&device));
    PEAKLINE_CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device));
    if (supported == 0) throw Skipped("the device has no memory pools");
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {.type = cudaMemLocationTypeDevice, .id = device};
    PEAKLINE_CUDA(cudaMemPoolCreate(&pool_, &properties));
    std::uint64_t keep = std::numeric_limits<std::uint64_t>::max();
    PEAKLINE_CUDA(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep));
  }
  ~Pool() { cudaMemPoolDestroy(pool_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void take_and_give(std::size_t bytes, cudaStream_t stream) const {
    void* memory = nullptr;
    PEAKLINE_CUDA(cudaMallocFromPoolAsync(&memory, bytes, pool_, stream));
    PEAKLINE_CUDA(cudaFreeAsync(memory, stream));
  }
  std::uint64_t held_bytes() const {
    std::uint64_t bytes = 0;
    PEAKLINE_CUDA(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &bytes));
    return bytes;
  }

 private:
  cudaMemPool_t pool_ = nullptr;
};

// The kernel accepts the advice even if it will not follow it.
bool huge_pages_off() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string choice;
  std::getline(file, choice);
  return choice.find("[never]") != std::string::npos;
}

HostBuffer host_buffer(CudaBench& bench) {
  const bool huge = bench.text("pages") == "huge";
  HostBuffer buffer(bytes_of(bench), huge ? HostBuffer::Pages::kHuge : HostBuffer::Pages::kSmall);
  if (huge && (!buffer.huge_pages_advised() || huge_pages_off()))
    throw Skipped("the kernel gives no huge pages");
  return buffer;
}

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

void touch(const HostBuffer& buffer) {
  volatile auto* const bytes = buffer.as<char>();
  for (std::size_t at = 0; at < buffer.size_bytes(); at += page_bytes()) bytes[at] = 1;
}

std::size_t resident_pages(const HostBuffer& buffer) {
  std::vector<unsigned char> pages(buffer.size_bytes() / page_bytes());
  if (mincore(buffer.data(), buffer.size_bytes(), pages.data()) != 0)
    throw std::runtime_error("mincore failed");
  return static_cast<std::size_t>(
      std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; }));
}

}  // namespace

void allocation_malloc(CudaBench& bench) {
  DeviceMemory memory(bench);
  memory.verify();
  bench.measure_on_host(
      {}, [&] { memory.take(); }, 1, [&] { memory.give(); });
}

void allocation_free(CudaBench& bench) {
  DeviceMemory memory(bench);
  memory.verify();
  memory.take();
  bench.measure_on_host(
      {}, [&] { memory.give(); }, 1, [&] { memory.take(); });
  memory.give();
}

void allocation_pool(CudaBench& bench) {
  const std::size_t bytes = bench.fitting_memory(bytes_of(bench), bytes_of(bench));
  {
    const Pool pool;
    const auto pair = [&] { pool.take_and_give(bytes, bench.stream()); };
    pair();
    bench.sampler().synchronize();
    bench.verify([&] {
      const std::uint64_t before = pool.held_bytes();
      pair();
      bench.sampler().synchronize();
      return before >= bytes && pool.held_bytes() == before ? ""
                                                            : "the pool did not keep its memory";
    });
    bench.measure_on_host({}, pair, 0, [&] { bench.sampler().synchronize(); });
  }
  bench.sampler().rest(static_cast<double>(bytes) / kClearedBytesPerSecond);
}

void allocation_pinned(CudaBench& bench) {
  const auto near = bind_near(bench);
  void* memory = nullptr;
  const auto take = [&] { PEAKLINE_CUDA(cudaHostAlloc(&memory, bytes_of(bench), 0)); };
  const auto give = [&] { PEAKLINE_CUDA(cudaFreeHost(memory)); };
  bench.verify([&] {
    take();
    const std::string wrong = expect_type(memory, cudaMemoryTypeHost);
    give();
    return wrong;
  });
  bench.measure_on_host({}, take, 1, give);
}

void allocation_register(CudaBench& bench) {
  int device = 0, supported = 0;
  PEAKLINE_CUDA(cudaGetDevice(&device));
  PEAKLINE_CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrHostRegisterSupported, device));
  if (supported == 0) throw Skipped("the device cannot register host memory");
  const auto near = bind_near(bench);
  const HostBuffer buffer = host_buffer(bench);
  touch(buffer);
  const auto take = [&] {
    PEAKLINE_CUDA(cudaHostRegister(buffer.data(), buffer.size_bytes(), cudaHostRegisterDefault));
  };
  const auto give = [&] { PEAKLINE_CUDA(cudaHostUnregister(buffer.data())); };
  bench.verify([&] {
    take();
    std::string wrong = expect_type(buffer.data(), cudaMemoryTypeHost);
    give();
    return wrong.empty() ? expect_type(buffer.data(), cudaMemoryTypeUnregistered) : wrong;
  });
  bench.measure_on_host({}, take, 1, give);
}

void allocation_first_touch(CudaBench& bench) {
  const auto near = bind_near(bench);
  const HostBuffer buffer = host_buffer(bench);
  const auto take = [&] { touch(buffer); };
  const auto give = [&] {
    if (madvise(buffer.data(), buffer.size_bytes(), MADV_DONTNEED) != 0)
      throw std::runtime_error("madvise failed");
  };
  bench.verify([&]() -> std::string {
    if (resident_pages(buffer) != 0) return "the memory was touched before";
    take();
    if (resident_pages(buffer) != buffer.size_bytes() / page_bytes())
      return "pages are missing after the touch";
    give();
    return resident_pages(buffer) == 0 ? "" : "pages are left from the touch before";
  });
  bench.measure_on_host({}, take, 1, give);
}

}  // namespace peakline::bench
