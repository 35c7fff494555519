// Another process on the GPU, for tests that must notice one:
//   peakline_neighbour sms N     spins in one block a SM on N SMs
//   peakline_neighbour pcie      copies from host memory to the device
//   peakline_neighbour memory    copies within the device's memory
// Prints a line once it is at work, and runs until killed.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "harness/cuda/errors.hpp"

namespace {

constexpr std::size_t kBytes = std::size_t{256} << 20;
constexpr long long kSpinCycles = 20'000'000;  // about 10 ms, so that the launch is negligible

__global__ void spin() {
  for (const long long start = clock64(); clock64() - start < kSpinCycles;) {
  }
}

void say_started() {
  std::puts("started");
  std::fflush(stdout);
}

[[noreturn]] void hold_sms(unsigned sms) {
  // All of an SM's shared memory, so that no second block fits.
  int shared_bytes = 0;
  PEAKLINE_CUDA(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  PEAKLINE_CUDA(
      cudaFuncSetAttribute(spin, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  for (bool first = true;; first = false) {
    spin<<<sms, 1024, shared_bytes>>>();
    spin<<<sms, 1024, shared_bytes>>>();
    PEAKLINE_CUDA(cudaDeviceSynchronize());
    if (first) say_started();
  }
}

[[noreturn]] void copy(cudaMemcpyKind kind) {
  void *from = nullptr, *to = nullptr;
  PEAKLINE_CUDA(cudaMalloc(&to, kBytes));
  PEAKLINE_CUDA(kind == cudaMemcpyHostToDevice ? cudaMallocHost(&from, kBytes)
                                               : cudaMalloc(&from, kBytes));
  for (bool first = true;; first = false) {
    for (int i = 0; i < 8; ++i) PEAKLINE_CUDA(cudaMemcpyAsync(to, from, kBytes, kind));
    PEAKLINE_CUDA(cudaDeviceSynchronize());
    if (first) say_started();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "sms") == 0)
    hold_sms(static_cast<unsigned>(std::max(1, std::atoi(argv[2]))));
  if (argc == 2 && std::strcmp(argv[1], "pcie") == 0) copy(cudaMemcpyHostToDevice);
  if (argc == 2 && std::strcmp(argv[1], "memory") == 0) copy(cudaMemcpyDeviceToDevice);
  std::fputs("usage: peakline_neighbour sms N | pcie | memory\n", stderr);
  return 2;
}
