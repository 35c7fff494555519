#pragma once

// cuBLASLt, opened at run time: it comes from a toolkit or a Python package, and may be missing.

#include <cublasLt.h>

#include <stdexcept>

namespace peakline::bench {

// cuBLASLt is missing or cannot be loaded; what() says what to do.
struct CublasLtMissing : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class CublasLtLibrary {
  struct Symbol {
    void* address;
    template <class Function>
    operator Function*() const {  // NOLINT(google-explicit-constructor)
      return reinterpret_cast<Function*>(address);
    }
  };
  Symbol find(const char* name) const;  // throws CublasLtMissing

  void* handle_;  // never closed: the library's own threads and kernels may outlive any owner

 public:
  CublasLtLibrary();  // throws CublasLtMissing

  decltype(&cublasLtGetVersion) get_version = find("cublasLtGetVersion");
  decltype(&cublasLtGetStatusName) get_status_name = find("cublasLtGetStatusName");
  decltype(&cublasLtCreate) create = find("cublasLtCreate");
  decltype(&cublasLtDestroy) destroy = find("cublasLtDestroy");
  decltype(&cublasLtMatmul) matmul = find("cublasLtMatmul");
  decltype(&cublasLtMatmulDescCreate) desc_create = find("cublasLtMatmulDescCreate");
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = find("cublasLtMatmulDescDestroy");
  decltype(&cublasLtMatmulDescSetAttribute) desc_set_attribute =
      find("cublasLtMatmulDescSetAttribute");
  decltype(&cublasLtMatrixLayoutCreate) layout_create = find("cublasLtMatrixLayoutCreate");
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = find("cublasLtMatrixLayoutDestroy");
  decltype(&cublasLtMatmulPreferenceCreate) preference_create =
      find("cublasLtMatmulPreferenceCreate");
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy =
      find("cublasLtMatmulPreferenceDestroy");
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set_attribute =
      find("cublasLtMatmulPreferenceSetAttribute");
  decltype(&cublasLtMatmulAlgoGetHeuristic) algo_get_heuristic =
      find("cublasLtMatmulAlgoGetHeuristic");
  decltype(&cublasLtMatmulAlgoCheck) algo_check = find("cublasLtMatmulAlgoCheck");
  decltype(&cublasLtMatmulAlgoCapGetAttribute) algo_cap_get_attribute =
      find("cublasLtMatmulAlgoCapGetAttribute");
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) algo_config_get_attribute =
      find("cublasLtMatmulAlgoConfigGetAttribute");
  decltype(&cublasLtMatmulAlgoConfigSetAttribute) algo_config_set_attribute =
      find("cublasLtMatmulAlgoConfigSetAttribute");
};

// Opened by the first call. Throws CublasLtMissing from each call.
const CublasLtLibrary& cublaslt_library();

}  // namespace peakline::bench
