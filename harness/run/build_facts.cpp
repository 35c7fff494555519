#include "harness/run/build_facts.hpp"

#include <fmt/format.h>

#include "revision.hpp"
#ifdef PEAKLINE_HAS_CUDA
#include "harness/cuda/device.hpp"
#endif

namespace peakline::bench {

SoftwareFacts build_facts() {
  SoftwareFacts facts;
#if defined(__clang__)
  facts.cxx_compiler =
      fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  facts.cxx_compiler = fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
  facts.build_type = PEAKLINE_BUILD_TYPE;
  facts.git_revision = PEAKLINE_REVISION;
#ifdef PEAKLINE_HAS_CUDA
  facts.cuda_compiler = PEAKLINE_NVCC_VERSION;
  facts.cuda_runtime = cuda::runtime_version();
#endif
  return facts;
}

}  // namespace peakline::bench
