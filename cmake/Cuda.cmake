# The CUDA language, the architectures to compile for, and what the harness needs of the toolkit.

# A toolkit, or the parts one lacks, from the wheels that scripts/setup installs.
set(PEAKLINE_CUDA_WHEELS ${PROJECT_SOURCE_DIR}/.deps/cuda/nvidia/cu13)

set(architectures ${PEAKLINE_ARCHITECTURES})
if(NOT architectures)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE visible OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                  RESULT_VARIABLE failed)
  if(NOT failed AND visible MATCHES "^[0-9.\n ]+$")
    string(REGEX REPLACE "[. ]" "" visible "${visible}")
    string(REPLACE "\n" ";" architectures "${visible}")
    list(FILTER architectures EXCLUDE REGEX "^([1-6].|70|72)$")  # CUDA 13 begins at 75
  endif()
endif()
if(NOT architectures)
  set(architectures 75 80 86 89 90a 100f 120)
endif()
# Matrix instructions of these exist only in the architecture- or family-specific targets.
list(TRANSFORM architectures REPLACE "^90$" "90a")
list(TRANSFORM architectures REPLACE "^10[03]$" "100f")
list(REMOVE_DUPLICATES architectures)

# CMake 3.25 does not know family targets such as 100f, so the code generation flags are ours.
set(CMAKE_CUDA_ARCHITECTURES OFF)
if(NOT DEFINED ENV{CUDACXX})
  find_program(CMAKE_CUDA_COMPILER nvcc HINTS $ENV{CUDA_HOME}/bin
               PATHS /usr/local/cuda/bin ${PEAKLINE_CUDA_WHEELS}/bin)
endif()
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13)
  message(FATAL_ERROR "CUDA ${CMAKE_CUDA_COMPILER_VERSION} (${CMAKE_CUDA_COMPILER}) is too old: "
                      "peakline needs 13.0 or newer; or configure with -DPEAKLINE_CUDA=OFF")
endif()
find_package(CUDAToolkit 13 REQUIRED)
set(PEAKLINE_GENCODE "")
foreach(architecture IN LISTS architectures)
  list(APPEND PEAKLINE_GENCODE
       "-gencode=arch=compute_${architecture},code=sm_${architecture}")
endforeach()
list(JOIN architectures " " architectures_text)
message(STATUS "CUDA architectures: ${architectures_text}")

find_path(NVML_INCLUDE_DIR nvml.h
          HINTS ${CUDAToolkit_INCLUDE_DIRS} ${PEAKLINE_CUDA_WHEELS}/include)
if(NOT NVML_INCLUDE_DIR)
  message(FATAL_ERROR "nvml.h not found; scripts/setup fetches it (PyPI: nvidia-nvml-dev)")
endif()
find_path(NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h
          HINTS ${CUDAToolkit_INCLUDE_DIRS} ${PEAKLINE_CUDA_WHEELS}/include)
if(NOT NVTX_INCLUDE_DIR)
  message(FATAL_ERROR "nvtx3 not found; scripts/setup fetches it (PyPI: nvidia-nvtx)")
endif()
find_library(CUBLASLT_LIBRARY NAMES cublasLt libcublasLt.so.13
             HINTS ${CUDAToolkit_LIBRARY_DIR} ${PEAKLINE_CUDA_WHEELS}/lib)
find_path(CUBLASLT_INCLUDE_DIR cublasLt.h
          HINTS ${CUDAToolkit_INCLUDE_DIRS} ${PEAKLINE_CUDA_WHEELS}/include)
if(NOT CUBLASLT_LIBRARY OR NOT CUBLASLT_INCLUDE_DIR)
  message(FATAL_ERROR "cublasLt not found; scripts/setup fetches it (PyPI: nvidia-cublas)")
endif()
add_library(peakline_cublaslt INTERFACE)
target_include_directories(peakline_cublaslt SYSTEM INTERFACE ${CUBLASLT_INCLUDE_DIR})
# CMake takes the toolkit's folder for one that the loader searches anyway, and leaves it out.
get_filename_component(cublaslt_folder ${CUBLASLT_LIBRARY} DIRECTORY)
target_link_libraries(peakline_cublaslt INTERFACE ${CUBLASLT_LIBRARY})
target_link_options(peakline_cublaslt INTERFACE "LINKER:-rpath,${cublaslt_folder}")
