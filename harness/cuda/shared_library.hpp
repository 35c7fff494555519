#pragma once

// NVIDIA's libraries that are opened at run time: the program starts without them.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace peakline::cuda {

struct SharedLibrary {
  void* handle = nullptr;  // best left open: a library's threads and kernels may outlive any owner
  std::string why_not;     // the loader's words, where a file is there and cannot be loaded
};

// Opens a library by its name: where the loader finds it (LD_LIBRARY_PATH, ldconfig, what the
// program was built with), else below where this program is installed, what is in PATH (Python
// environments, a toolkit) and /usr/local/cuda, as library_files() has them.
SharedLibrary open_library(const std::string& name);

// The files of this name below installation prefixes ("/usr/local/cuda", a virtual environment), in
// their order: a toolkit's, then those of NVIDIA's wheels, which PyTorch uses too.
std::vector<std::filesystem::path> library_files(std::span<const std::filesystem::path> prefixes,
                                                 const std::string& name);

}  // namespace peakline::cuda
