# The CUDA language, the architectures to compile for, and what the harness needs of the toolkit.

include(Targets)
set(capabilities ${PEAKLINE_ARCHITECTURES})
if(NOT capabilities)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE visible OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                  RESULT_VARIABLE failed)
  if(NOT failed AND visible MATCHES "^[0-9.\n ]+$")
    string(REGEX REPLACE "[. ]" "" visible "${visible}")
    string(REPLACE "\n" ";" capabilities "${visible}")
  endif()
endif()
peakline_targets(targets "${capabilities}")

# CMake 3.25 does not know family targets such as 100f, so the code generation flags are ours.
set(CMAKE_CUDA_ARCHITECTURES OFF)
if(NOT DEFINED ENV{CUDACXX})
  find_program(CMAKE_CUDA_COMPILER nvcc HINTS $ENV{CUDA_HOME}/bin
               PATHS /usr/local/cuda/bin ${PEAKLINE_CUDA_WHEELS}/bin)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "no nvcc: PEAKLINE_CUDA=ON scripts/setup fetches it; "
                        "or configure without GPU benchmarks: -DPEAKLINE_CUDA=OFF")
  endif()
endif()
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13)
  message(FATAL_ERROR "CUDA ${CMAKE_CUDA_COMPILER_VERSION} (${CMAKE_CUDA_COMPILER}) is too old: "
                      "peakline needs 13.0 or newer; or configure with -DPEAKLINE_CUDA=OFF")
endif()
find_package(CUDAToolkit 13 REQUIRED)
peakline_gencode(PEAKLINE_GENCODE "${targets}")
list(JOIN targets " " targets_text)
message(STATUS "CUDA architectures: ${targets_text}")

include(Nvml)
if(NOT NVML_INCLUDE_DIR)
  message(FATAL_ERROR "nvml.h not found; scripts/setup fetches it (PyPI: nvidia-nvml-dev)")
endif()
find_path(NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h
          HINTS ${CUDAToolkit_INCLUDE_DIRS} ${PEAKLINE_CUDA_WHEELS}/include)
if(NOT NVTX_INCLUDE_DIR)
  message(FATAL_ERROR "nvtx3 not found; scripts/setup fetches it (PyPI: nvidia-nvtx)")
endif()
find_path(CUBLASLT_INCLUDE_DIR cublasLt.h
          HINTS ${CUDAToolkit_INCLUDE_DIRS} ${PEAKLINE_CUDA_WHEELS}/include)
if(NOT CUBLASLT_INCLUDE_DIR)
  message(FATAL_ERROR "cublasLt.h not found; scripts/setup fetches it (PyPI: nvidia-cublas)")
endif()
add_library(peakline_cublaslt INTERFACE)
target_include_directories(peakline_cublaslt SYSTEM INTERFACE ${CUBLASLT_INCLUDE_DIR})
# The library is opened at run time; where it is built with one, the loader finds that.
get_filename_component(CMAKE_BUILD_RPATH ${CUBLASLT_INCLUDE_DIR}/../lib ABSOLUTE)
set(CMAKE_INSTALL_RPATH ${CMAKE_BUILD_RPATH})
