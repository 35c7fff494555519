# Where nvml.h is: of a toolkit, or of the wheels that scripts/setup installs. A build without CUDA
# needs it too, to test what the drivers of other devices are known to say.
find_path(NVML_INCLUDE_DIR nvml.h
          HINTS ${CUDAToolkit_INCLUDE_DIRS} ${PEAKLINE_CUDA_WHEELS}/include
          PATHS /usr/local/cuda/include)
