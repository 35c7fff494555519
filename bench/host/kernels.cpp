#include "bench/host/kernels.hpp"

#include <cmath>

#include "bench/host/kernel_table.hpp"

namespace peakline::bench {

std::vector<const HostKernels*> supported_host_kernels() {
  std::vector<const HostKernels*> supported;
  for (const HostKernels* kernels : {
         &kPortableKernels,
#if defined(__x86_64__)
             &kSse2Kernels, &kAvx2FmaKernels, &kAvx512fKernels,
#elif defined(__aarch64__)
           &kNeonKernels,
#endif
       })
    if (host::supports(kernels->extension)) supported.push_back(kernels);
  return supported;
}

const HostKernels& widest_host_kernels() { return *supported_host_kernels().back(); }

template <class T>
T reference_fma_chain(bool fused, T x, T a, T b, std::int64_t steps) {
  for (std::int64_t step = 0; step < steps; ++step) x = fused ? std::fma(x, a, b) : x * a + b;
  return x;
}

template float reference_fma_chain(bool, float, float, float, std::int64_t);
template double reference_fma_chain(bool, double, double, double, std::int64_t);

}  // namespace peakline::bench
