#include "bench/gemm/cublaslt_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "harness/cuda/shared_library.hpp"

namespace peakline::bench {
namespace {

void* open_cublaslt() {
  const std::string name = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  const cuda::SharedLibrary library = cuda::open_library(name);
  if (library.handle != nullptr) return library.handle;
  if (!library.why_not.empty()) throw CublasLtMissing(fmt::format("cuBLASLt: {}", library.why_not));
  throw CublasLtMissing(
      fmt::format("{} not found: install nvidia-cublas with pip or a CUDA {} toolkit, or name its "
                  "folder in LD_LIBRARY_PATH",
                  name, CUBLAS_VER_MAJOR));
}

}  // namespace

CublasLtLibrary::CublasLtLibrary() : handle_(open_cublaslt()) {}

CublasLtLibrary::Symbol CublasLtLibrary::find(const char* name) const {
  if (void* address = dlsym(handle_, name)) return {address};
  throw CublasLtMissing(fmt::format("cuBLASLt: {}", dlerror()));
}

const CublasLtLibrary& cublaslt_library() {
  static const CublasLtLibrary kLibrary;
  return kLibrary;
}

}  // namespace peakline::bench
