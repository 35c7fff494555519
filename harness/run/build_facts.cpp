#include "harness/run/build_facts.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

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

std::vector<std::pair<std::string, std::string>> relevant_environment() {
  // Variables that affect kernels, cuBLAS or NCCL, or are loaded into processes.
  constexpr std::array<std::string_view, 13> kNames = {"CUDA_LAUNCH_BLOCKING",
                                                       "CUDA_DEVICE_MAX_CONNECTIONS",
                                                       "CUDA_MODULE_LOADING",
                                                       "CUDA_FORCE_PTX_JIT",
                                                       "CUDA_DISABLE_PTX_JIT",
                                                       "CUDA_SCALE_LAUNCH_QUEUES",
                                                       "CUDA_AUTO_BOOST",
                                                       "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                                                       "CUDA_MPS_PIPE_DIRECTORY",
                                                       "CUDA_INJECTION64_PATH",
                                                       "NVIDIA_TF32_OVERRIDE",
                                                       "GLIBC_TUNABLES",
                                                       "LD_PRELOAD"};
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == text.npos) continue;
    const std::string_view name = text.substr(0, equals);
    // Container images set NCCL_VERSION, peakline itself the other.
    const bool changes_nccl =
        name.starts_with("NCCL_") && name != "NCCL_VERSION" && text != "NCCL_NVLS_ENABLE=0";
    const bool matters = name.starts_with("CUBLAS") || changes_nccl ||
                         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
    if (matters) found.emplace_back(name, text.substr(equals + 1));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace peakline::bench
