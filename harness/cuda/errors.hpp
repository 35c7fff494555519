#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>

namespace peakline::cuda {

// A failed CUDA call: expression, file and line, and the runtime's message.
struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws CudaError unless `code` is success.
void check(cudaError_t code, const char* expression, const char* file, int line);

// Whether the context is lost (illegal address, ECC error), so that only a new process can go on.
bool context_lost();

}  // namespace peakline::cuda

#define PEAKLINE_CUDA(expression) \
  ::peakline::cuda::check((expression), #expression, __FILE__, __LINE__)
