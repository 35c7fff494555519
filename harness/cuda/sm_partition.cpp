#include "harness/cuda/sm_partition.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include "harness/cuda/errors.hpp"

namespace peakline::cuda {
namespace {

template <class Function>
Function* driver_function(const char* name) {
  constexpr unsigned kSince = 12050;
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  if (cudaGetDriverEntryPointByVersion(name, &found, kSince, cudaEnableDefault, &result) !=
          cudaSuccess ||
      result != cudaDriverEntryPointSuccess)
    throw NotPartitioned(fmt::format("the driver has no {}: 12.5 or newer is needed", name));
  return reinterpret_cast<Function*>(found);
}

void check(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS)
    throw NotPartitioned(fmt::format("{} fails with error {}", call, static_cast<int>(result)));
}

}  // namespace

SmPartition::SmPartition(unsigned sms) {
  int device = 0;
  PEAKLINE_CUDA(cudaGetDevice(&device));
  CUdevResource all{}, part{}, rest{};
  check(driver_function<decltype(cuDeviceGetDevResource)>("cuDeviceGetDevResource")(
            device, &all, CU_DEV_RESOURCE_TYPE_SM),
        "cuDeviceGetDevResource");
  unsigned parts = 1;
  check(driver_function<decltype(cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount")(
            &part, &parts, &all, &rest, 0, sms),
        "cuDevSmResourceSplitByCount");
  CUdevResourceDesc description{};
  check(driver_function<decltype(cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc")(
            &description, &part, 1),
        "cuDevResourceGenerateDesc");
  const auto destroy = driver_function<decltype(cuGreenCtxDestroy)>("cuGreenCtxDestroy");
  CUgreenCtx context{};
  check(driver_function<decltype(cuGreenCtxCreate)>("cuGreenCtxCreate")(
            &context, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
        "cuGreenCtxCreate");
  context_ = {context, destroy};
  sms_ = part.sm.smCount;
  check(driver_function<decltype(cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate")(
            &stream_, context, CU_STREAM_NON_BLOCKING, 0),
        "cuGreenCtxStreamCreate");
}

SmPartition::~SmPartition() { cudaStreamDestroy(stream_); }

}  // namespace peakline::cuda
