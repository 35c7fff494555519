#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "bench/pcie/host_memory.hpp"
#include "harness/benchmark/cuda_data.cuh"

namespace peakline::bench {
namespace {

constexpr std::size_t kBytes = std::size_t{256} << 20;
constexpr std::size_t kWords = kBytes / sizeof(std::uint32_t);
// Words compared at either end: comparing all on the host would take longer than copying.
constexpr std::size_t kVerifiedWords = std::size_t{1} << 19;
constexpr std::array kVerifiedFrom{std::size_t{0}, kWords - kVerifiedWords};

// Memory on both ends of the link, random at the source of each direction.
struct Ends {
  explicit Ends(std::uint64_t seed)
      : host_out(kWords),
        host_in(kWords),
        device_in(kWords),
        device_out(random_words(kWords, seed)) {
    PEAKLINE_CUDA(cudaMemcpy(host_out.data(), device_out.data(), kBytes, cudaMemcpyDeviceToHost));
    std::memset(host_in.data(), 0, kBytes);
  }
  void poison() const {
    for (const std::size_t first : kVerifiedFrom)
      std::memset(host_in.data() + first, 0, kVerifiedWords * sizeof(std::uint32_t));
    bench::poison(device_in, nullptr);
    PEAKLINE_CUDA(cudaDeviceSynchronize());
  }
  std::string find_mismatch(bool to_device, bool to_host) const {
    for (const std::size_t first : kVerifiedFrom)
      for (std::size_t i = first; to_host && i < first + kVerifiedWords; ++i)
        if (host_in.data()[i] != host_out.data()[i])
          return "copy to the host: word " + std::to_string(i) + " differs";
    if (!to_device) return "";
    return count_differences("copy to the device", [&](unsigned long long* differences) {
      kernels::reference_compare<<<kAnyBlocks, kAnyThreads>>>(device_out.data(), device_in.data(),
                                                              kWords, differences);
    });
  }

  cuda::PinnedBuffer<std::uint32_t> host_out, host_in;
  cuda::DeviceBuffer<std::uint32_t> device_in, device_out;
};

}  // namespace

void copy_beside_other_gpus(CudaBench& bench, bool to_device, bool to_host) {
  const auto near = bind_near(bench);
  // Once per GPU: page-locking takes longer than measuring.
  const auto ends = bench.remember<std::shared_ptr<Ends>>(
      "pcie.concurrent", [&] { return std::make_shared<Ends>(bench.seed()); });
  const cuda::Stream back;
  const cuda::Event fork(cudaEventDisableTiming), join(cudaEventDisableTiming);
  const auto copy_in = [&](cudaStream_t stream) {
    PEAKLINE_CUDA(cudaMemcpyAsync(ends->device_in.data(), ends->host_out.data(), kBytes,
                                  cudaMemcpyHostToDevice, stream));
  };
  const auto copy_out = [&](cudaStream_t stream) {
    PEAKLINE_CUDA(cudaMemcpyAsync(ends->host_in.data(), ends->device_out.data(), kBytes,
                                  cudaMemcpyDeviceToHost, stream));
  };
  const auto copy_both = [&](cudaStream_t stream) {
    fork.record(stream);
    PEAKLINE_CUDA(cudaStreamWaitEvent(back.get(), fork.get()));
    copy_in(stream);
    copy_out(back.get());
    join.record(back.get());
    PEAKLINE_CUDA(cudaStreamWaitEvent(stream, join.get()));
  };
  constexpr std::int64_t kOperations = 6;
  const CudaBench::Launch launch = to_device && to_host
                                       ? CudaBench::Launch(copy_both, {.operations = kOperations})
                                   : to_device ? CudaBench::Launch(copy_in)
                                               : CudaBench::Launch(copy_out);
  bench.verify([&] {
    ends->poison();
    bench.launch_once(launch);
    return ends->find_mismatch(to_device, to_host);
  });
  const auto moved = static_cast<double>(kBytes);
  bench.measure({.bytes_read = to_device ? moved : 0, .bytes_written = to_host ? moved : 0},
                launch);
}

}  // namespace peakline::bench
