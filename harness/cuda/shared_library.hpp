#pragma once

// NVIDIA's optional libraries, opened at run time.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace peakline::cuda {

struct SharedLibrary {
  void* handle = nullptr;  // never closed: threads and kernels may outlive any owner
  std::string why_not;     // the loader's message, if a file exists
};

// Searches the loader's paths, then the prefixes of this program and of PATH entries (Python
// environments, a toolkit), then /usr/local/cuda.
SharedLibrary open_library(const std::string& name);

// Files of this name below installation prefixes ("/usr/local/cuda", a virtual environment), in
// order; in each prefix a toolkit's files precede those of NVIDIA's wheels.
std::vector<std::filesystem::path> library_files(std::span<const std::filesystem::path> prefixes,
                                                 const std::string& name);

}  // namespace peakline::cuda
